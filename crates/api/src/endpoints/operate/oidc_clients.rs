//! What the endpoints of OpenID Connect clients have in common.

use axum::response::Response;
use serde::Serialize;
use url::Url;
use usher_engine::field_type;
use usher_engine::ports::{OpenIdClient, OpenIdClientError};
use usher_engine::request_body::field_reader;
use utoipa::ToSchema;
use utoipa::openapi::schema::ArrayBuilder;
use utoipa::openapi::{ObjectBuilder, SchemaFormat, Type};

use crate::ApiState;
use crate::endpoints::shown_once::{Secret, shown_once};
use crate::problem::{ErrorCode, Problem};

/// Most addresses of a list.
const MAX_URIS: usize = 20;

/// Longest redirect URI, in bytes.
const MAX_URI_BYTES: usize = 1024;

const NEAR_PASSKEYS: &str = "a redirect_uri is on the domain of the passkeys: its pages can ask users for the secret keys \
                             that their browsers make of passkeys; give the pages a host of their own, or leave passkey \
                             out of pages.login_methods";

/// An app that logs users in with OpenID Connect.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcClient, example = json!({
    "client_id": "gitea",
    "name": "Gitea",
    "public": false,
    "redirect_uris": ["https://git.example.com/user/oauth2/usher/callback"],
    "post_logout_redirect_uris": ["https://git.example.com/"],
    "require_pkce": false,
    "signing_algorithm": "RS256",
    "source": "stored",
    "created_at": 1732137600,
}))]
pub(crate) struct Client {
    /// Its `client_id`.
    client_id: String,
    /// The name that users see.
    name: String,
    /// Whether it has no secret: an app that runs on its users' devices.
    public: bool,
    /// Where users may be sent back to.
    redirect_uris: Vec<String>,
    /// Where users may be sent after they have logged out.
    post_logout_redirect_uris: Vec<String>,
    /// Whether it must use PKCE.
    require_pkce: bool,
    /// The algorithm of its ID tokens.
    #[schema(pattern = "^(RS256|ES256)$")]
    signing_algorithm: &'static str,
    /// `stored`, or `configuration`: one of `oidc.clients`, which is changed there.
    #[schema(pattern = "^(stored|configuration)$")]
    source: &'static str,
    /// When it was stored, in Unix seconds; `null` for one of the configuration.
    #[schema(required = true)]
    created_at: Option<u64>,
    /// A danger, in words: a redirect URI is on the domain of the passkeys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    warning: Option<&'static str>,
}

impl Client {
    pub(super) fn of(client: OpenIdClient, state: &ApiState) -> Self {
        let is_below = |host: &str, domain: &str| {
            host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let is_near_passkeys = state.passkey_domain.as_deref().is_some_and(|domain| {
            let mut uris = client.redirect_uris.iter().filter_map(|uri| Url::parse(uri).ok());
            uris.any(|uri| uri.domain().is_some_and(|host| is_below(host, domain)))
        });
        Self {
            warning: is_near_passkeys.then_some(NEAR_PASSKEYS),
            client_id: client.client_id,
            name: client.name,
            public: client.is_public,
            redirect_uris: client.redirect_uris,
            post_logout_redirect_uris: client.post_logout_redirect_uris,
            require_pkce: client.require_pkce,
            signing_algorithm: client.algorithm,
            source: if client.created_at.is_some() { "stored" } else { "configuration" },
            created_at: client.created_at.map(|at| at.secs()),
        }
    }
}

/// A client, with its secret if that is new.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcClientWithSecret)]
pub(crate) struct ClientWithSecret {
    client: Client,
    /// The `client_secret`, if it is new. It is shown this once, and left out of a repeated response (`Idempotency-Key`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, nullable = false, example = "5J1mN0bqX3uWz8s6l2eYyQ7tVd4KcR9pGh1aFoTiBwE")]
    secret: Option<Secret>,
}

/// The response with a secret, if that is new; a repeated one has none.
pub(super) fn with_secret(client: Client, secret: Option<String>) -> Response {
    shown_once(ClientWithSecret { client, secret: None }, secret.map(Secret), |body| &mut body.secret)
}

impl From<OpenIdClientError> for Problem {
    fn from(error: OpenIdClientError) -> Self {
        match error {
            OpenIdClientError::NotFound => Self::new(ErrorCode::ClientNotFound, "no client has this id"),
            OpenIdClientError::Configured => Self::new(
                ErrorCode::ClientOfConfiguration,
                "this client is one of oidc.clients in the configuration; change it there",
            ),
            OpenIdClientError::Refused(errors) => Self::invalid(errors),
            OpenIdClientError::Keys(error) => error.into(),
        }
    }
}

field_type! {
    /// Addresses to which users may be sent. The provider validates them.
    pub(crate) RedirectUris: Vec<String>,
    |pointer, value, errors| field_reader::list(pointer, value, errors, MAX_URIS, |uri| Ok(uri.to_owned())),
    ArrayBuilder::new()
        .items(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::Custom("web-url".to_owned())))
                .max_length(Some(MAX_URI_BYTES)),
        )
        .max_items(Some(MAX_URIS))
}

field_type! {
    /// `RS256` or `ES256`.
    pub(crate) SigningAlgorithm: &'static str,
    |pointer, value, errors| {
        let known = |word: &str| ["RS256", "ES256"].into_iter().find(|known| *known == word);
        field_reader::parsed(pointer, value, errors, known, "must be `RS256` or `ES256`")
    },
    ObjectBuilder::new().schema_type(Type::String).pattern(Some("^(RS256|ES256)$"))
}
