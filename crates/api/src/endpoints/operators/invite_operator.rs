//! `POST /operators/invitations`

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use usher_engine::PendingAudit;
use usher_engine::access::MAX_OPERATOR_NAME;
use usher_engine::request_body;
use usher_engine::request_body::{OneLine, RoleWord};
use utoipa::ToSchema;

use crate::ApiState;
use crate::audit;
use crate::auth::Authorization;
use crate::body;
use crate::endpoints::shown_once::shown_once;
use crate::problem::{ErrorCode, Problem};

request_body! {
    /// Invites an operator.
    pub(crate) struct Body, BodyDraft = "NewOperator", example { "name": "Anna", "role": "support" } {
        /// Their name, which the audit log shows.
        name: OneLine<MAX_OPERATOR_NAME>,
        /// What they may do: `viewer`, `support` or `admin` (docs/console.md).
        role: RoleWord,
    }
}

/// An invitation to the console.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NewInvitation)]
pub(crate) struct Invited {
    /// Where the invited person logs in. It is shown this once, and left out of a repeated response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "https://login.example/console/invite/5b0c…")]
    page_url: Option<String>,
    /// Until when it can be accepted, in Unix seconds.
    #[schema(example = 1732141200)]
    expires_at: u64,
}

/// Invites a colleague to the console.
///
/// Who opens `page_url` first and logs in there is the operator: give it to nobody else. It can be used once, within an hour. There
/// may be 100 operators and invitations beside those of the configuration; another invitation with the same name replaces the first.
#[utoipa::path(
    post,
    path = "/operators/invitations",
    request_body = Body,
    responses(
        (status = 200, description = "The invitation.", body = Invited),
        (status = 404, description = "`route_not_found`: The service has no console (`console.enabled`)."),
        (status = 422, description = "`invalid_request`: Some fields are wrong, the name is taken, there are 100 operators, or one with this role could do more than the API key."),
    ),
)]
pub(crate) async fn invite_operator(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
    body::Json(Body { name, role }): body::Json<Body>,
) -> Result<Response, Problem> {
    let no_console = || Problem::new(ErrorCode::RouteNotFound, "the service has no console (console.enabled)");
    let options = state.console.as_ref().ok_or_else(no_console)?;
    state.tokens.require_granter(&authorization)?;
    audit::begin(&state).await?;
    let (secret, invitation) = state.keys.invite(&name, role, authorization.key()).await?;
    PendingAudit::add_detail("name", name);
    PendingAudit::add_detail("role", role.as_str());
    let url = options.public_url.as_str().trim_end_matches('/');
    let invited = Invited { page_url: None, expires_at: invitation.expires_at() };
    let page_url = format!("{url}/console/invite/{secret}");
    Ok(shown_once(invited, Some(page_url), |invited| &mut invited.page_url))
}
