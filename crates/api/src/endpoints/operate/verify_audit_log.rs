//! `GET /audit/verification`

use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::audit::AuditHead;
use utoipa::ToSchema;

use crate::ApiState;
use crate::middleware::DeadlineExtension;
use crate::problem::Problem;

/// Additional time: a long log is read from its start to its end.
const READING: Duration = Duration::from_secs(300);

/// Whether the audit log is as it was written.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditVerification)]
pub(crate) struct Verification {
    /// The newest entry that is as it was written, as in `GET /audit`. `null`: there is none.
    #[schema(example = "4711:5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592")]
    head: Option<String>,
    /// The number of the last entry that was removed after its retention (`audit.retention_days`).
    #[schema(example = 0)]
    removed: u64,
    /// What is wrong after `head`, in words. `null`: nothing.
    #[schema(example = json!(null))]
    fault: Option<String>,
}

/// Verifies the audit log.
///
/// Each entry has a hash over itself and all entries before it, by a key of the service. This finds entries that were changed, added,
/// moved or removed in the database. It cannot find that an older state of the whole database took the place of a newer one: note `head`
/// elsewhere for that (`usher audit verify --head`).
#[utoipa::path(
    get,
    path = "/audit/verification",
    responses(
        (status = 200, description = "The log was read; `fault` says what is wrong.", body = Verification),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn verify_audit_log(
    State(state): State<ApiState>,
    Extension(deadline): Extension<DeadlineExtension>,
) -> Result<Json<Verification>, Problem> {
    deadline.extend(READING);
    let found = state.engine.audit().verify().await?;
    Ok(Json(Verification {
        head: found.head.as_ref().map(AuditHead::to_string),
        removed: found.removed,
        fault: found.fault.map(|fault| fault.to_string()),
    }))
}
