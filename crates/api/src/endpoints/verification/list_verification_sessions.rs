//! `GET /verification/sessions`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{FieldErrors, OpenVerification, Requester, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::paging::{PageQuery, page};
use crate::problem::Problem;
use crate::query::{Parameters, Query, ReadQuery};

/// `status`, which has one value.
pub(crate) struct OpenOnly;

impl ReadQuery for OpenOnly {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        if query.text("status", errors).is_some_and(|status| status != "open") {
            errors.add("/status", "must be `open`");
        }
        Self
    }
}

/// An age verification session that waits for a decision.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OpenVerificationSession)]
pub(crate) struct Session {
    /// Its id, for `POST /verification/sessions/{session_id}/decision`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    session_id: String,
    /// The number that the user's page shows, which no other open session has: ask the user for it. `null` if the session was
    /// opened by an earlier version.
    #[schema(example = 4711)]
    number: Option<u32>,
    /// `open`; `checking` while a provider is checking.
    #[schema(pattern = "^(open|checking)$", example = "open")]
    status: &'static str,
    /// In years.
    #[schema(example = 18)]
    minimum_age: u64,
    /// When it was opened, in Unix seconds.
    #[schema(example = 1732136700)]
    created_at: u64,
    /// Unix seconds until which it can be decided.
    #[schema(example = 1732137600)]
    expires_at: u64,
}

impl From<OpenVerification> for Session {
    fn from(open: OpenVerification) -> Self {
        Self {
            session_id: open.session_id.to_string(),
            number: open.number,
            status: if open.is_checked { "checking" } else { "open" },
            minimum_age: open.minimum_age,
            created_at: open.session_id.created_at().secs(),
            expires_at: open.expires_at.secs(),
        }
    }
}

page! {
    /// Open age verification sessions.
    VerificationSessionList sparse {
        /// The sessions, oldest first.
        sessions: Session,
    }
}

/// Lists the age verification sessions that wait for a decision.
///
/// For your staff: the user tells them the `number` on their page, and they decide the session that has it.
#[utoipa::path(
    get,
    path = "/verification/sessions",
    params(
        ("status" = inline(Option<String>), Query, pattern = "^open$", description = "`open`, which is the default."),
        PageQuery<StreamId>,
    ),
    responses(
        (status = 200, description = "The sessions.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_verification_sessions(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(query): Parameters<(OpenOnly, PageQuery<StreamId>)>,
) -> Result<Json<List>, Problem> {
    let (OpenOnly, PageQuery { after, limit }) = query;
    let (sessions, next) = state.engine.verification().waiting(&requester, after, limit).await?;
    Ok(List::page(sessions, next))
}
