//! `GET /nip05/{identifier}`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::Requester;
use usher_engine::ports::{Nip05, Nip05Answer, Nip05Error};

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};

/// Resolves a NIP-05 identifier to a key.
///
/// Usher queries the domain of the identifier over HTTPS for at most 5 seconds. It follows no redirects and connects
/// to no private address. A result is cached for 10 minutes, and the absence of one for 1 minute.
#[utoipa::path(
    get,
    path = "/nip05/{identifier}",
    params(("identifier" = String, Path, format = "nip05", max_length = 324,
        pattern = "^[A-Za-z0-9._-]{1,64}@[A-Za-z0-9.-]{1,253}(:[1-9][0-9]{0,4})?$", example = "ada@example.com",
        description = "`name@domain`; `_@domain` names the domain itself.")),
    responses(
        (status = 200, description = "The key of the identifier.", body = Nip05Answer),
        (status = 404, description = "`profile_not_found`: The domain does not name a key for this identifier."),
        (status = 422, description = "`invalid_request`: This is not a NIP-05 identifier."),
        (status = 503, description = "`overloaded`: Too many concurrent look-ups."),
    ),
)]
pub(crate) async fn resolve_nip05(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    PathParameter(text): PathParameter,
) -> Result<Json<Nip05Answer>, Problem> {
    let invalid = |detail: String| Problem::invalid_field("/identifier", detail);
    let text = text.ok_or_else(|| invalid("is not UTF-8".to_owned()))?;
    let identifier: Nip05 = text.parse().map_err(|error: Nip05Error| invalid(error.to_string()))?;
    let named = state.directory.nip05(&identifier, requester.origin()).await?;
    let none = || Problem::new(ErrorCode::ProfileNotFound, "the domain does not name a key for this identifier");
    named.map(Json).ok_or_else(none)
}
