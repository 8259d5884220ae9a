//! Pagination: the parameters `after` and `limit`, and the errors of lists.

use std::str::FromStr;

use axum::response::{IntoResponse, Response};
use usher_engine::ports::StoreError;
use usher_engine::{FieldError, FieldErrors, StreamId};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{KnownFormat, ObjectBuilder, Required, SchemaFormat, Type};

use crate::problem::Problem;
use crate::query::Query;

/// Most entries of a page.
const MAX_LIMIT: u64 = 1_000;

/// Entries of a page without `limit`.
const DEFAULT_LIMIT: u64 = 100;

/// The position of an entry in a list.
pub(crate) trait Cursor: FromStr {
    fn schema() -> ObjectBuilder;
}

impl Cursor for StreamId {
    fn schema() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::Custom("uuid".to_owned())))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageQuery<C> {
    /// The last entry of the previous page; `None` for the first page.
    pub(crate) after: Option<C>,
    pub(crate) limit: usize,
}

impl<C: Cursor> PageQuery<C> {
    pub(crate) fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let after = query.text("after", errors).and_then(|text| {
            text.parse().ok().or_else(|| errors.reject("/after", "must be the `next` of an earlier response"))
        });
        let limit = query.integer("limit", 1..=MAX_LIMIT, errors).unwrap_or(DEFAULT_LIMIT);
        Self { after, limit: usize::try_from(limit).unwrap_or(usize::MAX) }
    }
}

impl<C: Cursor> IntoParams for PageQuery<C> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = |name: &str, description: String, schema: ObjectBuilder| {
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Query)
                .required(Required::False)
                .description(Some(description))
                .schema(Some(schema.build()))
                .build()
        };
        let limit = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(1))
            .maximum(Some(i64::try_from(MAX_LIMIT).unwrap_or(i64::MAX)));
        vec![
            parameter("after", "Continues after this entry: the `next` of the last response.".to_owned(), C::schema()),
            parameter("limit", format!("Most entries in the response. Default {DEFAULT_LIMIT}."), limit),
        ]
    }
}

/// Why a list is unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("some parameters are invalid")]
    Invalid(Vec<FieldError>),
}

impl IntoResponse for ListError {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::Store(error) => error.into(),
            Self::Invalid(errors) => Problem::invalid(errors),
        };
        problem.into_response()
    }
}
