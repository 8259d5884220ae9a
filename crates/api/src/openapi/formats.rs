//! Formats: names, in the OpenAPI document, for what a field must be beyond what JSON Schema can say.
//!
//! Not every number of 64 digits is a point on the curve, a time may be over, an invoice has a signature. A field whose
//! value may be refused though its schema allows it has a `format`; a client that generates values (the property-based
//! test) can then tell a field with such a rule from a description that is wrong. Most are written beside their field;
//! those that are the same wherever they occur are added here.

use serde_json::{Value, json};
use utoipa::openapi::path::Parameter;
use utoipa::openapi::{RefOr, Schema};

/// What every public key in a request looks like.
pub(crate) const KEY_PATTERN: &str = "^[0-9a-fA-F]{64}$";

/// The format of public keys: the x coordinate of a point on secp256k1 (BIP-340).
pub(crate) const KEY: &str = "nostr-public-key";

/// Adds the formats of keys to a schema, however deep they are in it.
pub(crate) fn complete(schema: &mut RefOr<Schema>) {
    let Ok(mut value) = serde_json::to_value(&*schema) else { return };
    if name_keys(&mut value)
        && let Ok(completed) = serde_json::from_value(value)
    {
        *schema = completed;
    }
}

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

/// Whether anything was added.
fn name_keys(value: &mut Value) -> bool {
    match value {
        Value::Object(object) => {
            let mut changed = false;
            if object.get("pattern").is_some_and(|pattern| pattern == KEY_PATTERN) {
                object.insert("format".to_owned(), json!(KEY));
                changed = true;
            }
            if let Some(Value::Object(subkeys)) = object.get_mut("subkeys") {
                // No `maxItems`: so many different ones are allowed, and one that is named twice counts once.
                subkeys.insert("items".to_owned(), json!({ "type": "string", "pattern": KEY_PATTERN }));
            }
            // Counted and not asked for: every one is to be visited.
            object.values_mut().filter_map(|value| name_keys(value).then_some(())).count() > 0 || changed
        }
        Value::Array(items) => items.iter_mut().filter_map(|value| name_keys(value).then_some(())).count() > 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_named_wherever_they_are() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "main_key": { "type": "string", "pattern": KEY_PATTERN },
                "hash": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
                "subkeys": { "type": "array", "items": { "type": "string" } },
            },
        });
        assert!(name_keys(&mut schema));
        let properties = &schema["properties"];
        assert_eq!(properties["main_key"]["format"], KEY);
        assert_eq!(properties["subkeys"]["items"]["format"], KEY);
        assert!(properties["hash"].get("format").is_none(), "a hash is any number");
        assert!(!name_keys(&mut json!({ "type": "string" })));
    }
}
