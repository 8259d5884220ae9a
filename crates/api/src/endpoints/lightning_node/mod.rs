//! The Lightning node that the service runs itself (`wallet.ln_backend` is `embedded`): channels, addresses, prices and money that
//! leaves on chain.

mod close_channel;
mod create_address;
mod get_receiving_cost;
mod list_channels;
mod node;
mod node_error;
mod open_channel;
mod send_on_chain;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new(
        "Lightning node",
        "Manage the Lightning node that the service runs itself (`wallet.ln_backend` is `embedded`).",
    )
    .endpoint(Scope::PaymentsReceive.of_service(), Audit::Nothing, handler!(list_channels::list_channels))
    .endpoint(Scope::PaymentsSend.of_service().uncounted(), Audit::BeforeAndAfter, handler!(open_channel::open_channel))
    .endpoint(
        Scope::PaymentsSend.of_service().uncounted(),
        Audit::BeforeAndAfter,
        handler!(close_channel::close_channel),
    )
    .endpoint(Scope::PaymentsReceive, Audit::BeforeAndAfter, handler!(create_address::create_address))
    .endpoint(Scope::PaymentsReceive.of_nothing(), Audit::Nothing, handler!(get_receiving_cost::get_receiving_cost))
    .endpoint(Scope::PaymentsSend, Audit::Once, handler!(send_on_chain::send_on_chain))
}
