//! `GET /oidc/clients`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::oidc_clients::Client;
use super::oidc_types::control;
use crate::ApiState;
use crate::problem::Problem;

/// The apps that log users in with OpenID Connect.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcClients)]
pub(crate) struct Clients {
    /// The clients: first those of the configuration, then the stored ones, by id. There are at most 100 of each.
    clients: Vec<Client>,
}

/// Lists the apps that log users in with OpenID Connect.
///
/// Those of `oidc.clients` and the stored ones, without secrets.
#[utoipa::path(
    get,
    path = "/oidc/clients",
    responses((status = 200, description = "The clients.", body = Clients)),
)]
pub(crate) async fn list_oidc_clients(State(state): State<ApiState>) -> Result<Json<Clients>, Problem> {
    let clients = control(&state)?.clients();
    Ok(Json(Clients { clients: clients.into_iter().map(|client| Client::of(client, &state)).collect() }))
}
