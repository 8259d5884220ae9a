//! `DELETE /key-handshake/{stream_id}`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{CloseHandshakeError, Requester, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;
use crate::request_log;

/// A closed handshake.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyHandshakeClosed)]
pub(crate) struct Closed {
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `closed`.
    #[schema(example = "closed")]
    status: &'static str,
}

/// Closes a key handshake or a reusable login.
///
/// Its URL stops working at once, and its stream is done; there is no event for this. Its events can be read for
/// `streams.retention_days`, and the URL stays invalid for that time: the same `static_token`, opened again, gets a new
/// stream and another URL. A handshake that is already closed gets the same response.
///
/// The page of a reusable login stops working, too, and logins that are under way there end without an event.
#[utoipa::path(
    delete,
    path = "/key-handshake/{stream_id}",
    params(("stream_id" = String, Path, description = "The `stream_id` of `POST /key-handshake`, or of `POST /login` with a `static_token`.")),
    responses(
        (status = 200, description = "The handshake is closed.", body = Closed),
        (status = 404, description = "`stream_not_found`: There is no key handshake with this stream, or it was removed \
            after `streams.retention_days`."),
    ),
)]
pub(crate) async fn close_key_handshake(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    PathParameter(stream): PathParameter<StreamId>,
) -> Result<Json<Closed>, Problem> {
    // Text that is not a stream id names no stream.
    let stream = stream.ok_or(CloseHandshakeError::NotFound)?;
    request_log::record_stream_id(&stream);
    state.engine.handshakes().close(&requester, stream).await?;
    Ok(Json(Closed { stream_id: stream.to_string(), status: "closed" }))
}
