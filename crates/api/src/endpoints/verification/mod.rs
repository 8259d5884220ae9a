//! Verify ages: a session on a page for the user, decided by staff, whose proof is a Cashu token.

mod create_verification_session;
mod decide_verification_session;
mod request_verification_token;

use usher_engine::access::Scope;
use utoipa_axum::routes;

use crate::endpoint_group::EndpointGroup;
use crate::route::Audit;

pub(super) fn group() -> EndpointGroup {
    EndpointGroup::new("Age verification", "Verify that a user is old enough, without learning who the user is.")
        .endpoint(Scope::Verification, Audit::Once, routes!(create_verification_session::create_verification_session))
        .endpoint(Scope::Verification, Audit::Once, routes!(decide_verification_session::decide_verification_session))
        .endpoint(Scope::Verification, Audit::Once, routes!(request_verification_token::request_verification_token))
}
