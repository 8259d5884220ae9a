//! `GET /nip05/{identifier}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_engine::ports::{LookUpError, Nip05, Nip05Answer};
use utoipa::ToSchema;

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};
use usher_engine::FieldError;

/// Why an identifier names nobody.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the identifier is wrong")]
    Identifier(String),
    #[error("the domain does not name a key")]
    NotFound,
    #[error(transparent)]
    LookUp(#[from] LookUpError),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self {
            Self::Identifier(detail) => {
                Problem::invalid(vec![FieldError { pointer: "/identifier".to_owned(), detail }])
            }
            Self::NotFound => {
                Problem::new(ErrorCode::ProfileNotFound, "the domain does not name a key for this identifier now")
            }
            Self::LookUp(error) => error.into(),
        }
        .into_response()
    }
}

/// Whom an identifier names.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Nip05, example = json!({
    "pubkey": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "relays": ["wss://relay.example"],
}))]
pub(crate) struct Named {
    /// The key.
    pubkey: String,
    /// Relays at which the user can be found, says the domain.
    relays: Vec<String>,
}

impl From<Nip05Answer> for Named {
    fn from(answer: Nip05Answer) -> Self {
        Self { pubkey: answer.pubkey.to_hex(), relays: answer.relays }
    }
}

/// Looks up whom a NIP-05 identifier names.
///
/// The identifier's domain is asked, over https, without following redirects and never at a private address, for 5 s at
/// most. What was found is kept for 10 minutes, and that nothing was found for one.
#[utoipa::path(
    get,
    path = "/nip05/{identifier}",
    params(("identifier" = String, Path, format = "nip05", max_length = 324,
        pattern = "^[A-Za-z0-9._-]{1,64}@[A-Za-z0-9.-]{1,253}(:[1-9][0-9]{0,4})?$", example = "ada@example.com",
        description = "`name@domain`; `_@domain` names the domain itself.")),
    responses(
        (status = 200, description = "It names a key.", body = Named),
        (status = 404, description = "`profile_not_found`: The domain does not say so now, for whatever reason."),
        (status = 422, description = "`invalid_request`: It is not a NIP-05 identifier."),
        (status = 503, description = "`overloaded`: Too many look-ups at a time."),
    ),
)]
pub(crate) async fn resolve_nip05(
    State(state): State<ApiState>,
    PathParameter(text): PathParameter,
) -> Result<Json<Named>, Error> {
    let text = text.ok_or_else(|| Error::Identifier("is not UTF-8".to_owned()))?;
    let identifier: Nip05 =
        text.parse().map_err(|error: usher_engine::ports::Nip05Error| Error::Identifier(error.to_string()))?;
    let named = state.directory.nip05(&identifier).await?.ok_or(Error::NotFound)?;
    Ok(Json(named.into()))
}
