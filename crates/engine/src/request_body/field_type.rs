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

/// Declares a type of a field whose draft is its value: its documentation, its name, the type of the value, its parser and its schema.
#[macro_export]
macro_rules! field_type {
    (
        $(#[doc = $doc:literal])+
        $visibility:vis $name:ident $(<$(const $parameter:ident: $kind:ty),+>)?: $value:ty, $read:expr, $schema:expr $(,)?
    ) => {
        $(#[doc = $doc])+
        $visibility struct $name $(<$(const $parameter: $kind),+>)?;

        impl $(<$(const $parameter: $kind),+>)? $crate::request_body::FieldType for $name $(<$($parameter),+>)? {
            type Value = $value;
            type Draft = $value;

            fn read_value(
                pointer: &str,
                value: &serde_json::Value,
                errors: &mut $crate::FieldErrors,
            ) -> Option<$value> {
                let read: $crate::request_body::field_reader::Read<$value> = $read;
                read(pointer, value, errors)
            }

            fn complete(draft: $value) -> Option<$value> {
                Some(draft)
            }

            fn into_draft(value: $value) -> $value {
                value
            }

            fn value_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::RefOr::T($schema.build().into())
            }
        }
    };
}
