//! `GET /oidc/consents`

use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::ports::OpenIdConsent;
use usher_protocol::PublicKey;
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, Type};

use super::oidc_types::provider;
use crate::ApiState;
use crate::paging::{Cursor, PageQuery, page};
use crate::problem::Problem;
use crate::query::Parameters;

/// The last consent of a page: `<client>:<user>`. A client's id has no colon.
#[derive(Debug)]
pub(crate) struct LastConsent {
    client_id: String,
    main_key: PublicKey,
}

impl FromStr for LastConsent {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (client_id, main_key) = text.split_once(':').ok_or(())?;
        let main_key = PublicKey::from_hex(main_key).map_err(|_| ())?;
        Ok(Self { client_id: client_id.to_owned(), main_key })
    }
}

impl Cursor for LastConsent {
    fn schema() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[A-Za-z0-9._-]{1,128}:[0-9a-f]{64}$"))
    }
}

page! {
    /// What users agreed to give apps.
    OidcConsentList {
        /// The consents, in the order of `client_id` and `main_key`.
        consents: Consent,
    }
}

/// What a user agreed to give an app.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcConsent, example = json!({
    "client_id": "gitea",
    "main_key": "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    "scopes": ["openid", "profile"],
    "agreed_at": 1732137600,
}))]
pub(crate) struct Consent {
    /// The app, as in `oidc.clients`. It may have been removed there.
    client_id: String,
    /// The user.
    main_key: String,
    /// What the app may learn.
    scopes: Vec<String>,
    /// When the user last agreed, in Unix seconds.
    agreed_at: u64,
}

impl From<OpenIdConsent> for Consent {
    fn from(consent: OpenIdConsent) -> Self {
        Self {
            client_id: consent.client_id,
            main_key: consent.subject,
            scopes: consent.scopes.split(' ').map(str::to_owned).collect(),
            agreed_at: consent.at.secs(),
        }
    }
}

/// Lists what users agreed to give apps (OpenID Connect).
///
/// A user agrees once for each app, and again when it wants more.
#[utoipa::path(
    get,
    path = "/oidc/consents",
    params(PageQuery<LastConsent>),
    responses(
        (status = 200, description = "The consents.", body = List),
        (status = 503, description = "`oidc_not_configured` `storage_unavailable`"),
    ),
)]
pub(crate) async fn list_oidc_consents(
    State(state): State<ApiState>,
    Parameters(PageQuery { after, limit }): Parameters<PageQuery<LastConsent>>,
) -> Result<Json<List>, Problem> {
    let after = after.map(|last| (last.client_id, last.main_key.to_hex()));
    let consents = provider(&state)?.consents(after, limit).await?;
    let last = consents.last().filter(|_| consents.len() == limit);
    let next = last.map(|last| format!("{}:{}", last.client_id, last.subject));
    Ok(List::page(consents, next))
}
