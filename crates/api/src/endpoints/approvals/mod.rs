//! Approvals: money out above `wallet.approval_above_millisats` waits for somebody else than who asked for it.

mod decide_approval;
mod list_approvals;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("Approvals", "Approve or decline payments by the service that wait for a second person.")
        .endpoint(Scope::Approvals.of_service(), Audit::Nothing, handler!(list_approvals))
        .endpoint(Scope::Approvals.of_service(), Audit::Once, handler!(decide_approval))
}
