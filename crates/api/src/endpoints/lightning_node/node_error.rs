//! Why the node did not do what a request wants.

use axum::response::{IntoResponse, Response};
use usher_engine::FieldError;
use usher_engine::ports::NodeError;

use crate::detached_change::TaskLost;
use crate::problem::{ErrorCode, Problem};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the service runs no Lightning node")]
    NoNode,
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Lost(#[from] TaskLost),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::NoNode => Problem::no_lightning_node(),
            Self::Node(error) => error.into(),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

impl From<NodeError> for Problem {
    fn from(error: NodeError) -> Self {
        let invalid = |pointer: &str, detail| Self::invalid(vec![FieldError { pointer: pointer.to_owned(), detail }]);
        match error {
            NodeError::InvalidPeer(detail) => invalid("/peer", detail),
            NodeError::InvalidAmount(detail) => invalid("/amount", detail),
            NodeError::InvalidAddress(detail) => invalid("/address", detail),
            NodeError::InvalidFeeRate(detail) => invalid("/fee_rate", detail),
            NodeError::ChannelNotFound => Self::new(ErrorCode::ChannelNotFound, error.to_string()),
            NodeError::Refused(_) | NodeError::Unavailable(_) => Self::new(ErrorCode::WalletError, error.to_string()),
        }
    }
}
