//! Tickets: Cashu tokens that users are asked for, or that the service mints, sends, redeems and holds.

mod burn_ticket;
mod list_outgoing_tickets;
mod list_ticket_balances;
mod mint_ticket;
mod mint_timeout;
mod reclaim_ticket;
mod request_ticket;
mod send_ticket;
mod withdraw_ticket;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("Tickets", "Mint, send, request and redeem tickets: Cashu tokens of any mint and unit.")
        .endpoint(Scope::Tickets, Audit::Once, handler!(request_ticket))
        .mint_call(Scope::Tickets, Audit::BeforeAndAfter, handler!(mint_ticket))
        .mint_call(Scope::Tickets, Audit::BeforeAndAfter, handler!(burn_ticket))
        .endpoint(Scope::Tickets, Audit::Once, handler!(send_ticket))
        .endpoint(Scope::Tickets, Audit::Nothing, handler!(list_outgoing_tickets))
        .mint_call(Scope::Tickets, Audit::BeforeAndAfter, handler!(reclaim_ticket))
        .endpoint(Scope::Tickets.of_service(), Audit::Nothing, handler!(list_ticket_balances))
        .mint_call(Scope::PaymentsSend.of_service().uncounted(), Audit::BeforeAndAfter, handler!(withdraw_ticket))
}
