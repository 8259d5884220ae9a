//! Why the node did not do what a request wants.

use usher_engine::FieldError;
use usher_engine::ports::NodeError;

use crate::problem::{ErrorCode, Problem};

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
