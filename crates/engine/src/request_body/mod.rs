//! Generates a request's type, its parser and its part of the OpenAPI document from the same lines.

pub mod field_reader;
mod field_type;
mod field_types;

use serde_json::Value;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};

use self::field_reader::Fields;
pub use self::field_type::FieldType;
pub use self::field_types::*;
use crate::FieldErrors;

/// The draft of a field.
pub type DraftOf<F> = <<F as BodyField>::Type as FieldType>::Draft;

/// A field of a body: required (`T`), optional (`Option<T>`), optional and documented as `null` too
/// ([`Nullable<T>`](Nullable)), or with a default ([`OrDefault<T>`](OrDefault)).
pub trait BodyField {
    /// Its type.
    type Type: FieldType;

    /// The field of a complete request.
    type Value;

    /// Whether it must be present.
    const REQUIRED: bool = false;

    /// Parses it; `None` if it is missing, or after adding an error.
    fn read(fields: &mut Fields<'_>, name: &'static str) -> Option<DraftOf<Self>> {
        fields.optional(name, Self::Type::read_value)
    }

    /// The value; `None` if a required field is missing or invalid.
    fn complete(draft: Option<DraftOf<Self>>) -> Option<Self::Value>;

    /// The draft of this value.
    fn into_draft(value: Self::Value) -> Option<DraftOf<Self>>;

    /// Its schema.
    fn schema() -> RefOr<Schema> {
        Self::Type::value_schema()
    }

    /// Adds it to the schema of its object.
    fn add_to(object: ObjectBuilder, name: &str, doc: &str) -> ObjectBuilder {
        let object = object.property(name, described(Self::schema(), doc));
        if Self::REQUIRED { object.required(name) } else { object }
    }
}

impl<T: FieldType> BodyField for T {
    type Type = T;
    type Value = T::Value;

    const REQUIRED: bool = true;

    fn read(fields: &mut Fields<'_>, name: &'static str) -> Option<T::Draft> {
        fields.required(name, T::read_value)
    }

    fn complete(draft: Option<T::Draft>) -> Option<T::Value> {
        T::complete(draft?)
    }

    fn into_draft(value: T::Value) -> Option<T::Draft> {
        Some(T::into_draft(value))
    }
}

impl<T: FieldType> BodyField for Option<T> {
    type Type = T;
    type Value = Option<T::Value>;

    fn complete(draft: Option<T::Draft>) -> Option<Option<T::Value>> {
        draft.map_or(Some(None), |draft| T::complete(draft).map(Some))
    }

    fn into_draft(value: Option<T::Value>) -> Option<T::Draft> {
        value.map(T::into_draft)
    }
}

/// An optional field that is also documented as `null`, with which clients express absence.
pub struct Nullable<T>(std::marker::PhantomData<T>);

impl<T: FieldType> BodyField for Nullable<T> {
    type Type = T;
    type Value = Option<T::Value>;

    fn complete(draft: Option<T::Draft>) -> Option<Option<T::Value>> {
        <Option<T> as BodyField>::complete(draft)
    }

    fn into_draft(value: Option<T::Value>) -> Option<T::Draft> {
        value.map(T::into_draft)
    }

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

/// An optional field whose default is that of its type.
pub struct OrDefault<T>(std::marker::PhantomData<T>);

impl<T: FieldType<Value: Default>> BodyField for OrDefault<T> {
    type Type = T;
    type Value = T::Value;

    fn complete(draft: Option<T::Draft>) -> Option<T::Value> {
        draft.map_or_else(|| Some(T::Value::default()), T::complete)
    }

    fn into_draft(value: T::Value) -> Option<T::Draft> {
        Some(T::into_draft(value))
    }
}

/// A field with a second name. If both are present, they must have the same value.
pub struct Aliased<F, A>(std::marker::PhantomData<(F, A)>);

/// The other name of a field.
pub trait Alias {
    /// The name.
    const NAME: &'static str;
}

/// `recipient_key`, for `main_key`.
pub struct RecipientKey;

impl Alias for RecipientKey {
    const NAME: &'static str = "recipient_key";
}

/// `static_auth_token`, for `static_token`.
pub struct StaticAuthToken;

impl Alias for StaticAuthToken {
    const NAME: &'static str = "static_auth_token";
}

impl<F: BodyField<Type: FieldType<Draft: PartialEq>>, A: Alias> BodyField for Aliased<F, A> {
    type Type = F::Type;
    type Value = F::Value;

    fn read(fields: &mut Fields<'_>, name: &'static str) -> Option<DraftOf<F>> {
        let value = if fields.has(name) || !fields.has(A::NAME) {
            fields.compare_aliases(name, A::NAME, F::Type::read_value);
            F::read(fields, name)
        } else {
            None
        };
        let alias = fields.optional(A::NAME, F::Type::read_value);
        value.or(alias)
    }

    fn complete(draft: Option<DraftOf<F>>) -> Option<F::Value> {
        F::complete(draft)
    }

    fn into_draft(value: F::Value) -> Option<DraftOf<F>> {
        F::into_draft(value)
    }

    fn add_to(object: ObjectBuilder, name: &str, doc: &str) -> ObjectBuilder {
        let alias = described(F::Type::value_schema(), &format!("Another name for `{name}`."));
        object.property(name, described(F::schema(), doc)).property(A::NAME, alias)
    }
}

/// A request parsed from a JSON object, as declared by [`request_body`](crate::request_body!).
pub trait RequestBody: Sized + Send {
    /// Its fields as far as they could be parsed: `None` if missing or invalid.
    type Draft: Send + Sync;

