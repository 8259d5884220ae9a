//! What a type of a field can do.

use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

use crate::FieldErrors;

/// The type of a field: its parser and its schema.
pub trait FieldType {
    /// The field of a complete request.
    type Value;

    /// The parsed value: of an object, the fields that could be parsed.
    type Draft;

    /// Parses the value at a JSON Pointer; `None` after adding an error.
    fn read_value(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<Self::Draft>;

    /// The value, unless a required field of an object is missing or invalid.
    fn complete(draft: Self::Draft) -> Option<Self::Value>;

    /// The draft of this request.
    fn into_draft(value: Self::Value) -> Self::Draft;

    /// Its schema.
    fn value_schema() -> RefOr<Schema>;

    /// Adds the schemas to which its schema refers.
    fn schemas(_schemas: &mut Vec<(String, RefOr<Schema>)>) {}
}
