//! People who use the console.

mod invite_operator;
mod list_operators;
mod remove_operator;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("Operators", "Give people access to the console.")
        .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(list_operators))
        .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(invite_operator))
        .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(remove_operator))
}
