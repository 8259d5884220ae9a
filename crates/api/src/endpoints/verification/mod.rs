//! Verify ages: a session on a page for the user, decided by staff, whose proof is a Cashu token.

mod create_verification_session;
mod decide_verification_session;
mod list_verification_sessions;
mod request_verification_token;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("Age verification", "Verify that a user is old enough, without learning who the user is.")
        .endpoint(Scope::Verification, Audit::Once, handler!(create_verification_session))
        .endpoint(Scope::Verification, Audit::Nothing, handler!(list_verification_sessions))
        .endpoint(Scope::Verification.for_support(), Audit::Once, handler!(decide_verification_session))
        .endpoint(Scope::Verification, Audit::Once, handler!(request_verification_token))
}
