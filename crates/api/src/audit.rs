//! The audit log: which requests are recorded, and what is said of them. It follows from the route: no endpoint writes an entry.
//!
//! | what the request changes | its entry |
//! | --- | --- |
//! | an operation ([`IN_ITS_COMMIT`]) | is in the transaction of the change |
//! | anything else | `begun` is on disk before the change begins, and what came of it before the response |
//! | nothing: it is refused because of what the client may do or spend | says so |
//! | nothing, for another reason | none |

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tracing::Instrument as _;
use usher_engine::ports::{KeyId, NewAuditEntry, StoreError};
use usher_engine::{PendingAudit, in_current_request};
use usher_token_bucket::Rate;

use crate::ApiState;
use crate::auth::Authorization;
use crate::detached_change::TaskLost;
use crate::idempotency::IDEMPOTENCY_REPLAYED;
use crate::peer_address::ClientAddress;
use crate::problem::{ErrorCode, Problem};
use crate::request_id::RequestId;
use crate::route_table::Route;

/// The outcome of a request that has done what it should.
const OK: &str = "ok";

/// The outcome of an entry that precedes its change.
const BEGUN: &str = "begun";

/// Those that change an operation, and nothing else.
const IN_ITS_COMMIT: [&str; 20] = [
    "startLogin",
    "redeemLogin",
    "createKeyHandshake",
    "authenticateKey",
    "closeKeyHandshake",
    "requestPayment",
    "payInvoice",
    "requestInvoice",
    "refundPayment",
    "createPaymentLink",
    "closePaymentLink",
    "requestSubscription",
    "closeSubscription",
    "requestTicket",
    "sendTicket",
    "createVerificationSession",
    "decideVerificationSession",
    "requestVerificationToken",
    "sendOnChain",
    "decideApproval",
];

/// Those that change nothing, although they are no GET.
const CHANGES_NOTHING: [&str; 3] = ["verifyJwt", "getNextOccurrence", "getReceivingCost"];

/// Refusals because of what a client may do or spend.
const RECORDED_REFUSALS: [ErrorCode; 7] = [
    ErrorCode::BudgetNotCounted,
    ErrorCode::BudgetExhausted,
    ErrorCode::ScopeMissing,
    ErrorCode::NetworkNotAllowed,
    ErrorCode::OwnStreamsOnly,
    ErrorCode::OwnRequest,
    ErrorCode::TokenRequired,
];

/// How many refusals of a key are recorded.
const RECORDED_RATE: Rate = Rate::every(10, Duration::from_secs(1));

/// Parts of paths that say on what a request acts, and name no user.
const RECORDED_PARAMETERS: [&str; 6] = ["stream_id", "session_id", "key_id", "id", "channel_id", "kid"];

/// Most of such a part: what a client sends is not checked yet.
const MAX_VALUE_CHARS: usize = 128;

/// What a request asks for, as the OpenAPI document calls it.
fn asked_for(request: &Request) -> Option<Arc<str>> {
    request.extensions().get::<Route>().map(|route| Arc::clone(&route.operation_id))
}

/// Records the request, if it changes something.
pub(crate) async fn record(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let changes = |action: &Arc<str>| !request.method().is_safe() && !CHANGES_NOTHING.contains(&&**action);
    let Some(action) = asked_for(&request).filter(changes) else { return next.run(request).await };
    let pending = Arc::new(PendingAudit::default());
    let key = request.extensions().get::<Authorization>().and_then(Authorization::key_id);
    let (request, mut entry) = entry(&state, &action, request).await;
    if IN_ITS_COMMIT.contains(&&*action) {
        pending.set(entry);
        let response = Arc::clone(&pending).scope(next.run(request)).await;
        return match pending.take() {
            // It was in the commit.
            None => response,
            Some(entry) => conclude(&state, key, entry, response, false).await,
        };
    }
    entry.record.outcome = BEGUN.to_owned();
    pending.set(entry.clone());
    let tasks = state.tasks.clone();
    // It runs to its end even if the client disconnects: what came of it is recorded.
    let work = async move {
        let response = Arc::clone(&pending).scope(next.run(request)).await;
        let has_begun = pending.take().is_none();
        entry.details.extend(pending.details());
        conclude(&state, key, entry, response, has_begun).await
    };
    match tasks.spawn(in_current_request(work).in_current_span()).await {
        Ok(response) => response,
        Err(error) => Problem::from(TaskLost::Task(Some(error))).into_response(),
    }
}

