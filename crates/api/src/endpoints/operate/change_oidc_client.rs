//! `PATCH /oidc/clients/{client_id}`

use axum::extract::State;
use axum::response::Response;
use usher_engine::PendingAudit;
use usher_engine::ports::{OpenIdClientError, OpenIdClientFields};
use usher_engine::request_body;
use usher_engine::request_body::{Flag, FlagOrNot, OneLine, OrDefault};

use super::oidc_clients::{Client, ClientWithSecret, RedirectUris, SigningAlgorithm, with_secret};
use super::oidc_types::control;
use crate::ApiState;
use crate::audit;
use crate::body;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

request_body! {
    /// Changes a client. What is missing stays.
    pub(crate) struct Body, BodyDraft = "ChangeOidcClientRequest", example {
        "name": "Gitea",
    } {
        /// The name that users see.
        name: Option<OneLine<128>>,
        /// Where users may be sent back to, at most 20. Logins that have begun end if they change.
        redirect_uris: Option<RedirectUris>,
        /// Where users may be sent after they have logged out, at most 20.
        post_logout_redirect_uris: Option<RedirectUris>,
        /// Whether it must use PKCE; a public client must.
        require_pkce: Option<FlagOrNot>,
        /// The algorithm of its ID tokens.
        signing_algorithm: Option<SigningAlgorithm>,
        /// Whether it gets a new secret; the previous one is refused at once.
        rotate_secret: OrDefault<Flag>,
    }
}

/// Changes an app that logs users in with OpenID Connect.
///
/// The change is in force when the response arrives. Only stored clients can be changed.
#[utoipa::path(
    patch,
    path = "/oidc/clients/{client_id}",
    params(("client_id" = String, Path, description = "Its `client_id`.")),
    request_body = Body,
    responses(
        (status = 200, description = "The client, with a new secret if it was asked for.", body = ClientWithSecret),
        (status = 404, description = "`client_not_found`: No client has this id."),
        (status = 409, description = "`client_of_configuration`: It is one of `oidc.clients`; change it there."),
    ),
)]
pub(crate) async fn change_oidc_client(
    State(state): State<ApiState>,
    PathParameter(client_id): PathParameter,
    body::Json(body): body::Json<Body>,
) -> Result<Response, Problem> {
    let provider = control(&state)?;
    let client_id: String = client_id.ok_or(OpenIdClientError::NotFound)?;
    PendingAudit::add_detail("client_id", client_id.as_str());
    audit::begin(&state).await?;
    let change = OpenIdClientFields {
        name: body.name,
        redirect_uris: body.redirect_uris,
        post_logout_redirect_uris: body.post_logout_redirect_uris,
        require_pkce: body.require_pkce,
        algorithm: body.signing_algorithm,
    };
    let (client, secret) = provider.change_client(&client_id, change, body.rotate_secret).await?;
    Ok(with_secret(Client::of(client, &state), secret))
}