    /// The name of its schema.
    const SCHEMA: &'static str;

    /// Parses all fields, and adds errors and ignored members.
    fn read(fields: &mut Fields<'_>) -> Self::Draft;

    /// The request, if no required field is missing or invalid.
    fn complete(draft: Self::Draft) -> Option<Self>;

    /// The draft of this value.
    fn into_draft(self) -> Self::Draft;

    /// The schema of the object.
    fn object_schema() -> RefOr<Schema>;

    /// Adds the schemas to which it refers.
    fn field_schemas(schemas: &mut Vec<(String, RefOr<Schema>)>);
}

/// As a field of another request.
impl<T: RequestBody> FieldType for T {
    type Value = T;
    type Draft = T::Draft;

    fn read_value(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<T::Draft> {
        Some(T::read(&mut Fields::within(pointer, value, errors)?))
    }

    fn complete(draft: T::Draft) -> Option<T> {
        T::complete(draft)
    }

    fn into_draft(value: T) -> T::Draft {
        value.into_draft()
    }

    fn value_schema() -> RefOr<Schema> {
        Ref::from_schema_name(T::SCHEMA).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::SCHEMA.to_owned(), T::object_schema()));
        T::field_schemas(schemas);
    }
}

/// Declares a request: its documentation, its type and its draft's, the name of its schema, an example, and its fields,
/// with their JSON names if different. `read` instead of `struct` parses an existing type.
///
/// A draft has each field as an `Option`, `None` if it could not be parsed. So values are validated even if other
/// fields are malformed, and a client gets all errors in one response.
#[macro_export]
macro_rules! request_body {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $json:literal) => { $json };
    (
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:ident),+)])?
        $visibility:vis struct $name:ident, $draft:ident = $schema:literal
        $(, example $example:tt)? {
            $( $(#[doc = $field_doc:literal])+ $field:ident $(as $json:literal)?: $type:ty, )*
        }
    ) => {
        $(#[doc = $doc])+
        $(#[derive($($derive),+)])?
        $visibility struct $name {
            $( $(#[doc = $field_doc])+ $visibility $field: <$type as $crate::request_body::BodyField>::Value, )*
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                <Self as $crate::request_body::RequestBody>::object_schema()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                $schema.into()
            }

            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                <Self as $crate::request_body::RequestBody>::field_schemas(schemas);
            }
        }

        $crate::request_body! {
            $(#[doc = $doc])+
            $visibility read $name, $draft = $schema $(, example $example)? {
                $( $(#[doc = $field_doc])+ $field $(as $json)?: $type, )*
            }
        }
    };
    (
        $(#[doc = $doc:literal])+
        $visibility:vis read $name:ident, $draft:ident = $schema:literal
        $(, example $example:tt)? {
            $( $(#[doc = $field_doc:literal])+ $field:ident $(as $json:literal)?: $type:ty, )*
        }
    ) => {
        #[doc = concat!("A [`", stringify!($name), "`] as far as it could be read.")]
        $visibility struct $draft {
            $( $(#[doc = $field_doc])+ $visibility $field: Option<$crate::request_body::DraftOf<$type>>, )*
        }

        #[allow(unused_variables)] // of a body without fields
        impl $crate::request_body::RequestBody for $name {
            type Draft = $draft;

            const SCHEMA: &'static str = $schema;

            fn read(fields: &mut $crate::request_body::field_reader::Fields<'_>) -> $draft {
                let draft = $draft {
                    $( $field: <$type as $crate::request_body::BodyField>::read(
                        fields,
                        $crate::request_body!(@name $field $($json)?),
                    ), )*
                };
                fields.ignore_others();
                draft
            }

            fn complete(draft: $draft) -> Option<Self> {
                Some(Self { $( $field: <$type as $crate::request_body::BodyField>::complete(draft.$field)?, )* })
            }

            fn into_draft(self) -> $draft {
                $draft { $( $field: <$type as $crate::request_body::BodyField>::into_draft(self.$field), )* }
            }

            fn object_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let object = utoipa::openapi::ObjectBuilder::new()
                    .description(Some($crate::request_body::text(concat!($($doc, "\n"),+))));
                $( let object = <$type as $crate::request_body::BodyField>::add_to(
                    object,
                    $crate::request_body!(@name $field $($json)?),
                    concat!($($field_doc, "\n"),+),
                ); )*
                $( let object = object.examples([serde_json::json!($example)]); )?
                utoipa::openapi::RefOr::T(object.build().into())
            }

            fn field_schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                $( <<$type as $crate::request_body::BodyField>::Type as $crate::request_body::FieldType>::schemas(schemas); )*
            }
        }
    };
}

/// The text of a doc comment.
pub fn text(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A schema with this description.
fn described(mut schema: RefOr<Schema>, doc: &str) -> RefOr<Schema> {
    let description = text(doc);
    match &mut schema {
        RefOr::T(Schema::Object(object)) => object.description = Some(description),
        RefOr::T(Schema::Array(array)) => array.description = Some(description),
        RefOr::T(Schema::OneOf(one_of)) => one_of.description = Some(description),
        RefOr::Ref(reference) => reference.description = description,
        RefOr::T(_) => {}
    }
    schema
}