/// Records that a request was refused before it was processed, if it is one that is recorded. What the client asked for may be a read.
pub(crate) async fn record_refusal(state: &ApiState, request: Request, code: ErrorCode) {
    let key = request.extensions().get::<Authorization>().and_then(Authorization::key_id);
    if !is_recorded_refusal(state, key, code) {
        return;
    }
    let action = asked_for(&request);
    let (_, mut entry) = entry(state, action.as_deref().unwrap_or("-"), request).await;
    code.as_str().clone_into(&mut entry.record.outcome);
    if let Err(error) = state.engine.audit().add(entry).await {
        tracing::error!(?error, "a refused request is missing in the audit log");
    }
}

/// Whether a refusal has an entry. Those of a key are bounded: a leaked key that may do nothing could fill the disk.
fn is_recorded_refusal(state: &ApiState, key: Option<KeyId>, code: ErrorCode) -> bool {
    let is_in_time = |key| state.recorded_refusals.admits(key, RECORDED_RATE, state.clock.now());
    RECORDED_REFUSALS.contains(&code) && key.is_none_or(is_in_time)
}

/// Puts the entry of a request whose change is no commit of an operation on disk, before the change.
///
/// # Errors
/// When it cannot be stored: then nothing may be changed.
pub(crate) async fn begin(state: &ApiState) -> Result<(), StoreError> {
    let pending = PendingAudit::current();
    let entry = pending.and_then(|pending| pending.take_if(|entry| entry.record.outcome == BEGUN));
    match entry {
        Some(entry) => state.engine.audit().add(entry).await,
        None => Ok(()),
    }
}

/// Records what came of a request, if that is not in the log yet.
async fn conclude(
    state: &ApiState,
    key: Option<KeyId>,
    mut entry: NewAuditEntry,
    response: Response,
    has_begun: bool,
) -> Response {
    let refusal = response.extensions().get::<Problem>().map(Problem::code);
    let is_replay = response.headers().contains_key(IDEMPOTENCY_REPLAYED);
    let is_recorded = match refusal {
        None => response.status().is_success() && !is_replay,
        Some(code) => !has_begun && is_recorded_refusal(state, key, code),
    };
    if !is_recorded && !has_begun {
        return response;
    }
    entry.record.at = state.engine.audit().now();
    entry.record.outcome = refusal.map_or(OK, |code| code.as_str()).to_owned();
    match state.engine.audit().add(entry).await {
        Err(error) if has_begun || refusal.is_some() => {
            tracing::error!(?error, "what came of a change is missing in the audit log");
            response
        }
        Err(error) => Problem::from(error).into_response(),
        Ok(()) => response,
    }
}

/// What is known of a request before it is processed.
async fn entry(state: &ApiState, action: &str, request: Request) -> (Request, NewAuditEntry) {
    let (mut head, body) = request.into_parts();
    let address = head.extensions.get::<ClientAddress>().map(|ClientAddress(address)| address.to_canonical());
    let request_id = head.extensions.get::<RequestId>().map(|id| id.as_str().to_owned());
    let key = head.extensions.get::<Authorization>().and_then(Authorization::key_id);
    let actor = key.map_or_else(|| "token".to_owned(), |key| key.to_string());
    let mut entry = state.engine.audit().entry(
        actor,
        address.as_ref().map(IpAddr::to_string).unwrap_or_default(),
        action.to_owned(),
        request_id.unwrap_or_default(),
    );
    if let Ok(parameters) = RawPathParams::from_request_parts(&mut head, &()).await {
        for (name, value) in parameters.iter().filter(|(name, _)| RECORDED_PARAMETERS.contains(name)) {
            let value: String = value.chars().take(MAX_VALUE_CHARS).collect();
            entry.details.insert(name.to_owned(), value.into());
        }
    }
    (Request::from_parts(head, body), entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router;

    #[test]
    fn operations_that_are_named_exist() {
        let paths = router::openapi().paths.paths;
        let operations = paths.into_values().flat_map(|item| [item.post, item.put, item.patch, item.delete]);
        let known: Vec<_> = operations.flatten().filter_map(|operation| operation.operation_id).collect();
        for id in IN_ITS_COMMIT.iter().chain(&CHANGES_NOTHING) {
            assert!(known.iter().any(|known| known == id), "{id}");
        }
    }
}
