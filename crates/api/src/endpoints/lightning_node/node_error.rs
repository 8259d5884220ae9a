//! Why the node did not do what a request wants.

use usher_engine::ports::NodeError;

use crate::problem::{ErrorCode, Problem};

impl From<NodeError> for Problem {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::InvalidPeer(detail) => Self::invalid_field("/peer", detail),
            NodeError::InvalidAmount(detail) => Self::invalid_field("/amount", detail),
            NodeError::InvalidAddress(detail) => Self::invalid_field("/address", detail),
            NodeError::InvalidFeeRate(detail) => Self::invalid_field("/fee_rate", detail),
            NodeError::ChannelNotFound => Self::new(ErrorCode::ChannelNotFound, error.to_string()),
            NodeError::Refused(_) | NodeError::Unavailable(_) => Self::new(ErrorCode::WalletError, error.to_string()),
        }
    }
}
