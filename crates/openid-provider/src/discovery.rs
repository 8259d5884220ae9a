//! Provider metadata (OpenID Connect Discovery 1.0, RFC 8414) and public keys.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::authorization_request::SCOPES;
use crate::provider::SharedProvider;

/// Apps in browsers may read responses that need no cookie.
pub(crate) const CROSS_ORIGIN: (HeaderName, HeaderValue) = (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));

/// `GET /.well-known/openid-configuration`
pub(crate) async fn configuration(State(provider): State<SharedProvider>) -> Response {
    let issuer = &provider.options.issuer;
    let endpoint = |path: &str| format!("{issuer}{path}");
    let mut claims = vec![
        "iss",
        "sub",
        "aud",
        "exp",
        "iat",
        "auth_time",
        "amr",
        "nonce",
        "at_hash",
        "preferred_username",
        "name",
        "picture",
        "nostr_npub",
        "nip05",
    ];
    let email = provider.options.email_domain.is_some();
    claims.extend(email.then_some("email"));
    let scopes: Vec<_> = SCOPES.into_iter().filter(|scope| email || *scope != "email").collect();
    public(&json!({
        "issuer": issuer,
        "authorization_endpoint": endpoint("/oauth/authorize"),
        "token_endpoint": endpoint("/oauth/token"),
        "userinfo_endpoint": endpoint("/oauth/userinfo"),
        "jwks_uri": endpoint("/oauth/jwks"),
        "end_session_endpoint": endpoint("/oauth/end-session"),
        "scopes_supported": scopes,
        "claims_supported": claims,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "form_post"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        "code_challenge_methods_supported": ["S256"],
        "prompt_values_supported": ["none", "login", "consent", "select_account"],
        "authorization_response_iss_parameter_supported": true,
        "claims_parameter_supported": false,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
    }))
}

/// `GET /oauth/jwks`
pub(crate) async fn jwks(State(provider): State<SharedProvider>) -> Response {
    public(&provider.keys.jwks())
}

fn public(document: &Value) -> Response {
    let headers = [
        CROSS_ORIGIN,
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=300")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, document.to_string()).into_response()
}
