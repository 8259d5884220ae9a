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
use crate::route::Audit;

pub(super) fn group() -> EndpointGroup {
    EndpointGroup::new("Tickets", "Mint, send, request and redeem tickets: Cashu tokens of any mint and unit.")
        .endpoint(Scope::Tickets, Audit::Once, routes!(request_ticket::request_ticket))
        .mint_call(Scope::Tickets, Audit::BeforeAndAfter, routes!(mint_ticket::mint_ticket))
        .mint_call(Scope::Tickets, Audit::BeforeAndAfter, routes!(burn_ticket::burn_ticket))
        .endpoint(Scope::Tickets, Audit::Once, routes!(send_ticket::send_ticket))
        .endpoint(Scope::Tickets, Audit::Nothing, routes!(list_outgoing_tickets::list_outgoing_tickets))
        .mint_call(Scope::Tickets, Audit::BeforeAndAfter, routes!(reclaim_ticket::reclaim_ticket))
        .endpoint(Scope::Tickets.of_service(), Audit::Nothing, routes!(list_ticket_balances::list_ticket_balances))
        .mint_call(
            Scope::PaymentsSend.of_service().uncounted(),
            Audit::BeforeAndAfter,
            routes!(withdraw_ticket::withdraw_ticket),
        )
}
