//! What calls that list something have in common.

use axum::response::{IntoResponse, Response};
use usher_engine::ports::StoreError;

use crate::problem::{FieldError, Problem};

/// Why nothing could be listed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("some parameters are wrong")]
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
