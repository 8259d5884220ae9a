//! Log in: a user's key, the proof of it, and their profile.

mod authenticate_key;
mod close_key_handshake;
mod create_key_handshake;
mod erase_user;
mod forget_passkeys;
mod forget_remote_signer;
mod get_profile;
mod issue_jwt;
mod list_key_handshakes;
mod redeem_login;
mod resolve_nip05;
mod start_login;
mod verify_jwt;

use utoipa_axum::routes;

use crate::endpoint_group::EndpointGroup;

pub(super) fn group() -> EndpointGroup {
    EndpointGroup::new("Login", "Learn a user's Nostr key, and have the user prove that they hold it.")
        .endpoint(routes!(start_login::start_login))
        .endpoint(routes!(redeem_login::redeem_login))
        .endpoint(routes!(create_key_handshake::create_key_handshake))
        .endpoint(routes!(authenticate_key::authenticate_key))
        .endpoint(routes!(list_key_handshakes::list_key_handshakes))
        .endpoint(routes!(close_key_handshake::close_key_handshake))
        .endpoint(routes!(forget_remote_signer::forget_remote_signer))
        .endpoint(routes!(forget_passkeys::forget_passkeys))
        .endpoint(routes!(erase_user::erase_user))
        .endpoint(routes!(issue_jwt::issue_jwt))
        .endpoint(routes!(verify_jwt::verify_jwt))
        .endpoint(routes!(get_profile::get_profile))
        .endpoint(routes!(resolve_nip05::resolve_nip05))
}
