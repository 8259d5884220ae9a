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
use utoipa_axum::routes;

use crate::access::ScopeExt as _;
use crate::endpoint_group::EndpointGroup;

pub(super) fn group() -> EndpointGroup {
    EndpointGroup::new("Tickets", "Mint, send, request and redeem tickets: Cashu tokens of any mint and unit.")
        .endpoint(Scope::Tickets, routes!(request_ticket::request_ticket))
        .endpoint(Scope::Tickets, routes!(mint_ticket::mint_ticket))
        .endpoint(Scope::Tickets, routes!(burn_ticket::burn_ticket))
        .endpoint(Scope::Tickets, routes!(send_ticket::send_ticket))
        .endpoint(Scope::Tickets, routes!(list_outgoing_tickets::list_outgoing_tickets))
        .endpoint(Scope::Tickets, routes!(reclaim_ticket::reclaim_ticket))
        .endpoint(Scope::Tickets.of_service(), routes!(list_ticket_balances::list_ticket_balances))
        .endpoint(Scope::PaymentsSend.of_service().uncounted(), routes!(withdraw_ticket::withdraw_ticket))
}
