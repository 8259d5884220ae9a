//! API keys: secrets that may do less than the token.

mod create_key;
mod key;
mod list_keys;
mod revoke_key;
mod rotate_key;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("API keys", "Give each client a key that can do only what it needs.")
        .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(create_key))
        .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(list_keys))
        .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(revoke_key))
        .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(rotate_key))
}
