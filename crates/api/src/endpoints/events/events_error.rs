//! Why the events of a stream could not be read.

use axum::response::{IntoResponse, Response};
use usher_engine::EventsError;

use crate::problem::Problem;
use usher_engine::FieldError;

/// Why events could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Events(#[from] EventsError),
    #[error("some parameters are wrong")]
    Invalid(Vec<FieldError>),
    #[error("there is no place left to wait, or the client is no longer accepted")]
    Refused(Problem),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem = match self {
            Self::Events(error) => error.into(),
            Self::Invalid(errors) => Problem::invalid(errors),
            Self::Refused(problem) => problem,
        };
        problem.into_response()
    }
}
