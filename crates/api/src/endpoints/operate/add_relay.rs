//! `POST /relays`

use axum::extract::State;
use axum::{Extension, Json};

use super::relay::{Body, Relay};
use crate::auth::Authorization;
use crate::problem::Problem;
use crate::{ApiState, audit, body};

/// Adds a relay.
///
/// The change is durable and takes effect before the response: new handshake URLs name the relay, and unanswered
/// requests are sent to it as well. The response waits up to 2 seconds for the connection, to show whether it works; a
/// relay that is down is added as well, and the service keeps trying. A relay that is already there stays as it
/// is. There may be 16 relays. A relay that an API key adds must be on the public Internet, at port 80, 443 or one from 1024.
#[utoipa::path(
    post,
    path = "/relays",
    request_body = Body,
    responses(
        (status = 200, description = "The relay is one of the service's own.", body = Relay),
        (status = 422, description = "`invalid_request`: This is not the URL of a relay, or there are 16 already."),
    ),
)]
pub(crate) async fn add_relay(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
    body::Json(Body { relay }): body::Json<Body>,
) -> Result<Json<Relay>, Problem> {
    audit::add_server("relay", &relay);
    let is_key = authorization.key().is_some();
    audit::begin(&state).await?;
    let added = state.relays.add(&relay, is_key).await?;
    Ok(Json(Relay::shown(added, is_key)))
}
