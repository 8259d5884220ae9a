//! Declares the body of a request once: parsing, the OpenAPI document and the endpoint's request type are generated from
//! the same lines.

use serde_json::Value;
use usher_engine::ports::ProfileChange;
use usher_engine::{FieldErrors, FieldValues};
use utoipa::openapi::{RefOr, Schema};

use crate::field_reader::Fields;

/// The type of a field: how it is read, and its schema. [`field_types`](crate::field_types) has them.
pub(crate) trait FieldType {
    /// What is read.
    type Value;

    /// Reads the value at a JSON Pointer; `None` after adding what is wrong.
    fn read_value(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<Self::Value>;

    /// Its schema.
    fn value_schema() -> RefOr<Schema>;

    /// Adds the schemas to which its schema refers.
    fn schemas(_schemas: &mut Vec<(String, RefOr<Schema>)>) {}
}

/// A field of a body: required (`T`), optional (`Option<T>`), or optional and documented as `null` too
/// ([`Nullable<T>`](Nullable)).
pub(crate) trait BodyField {
    /// Its type.
    type Type: FieldType;

    /// Whether it must be present.
    const REQUIRED: bool = false;

    /// Reads it; `None` when it is missing, or after adding what is wrong.
    fn read(fields: &mut Fields<'_>, name: &str) -> Option<<Self::Type as FieldType>::Value> {
        fields.optional(name, Self::Type::read_value)
    }

    /// Its schema.
    fn schema() -> RefOr<Schema> {
        Self::Type::value_schema()
    }
}

impl<T: FieldType> BodyField for T {
    type Type = T;

    const REQUIRED: bool = true;

    fn read(fields: &mut Fields<'_>, name: &str) -> Option<T::Value> {
        fields.required(name, T::read_value)
    }
}

impl<T: FieldType> BodyField for Option<T> {
    type Type = T;
}

/// An optional field that is documented as `null` too, because clients write it so to say "none".
pub(crate) struct Nullable<T>(std::marker::PhantomData<T>);

impl<T: FieldType> BodyField for Nullable<T> {
    type Type = T;

    fn schema() -> RefOr<Schema> {
        let mut schema = T::value_schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema
            && let utoipa::openapi::schema::SchemaType::Type(only) = &object.schema_type
        {
            object.schema_type = [only.clone(), utoipa::openapi::Type::Null].into_iter().collect();
        }
        schema
    }
}

/// A field that may also be sent under another name, which is declared as a field of its own. If both are there, they must
/// have the same value.
pub(crate) struct Aliased<F, A>(std::marker::PhantomData<(F, A)>);

/// The other name of a field.
pub(crate) trait Alias {
    /// The name.
    const NAME: &'static str;
}

/// `recipient_key`, for `main_key`.
pub(crate) struct RecipientKey;

impl Alias for RecipientKey {
    const NAME: &'static str = "recipient_key";
}

/// `static_auth_token`, for `static_token`.
pub(crate) struct StaticAuthToken;

impl Alias for StaticAuthToken {
    const NAME: &'static str = "static_auth_token";
}

impl<F, A> BodyField for Aliased<F, A>
where
    F: BodyField,
    <F::Type as FieldType>::Value: PartialEq,
    A: Alias,
{
    type Type = F::Type;

    fn read(fields: &mut Fields<'_>, name: &str) -> Option<<F::Type as FieldType>::Value> {
        if !fields.has(name) && fields.has(A::NAME) {
            return None;
        }
        fields.compare_aliases(name, A::NAME, F::Type::read_value);
        F::read(fields, name)
    }

    fn schema() -> RefOr<Schema> {
        F::schema()
    }
}

/// An object whose fields are declared by [`request_body`].
pub(crate) trait ObjectFields: Sized {
    /// Reads all fields, and adds what is wrong.
    fn read_fields(fields: &mut Fields<'_>) -> Self;
}

/// The body of a request.
pub(crate) trait RequestBody: ObjectFields {
    /// What the endpoint gets.
    type Request: Send;

    /// Whether an empty body means `{}`: true where every field is optional.
    const MAY_BE_EMPTY: bool = false;

    /// The request, if no required field is missing or wrong.
    fn complete(self) -> Option<Self::Request>;

    /// The fields whose values are checked beyond their form, as far as they could be read.
    fn values(&self) -> Option<ValuesToCheck> {
        None
    }
}

/// Fields whose values are checked by the part of the service that uses them.
pub(crate) enum ValuesToCheck {
    /// By the engine.
    Engine(FieldValues),
    /// By the directory.
    Profile(ProfileChange),
}

/// Declares an object in a request: its documentation, the name of its schema, an example, and its fields.
///
/// Each field becomes an `Option` of what was read: `None` when it is missing or wrong.
macro_rules! request_body {
    (
        $(#[doc = $doc:literal])+
        $visibility:vis struct $name:ident = $schema:literal $(, example $example:tt)? {
            $( $(#[doc = $field_doc:literal])+ $field:ident: $type:ty, )*
        }
    ) => {
        $(#[doc = $doc])+
        $visibility struct $name {
            $( $(#[doc = $field_doc])+
            $field: Option<<<$type as $crate::request_body::BodyField>::Type as $crate::request_body::FieldType>::Value>, )*
        }

        impl $crate::request_body::ObjectFields for $name {
            #[allow(unused_variables)] // of a body without fields
            fn read_fields(fields: &mut $crate::field_reader::Fields<'_>) -> Self {
                Self { $( $field: <$type as $crate::request_body::BodyField>::read(fields, stringify!($field)), )* }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let mut object = utoipa::openapi::ObjectBuilder::new()
                    .description(Some($crate::request_body::text(concat!($($doc, "\n"),+))));
                $(
                    let schema = <$type as $crate::request_body::BodyField>::schema();
                    let text = concat!($($field_doc, "\n"),+);
                    object = object.property(stringify!($field), $crate::request_body::described(schema, text));
                    if <$type as $crate::request_body::BodyField>::REQUIRED {
                        object = object.required(stringify!($field));
                    }
                )*
                $( object = object.examples([serde_json::json!($example)]); )?
                utoipa::openapi::RefOr::T(object.build().into())
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                $schema.into()
            }

            #[allow(unused_variables)] // of a body without fields
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                $( <<$type as $crate::request_body::BodyField>::Type as $crate::request_body::FieldType>::schemas(schemas); )*
            }
        }

        impl $crate::request_body::FieldType for $name {
            type Value = Self;

            fn read_value(
                pointer: &str,
                value: &serde_json::Value,
                errors: &mut usher_engine::FieldErrors,
            ) -> Option<Self> {
                let mut fields = $crate::field_reader::Fields::within(pointer, value, errors)?;
                Some(<Self as $crate::request_body::ObjectFields>::read_fields(&mut fields))
            }

            fn value_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::Ref::from_schema_name($schema).into()
            }

            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                schemas.push(($schema.into(), <Self as utoipa::PartialSchema>::schema()));
                <Self as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}

pub(crate) use request_body;

/// The text of a doc comment.
pub(crate) fn text(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A schema with this description.
pub(crate) fn described(mut schema: RefOr<Schema>, doc: &str) -> RefOr<Schema> {
    let description = text(doc);
    match &mut schema {
        RefOr::T(Schema::Object(object)) => object.description = Some(description),
        RefOr::T(Schema::Array(array)) => array.description = Some(description),
        RefOr::Ref(reference) => reference.description = description,
        RefOr::T(_) => {}
    }
    schema
}
