//! The answer of calls that start an operation.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_engine::{StartError, StreamId};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::request_log;
use crate::tasks::TaskLost;

/// An operation that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamStarted)]
pub(crate) struct Started {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
}

impl Started {
    pub(crate) fn on(stream: &StreamId) -> Self {
        Self { stream_id: stream.to_string() }
    }

    /// The answer, its stream noted for the log.
    pub(crate) fn answer(stream: &StreamId) -> Json<Self> {
        request_log::record_stream_id(stream);
        Json(Self::on(stream))
    }
}

/// Why an operation did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Lost(#[from] TaskLost),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::Start(error) => error.into(),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}
