//! The endpoints: one file each, always in the same order: errors, request, response, handler with its documentation,
//! tests. Each group's `mod.rs` lists its endpoints.

mod approvals;
mod change;
mod events;
mod keys;
mod lightning_node;
mod login;
mod operate;
mod operators;
mod payments;
mod profile;
mod shown_once;
mod subscriptions;
mod tickets;
mod verification;

use crate::endpoint_group::{Detail, EndpointGroup};

pub(crate) use operate::{check_health, own_name};

/// All groups, in the order in which an app needs them.
pub(crate) fn groups<D: Detail>() -> [EndpointGroup<D>; 11] {
    [
        login::group(),
        payments::group(),
        approvals::group(),
        subscriptions::group(),
        tickets::group(),
        verification::group(),
        events::group(),
        operate::group(),
        keys::group(),
        operators::group(),
        lightning_node::group(),
    ]
}
