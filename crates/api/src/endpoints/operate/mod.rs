//! Operate: the state of the service, its relays, its own profile, its OpenID Connect provider, and this API.

mod add_relay;
mod change_oidc_client;
mod check_health;
mod check_readiness;
mod create_oidc_client;
mod delete_oidc_client;
mod docs_page;
mod get_metrics;
mod get_nostr_json;
mod get_openapi_document;
mod get_version;
mod list_audit_entries;
mod list_oidc_clients;
mod list_oidc_consents;
mod list_oidc_keys;
mod list_relays;
mod list_settings;
mod oidc_clients;
mod oidc_types;
mod publish_profile;
mod relay;
mod remove_relay;
mod revoke_oidc_consent;
mod revoke_oidc_key;
mod rotate_oidc_keys;
mod verify_audit_log;

use axum::Router;
use axum::routing::{get, options};
use usher_engine::access::Scope;

use crate::ApiState;
use crate::access::ScopeExt as _;
use crate::auth::AuthPolicy;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(crate) use check_health::check_health;

/// The service's own name alone, for the listener of the pages.
pub(crate) fn own_name() -> Router<ApiState> {
    Router::new()
        .route("/.well-known/nostr.json", get(get_nostr_json::get_nostr_json).options(get_nostr_json::preflight))
}

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new(
        "Operation",
        "Monitor the service, manage its relays, its profile and its OpenID Connect provider, and read this description.",
    )
    .endpoint_for(AuthPolicy::Public, handler!(check_health))
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(check_readiness))
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(get_metrics))
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(list_settings))
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(list_audit_entries))
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(verify_audit_log))
    .endpoint(Scope::Relays.of_service(), Audit::Nothing, handler!(list_relays))
    .endpoint(Scope::Relays.of_service(), Audit::BeforeAndAfter, handler!(add_relay))
    .endpoint(Scope::Relays.of_service(), Audit::BeforeAndAfter, handler!(remove_relay))
    .with_body()
    .endpoint(Scope::Relays.of_service(), Audit::BeforeAndAfter, handler!(publish_profile))
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(list_oidc_clients))
    .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(create_oidc_client))
    .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(change_oidc_client))
    .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(delete_oidc_client))
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(list_oidc_consents))
    .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(revoke_oidc_consent))
    .with_body()
    .endpoint(Scope::Admin.of_service(), Audit::Nothing, handler!(list_oidc_keys))
    .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(rotate_oidc_keys))
    .endpoint(Scope::Admin.of_service(), Audit::BeforeAndAfter, handler!(revoke_oidc_key))
    .endpoint_for(AuthPolicy::Public, handler!(get_nostr_json))
    .file(AuthPolicy::Public, "/.well-known/nostr.json", options(get_nostr_json::preflight))
    .endpoint(Scope::Admin.of_nothing(), Audit::Nothing, handler!(get_version))
    .endpoint_for(AuthPolicy::Docs, handler!(get_openapi_document))
    .endpoint_for(AuthPolicy::Docs, handler!(docs_page::show_docs))
    .file(AuthPolicy::Docs, "/docs/viewer.js", get(docs_page::viewer))
    .file(AuthPolicy::Docs, "/docs/swagger-ui.js", get(docs_page::script))
    .file(AuthPolicy::Docs, "/docs/swagger-ui.css", get(docs_page::style))
    .file(AuthPolicy::Docs, "/docs/favicon.png", get(docs_page::icon))
}
