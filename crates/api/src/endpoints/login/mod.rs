//! Log in: a user's key, the proof of it, and their profile.

mod authenticate_key;
mod close_key_handshake;
mod create_key_handshake;
mod erase_user;
mod forget_passkeys;
mod forget_remote_signer;
mod get_profile;
mod get_user;
mod issue_jwt;
mod list_key_handshakes;
mod list_logins;
mod redeem_login;
mod resolve_nip05;
mod start_login;
mod verify_jwt;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("Login", "Learn a user's Nostr key, and have the user prove that they hold it.")
        .endpoint(Scope::Login, Audit::Once, handler!(start_login))
        .endpoint(Scope::Login, Audit::Once, handler!(redeem_login))
        .endpoint(Scope::Login, Audit::Once, handler!(create_key_handshake))
        .endpoint(Scope::Login, Audit::Once, handler!(authenticate_key))
        .endpoint(Scope::Login, Audit::Nothing, handler!(list_key_handshakes))
        .endpoint(Scope::Login, Audit::Nothing, handler!(list_logins))
        .endpoint(Scope::Login, Audit::Once, handler!(close_key_handshake))
        .endpoint(Scope::Login.of_service(), Audit::BeforeAndAfter, handler!(forget_remote_signer))
        .endpoint(Scope::Login.of_service(), Audit::BeforeAndAfter, handler!(forget_passkeys))
        .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(get_user))
        .endpoint(Scope::Admin.of_service().for_support(), Audit::BeforeAndAfter, handler!(erase_user))
        .endpoint(Scope::Login, Audit::Once, handler!(issue_jwt))
        .endpoint(Scope::Login, Audit::Nothing, handler!(verify_jwt))
        .endpoint(Scope::Login.of_nothing(), Audit::Nothing, handler!(get_profile))
        .endpoint(Scope::Login.of_nothing(), Audit::Nothing, handler!(resolve_nip05))
}
