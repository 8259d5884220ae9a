//! `GET /operators`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::access::Role;
use utoipa::ToSchema;

use crate::ApiState;

/// The operators, and the invitations that can be accepted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OperatorList)]
pub(crate) struct List {
    /// Those of the configuration first.
    operators: Vec<Listed>,
    /// The invitations, the oldest first.
    invitations: Vec<ListedInvitation>,
}

/// An operator.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operator)]
struct Listed {
    /// The key that they log in with.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d")]
    key: String,
    /// Their name.
    #[schema(example = "Anna")]
    name: String,
    role: Role,
    /// `configuration` (`console.operators`) or `invitation`.
    #[schema(value_type = String, pattern = "^(configuration|invitation)$", example = "invitation")]
    source: &'static str,
    /// When they did something, in Unix seconds, if they are logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1732141200)]
    last_used_at: Option<u64>,
}

/// An invitation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OperatorInvitation)]
struct ListedInvitation {
    /// The new operator's name.
    #[schema(example = "Ben")]
    name: String,
    role: Role,
    /// Until when it can be accepted, in Unix seconds.
    #[schema(example = 1732141200)]
    expires_at: u64,
}

/// Lists the operators of the console.
///
/// An invitation is listed until somebody accepts it, for at most an hour.
#[utoipa::path(
    get,
    path = "/operators",
    responses((status = 200, description = "The operators.", body = List)),
)]
pub(crate) async fn list_operators(State(state): State<ApiState>) -> Json<List> {
    let operators = state.keys.operators();
    let listed = operators.list().into_iter().map(|(operator, is_configured)| Listed {
        key: operator.key.to_hex(),
        name: operator.name,
        role: operator.role,
        source: if is_configured { "configuration" } else { "invitation" },
        last_used_at: operators.sessions().of(&operator.key).iter().map(|session| session.used_at.secs()).max(),
    });
    let invitations = operators.invitations().into_iter().map(|invitation| ListedInvitation {
        expires_at: invitation.expires_at(),
        name: invitation.name,
        role: invitation.role,
    });
    Json(List { operators: listed.collect(), invitations: invitations.collect() })
}
