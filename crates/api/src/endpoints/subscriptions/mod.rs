//! Subscribe: recurring payments to which users agree.

mod close_subscription;
mod get_next_occurrence;
mod get_subscription;
mod list_subscriptions;
mod request_subscription;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("Subscriptions", "Ask users to agree to recurring payments, and manage their subscriptions.")
        .endpoint(Scope::Subscriptions, Audit::Once, handler!(request_subscription))
        .endpoint(Scope::Subscriptions.for_support(), Audit::Once, handler!(close_subscription))
        .endpoint(Scope::Subscriptions, Audit::Nothing, handler!(list_subscriptions))
        .endpoint(Scope::Subscriptions, Audit::Nothing, handler!(get_subscription))
        .endpoint(Scope::Subscriptions.of_nothing(), Audit::Nothing, handler!(get_next_occurrence))
}
