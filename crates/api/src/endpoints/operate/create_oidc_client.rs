//! `POST /oidc/clients`

use axum::extract::State;
use axum::response::Response;
use usher_engine::PendingAudit;
use usher_engine::ports::{NewOpenIdClient, OpenIdClientFields};
use usher_engine::request_body;
use usher_engine::request_body::{Flag, FlagOrNot, OneLine, OrDefault, VisibleAscii};

use super::oidc_clients::{Client, ClientWithSecret, RedirectUris, SigningAlgorithm, with_secret};
use super::oidc_types::control;
use crate::ApiState;
use crate::audit;
use crate::body;
use crate::problem::Problem;

request_body! {
    /// Stores a client.
    pub(crate) struct Body, BodyDraft = "CreateOidcClientRequest", example {
        "client_id": "gitea",
        "name": "Gitea",
        "redirect_uris": ["https://git.example.com/user/oauth2/usher/callback"],
        "require_pkce": false,
    } {
        /// Its `client_id`: letters, digits, dot, underscore and hyphen. By default a random one.
        client_id: Option<VisibleAscii<128>>,
        /// The name that users see.
        name: OneLine<128>,
        /// Whether it has no secret: an app that runs on its users' devices.
        public: OrDefault<Flag>,
        /// Where users may be sent back to, at most 20: https, http on loopback, or an app's own scheme with a dot in it.
        redirect_uris: RedirectUris,
        /// Where users may be sent after they have logged out, at most 20.
        post_logout_redirect_uris: Option<RedirectUris>,
        /// Whether it must use PKCE, by default true; a public client must.
        require_pkce: Option<FlagOrNot>,
        /// The algorithm of its ID tokens, by default `RS256`.
        signing_algorithm: Option<SigningAlgorithm>,
    }
}

/// Stores an app that logs users in with OpenID Connect.
///
/// It can log users in when the response arrives, without a restart. Its secret, unless it is public, is stored as a hash and
/// shown this once. There may be 100 stored clients.
#[utoipa::path(
    post,
    path = "/oidc/clients",
    request_body = Body,
    responses(
        (status = 200, description = "The client, with its secret.", body = ClientWithSecret),
        (status = 422, description = "`invalid_request`: Some fields are wrong, the id belongs to another client, or there are 100 \
            stored clients."),
    ),
)]
pub(crate) async fn create_oidc_client(
    State(state): State<ApiState>,
    body::Json(body): body::Json<Body>,
) -> Result<Response, Problem> {
    let provider = control(&state)?;
    audit::begin(&state).await?;
    let new = NewOpenIdClient {
        client_id: body.client_id,
        is_public: body.public,
        fields: OpenIdClientFields {
            name: Some(body.name),
            redirect_uris: Some(body.redirect_uris),
            post_logout_redirect_uris: body.post_logout_redirect_uris,
            require_pkce: body.require_pkce,
            algorithm: body.signing_algorithm,
        },
    };
    let (client, secret) = provider.create_client(new).await?;
    PendingAudit::add_detail("client_id", client.client_id.as_str());
    Ok(with_secret(Client::of(client, &state), secret))
}
