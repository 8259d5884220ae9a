//! `DELETE /oidc/clients/{client_id}`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::PendingAudit;
use usher_engine::ports::OpenIdClientError;
use utoipa::ToSchema;

use super::oidc_types::control;
use crate::ApiState;
use crate::audit;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

/// A client that was deleted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcClientDeleted, example = json!({ "client_id": "gitea", "status": "deleted" }))]
pub(crate) struct Deleted {
    /// Its `client_id`.
    client_id: String,
    /// `deleted`.
    #[schema(pattern = "^deleted$")]
    status: &'static str,
}

/// Deletes an app that logs users in with OpenID Connect.
///
/// Its logins, codes and tokens end before the response, except ID tokens, which apps verify themselves, and users' consents are
/// removed. Sessions within the app end when the app ends them. Only stored clients can be deleted.
#[utoipa::path(
    delete,
    path = "/oidc/clients/{client_id}",
    params(("client_id" = String, Path, description = "Its `client_id`.")),
    responses(
        (status = 200, description = "The client is deleted.", body = Deleted),
        (status = 404, description = "`client_not_found`: No client has this id."),
        (status = 409, description = "`client_of_configuration`: It is one of `oidc.clients`; remove it there."),
    ),
)]
pub(crate) async fn delete_oidc_client(
    State(state): State<ApiState>,
    PathParameter(client_id): PathParameter,
) -> Result<Json<Deleted>, Problem> {
    let provider = control(&state)?;
    let client_id: String = client_id.ok_or(OpenIdClientError::NotFound)?;
    PendingAudit::add_detail("client_id", client_id.as_str());
    audit::begin(&state).await?;
    provider.delete_client(&client_id).await?;
    Ok(Json(Deleted { client_id, status: "deleted" }))
}
