//! Schemas of parameters.

use serde_json::Value;
use utoipa::openapi::path::Parameter;

/// Takes `null` out of a parameter's types: one that may be missing is written as `Option`, which utoipa takes for one that
/// may also be `null`; and a parameter of the text `null` is a text.
pub(crate) fn forget_null(parameter: &mut Parameter) {
    let Ok(mut value) = serde_json::to_value(&parameter.schema) else { return };
    let Some(Value::Array(types)) = value.get_mut("type") else { return };
    types.retain(|name| name != "null");
    if let [only] = types.as_slice() {
        value["type"] = only.clone();
    }
    if let Ok(schema) = serde_json::from_value(value) {
        parameter.schema = schema;
    }
}
