//! The Lightning node that the service runs itself (`wallet.ln_backend` is `embedded`): channels, addresses, prices and money that
//! leaves on chain.

mod close_channel;
mod create_address;
mod get_receiving_cost;
mod list_channels;
mod open_channel;
mod send_on_chain;

use std::sync::Arc;

use usher_engine::access::Scope;
use usher_engine::ports::{LightningNode, NodeError};

use crate::ApiState;
use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::problem::{ErrorCode, Problem};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new(
        "Lightning node",
        "Manage the Lightning node that the service runs itself (`wallet.ln_backend` is `embedded`).",
    )
    .endpoint(Scope::PaymentsReceive.of_service(), Audit::Nothing, handler!(list_channels))
    .endpoint(Scope::PaymentsSend.of_service().uncounted(), Audit::BeforeAndAfter, handler!(open_channel))
    .endpoint(Scope::PaymentsSend.of_service().uncounted(), Audit::BeforeAndAfter, handler!(close_channel))
    .endpoint(Scope::PaymentsReceive, Audit::BeforeAndAfter, handler!(create_address))
    .endpoint(Scope::PaymentsReceive.of_nothing(), Audit::Nothing, handler!(get_receiving_cost))
    .endpoint(Scope::PaymentsSend, Audit::Once, handler!(send_on_chain))
}

fn node(state: &ApiState) -> Result<Arc<dyn LightningNode>, Problem> {
    state.engine.lightning_node().ok_or_else(Problem::no_lightning_node)
}

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
