//! The audit log: which requests have an entry, and its content. Both follow from the route ([`Audit`]): no endpoint
//! writes an entry. A request that is refused for lack of rights or budget has an entry; one that fails for another
//! reason without a change has none.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::response::{IntoResponse as _, Response};
use http::Extensions;
use http::request::Parts;
use url::Url;
use usher_engine::PendingAudit;
use usher_engine::ports::{KeyId, NewAuditEntry, StoreError};
use usher_token_bucket::Rate;

use crate::ApiState;
use crate::auth::{Authorization, RefusedClient};
use crate::idempotency::IDEMPOTENCY_REPLAYED;
use crate::peer_address::ClientAddress;
use crate::problem::{ErrorCode, Problem};
use crate::request_id::RequestId;
use crate::route::{Audit, Route};

/// The outcome of a successful request.
const OK: &str = "ok";

/// The outcome of an entry that precedes its change.
const BEGUN: &str = "begun";

/// Refusals for lack of rights or budget.
const RECORDED_REFUSALS: [ErrorCode; 8] = [
    ErrorCode::BudgetNotCounted,
    ErrorCode::BudgetExhausted,
    ErrorCode::ScopeMissing,
    ErrorCode::NetworkNotAllowed,
    ErrorCode::OwnStreamsOnly,
    ErrorCode::OwnRequest,
    ErrorCode::RoleNotAllowed,
    ErrorCode::TokenRequired,
];

/// The limit on recorded refusals of a key.
const RECORDED_RATE: Rate = Rate::every(10, Duration::from_secs(1));

/// Path parameters that identify the subject of a request and name no user.
const RECORDED_PARAMETERS: [&str; 6] = ["stream_id", "session_id", "key_id", "id", "channel_id", "kid"];

/// The longest id in hex: a delivery's. A public key is longer.
const MAX_ID_LENGTH: usize = 60;

/// The longest recorded server URL, in bytes.
const MAX_SERVER_LENGTH: usize = 256;

/// The entry of a request that is being processed.
pub(crate) struct Recording {
    audit: Audit,
    key: Option<KeyId>,
    entry: NewAuditEntry,
    /// The entry, until it is on disk.
    pending: Arc<PendingAudit>,
}

impl Recording {
    /// The recording of a request to this endpoint.
    pub(crate) async fn start(state: &ApiState, route: &Route, head: &mut Parts) -> Self {
        let mut entry = entry(state, &route.operation_id, head).await;
        if route.audit == Audit::BeforeAndAfter {
            BEGUN.clone_into(&mut entry.record.outcome);
        }
        let pending = Arc::new(PendingAudit::default());
        pending.set(entry.clone());
        Self { audit: route.audit, key: client_of(&head.extensions), entry, pending }
    }

    pub(crate) async fn scope(&self, handling: impl Future<Output = Response>) -> Response {
        Arc::clone(&self.pending).scope(handling).await
    }

    /// Records the outcome, if it is not in the log yet, and returns the response.
    pub(crate) async fn end(mut self, state: &ApiState, response: Response) -> Response {
        let is_on_disk = self.pending.take().is_none();
        let has_begun = is_on_disk && self.audit == Audit::BeforeAndAfter;
        if is_on_disk && !has_begun {
            return response;
        }
        let refusal = response.extensions().get::<Problem>().map(Problem::code);
        let is_replay = response.headers().contains_key(IDEMPOTENCY_REPLAYED);
        let is_recorded = match refusal {
            None => response.status().is_success() && !is_replay,
            Some(code) => !has_begun && is_recorded_refusal(state, self.key, code),
        };
        if !is_recorded && !has_begun {
            return response;
        }
        debug_assert!(
            has_begun || refusal.is_some() || self.audit == Audit::Once,
            "a change was made before it was recorded"
        );
        self.entry.details.extend(self.pending.details());
        self.entry.record.at = state.engine.audit().now();
        self.entry.record.outcome = refusal.map_or(OK, |code| code.as_str()).to_owned();
        match state.engine.audit().add(self.entry).await {
            Err(error) if has_begun || refusal.is_some() => {
                tracing::error!(?error, "what came of a change is missing in the audit log");
                response
            }
            Err(error) => Problem::from(error).into_response(),
            Ok(()) => response,
        }
    }
}

/// Records the refusal of a request before its processing, if such refusals are recorded. Reads are included.
pub(crate) async fn record_refusal(state: &ApiState, request: Request, code: ErrorCode) {
    let action = request.extensions().get::<Route>().map(|route| Arc::clone(&route.operation_id));
    let (mut head, _) = request.into_parts();
    record_refused(state, action.as_deref().unwrap_or("-"), &mut head, code).await;
}

async fn record_refused(state: &ApiState, action: &str, head: &mut Parts, code: ErrorCode) {
    if !is_recorded_refusal(state, client_of(&head.extensions), code) {
        return;
    }
    let mut entry = entry(state, action, head).await;
    code.as_str().clone_into(&mut entry.record.outcome);
    if let Err(error) = state.engine.audit().add(entry).await {
        tracing::error!(?error, "a refused request is missing in the audit log");
    }
}

pub(crate) async fn record_refused_command(
    state: &ApiState,
    command: &str,
    client: Authorization,
    address: Option<ClientAddress>,
    code: ErrorCode,
) {
    let (mut head, ()) = http::Request::new(()).into_parts();
    head.extensions.insert(client);
    if let Some(address) = address {
        head.extensions.insert(address);
    }
    record_refused(state, command, &mut head, code).await;
}

/// Whether a refusal is recorded. Limited for a key: a leaked one without rights could fill the disk.
fn is_recorded_refusal(state: &ApiState, key: Option<KeyId>, code: ErrorCode) -> bool {
    let is_in_time = |key| state.recorded_refusals.admits(key, RECORDED_RATE, state.clock.now());
    RECORDED_REFUSALS.contains(&code) && key.is_none_or(is_in_time)
}

/// Before a change that is no commit of an operation ([`Audit::BeforeAndAfter`]), writes its entry to disk.
///
/// # Errors
/// The entry cannot be stored. The caller must not make the change.
pub(crate) async fn begin(state: &ApiState) -> Result<(), StoreError> {
    let pending = PendingAudit::current();
    let entry = pending.and_then(|pending| pending.take_if(|entry| entry.record.outcome == BEGUN));
    match entry {
        Some(entry) => state.engine.audit().add(entry).await,
        None => Ok(()),
    }
}

/// The content of an entry that is known before processing.
async fn entry(state: &ApiState, action: &str, head: &mut Parts) -> NewAuditEntry {
    let address = head.extensions.get::<ClientAddress>().map(|ClientAddress(address)| address.to_canonical());
    let request_id = head.extensions.get::<RequestId>().map(|id| id.as_str().to_owned());
    let actor = authorization_of(&head.extensions).map_or_else(|| "token".to_owned(), Authorization::actor);
    let mut entry = state.engine.audit().entry(
        actor,
        address.as_ref().map(IpAddr::to_string).unwrap_or_default(),
        action.to_owned(),
        request_id.unwrap_or_default(),
    );
    if let Ok(parameters) = RawPathParams::from_request_parts(head, &()).await {
        for (name, value) in parameters.iter().filter(|(name, _)| RECORDED_PARAMETERS.contains(name)) {
            if is_id(value) {
                entry.details.insert(name.to_owned(), value.into());
            }
        }
    }
    entry
}

/// The key of the request; `None` for the token.
fn client_of(extensions: &Extensions) -> Option<KeyId> {
    authorization_of(extensions).and_then(Authorization::key_id)
}

fn authorization_of(extensions: &Extensions) -> Option<&Authorization> {
    let refused = || extensions.get::<RefusedClient>().map(|RefusedClient(client)| client);
    extensions.get::<Authorization>().or_else(refused)
}

/// Whether a path segment looks like one of our ids: a UUID, with or without the index of an event, a channel's number
/// in hex, or a signing key's SHA-256 in Base64url. Any other segment may be a secret, or name a user.
fn is_id(value: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b':');
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match value.len() {
        43 => value.bytes().all(is_base64url),
        length => length <= MAX_ID_LENGTH && value.bytes().all(is_hex),
    }
}

/// Adds the server that the request concerns to the current entry, without parts of its URL that may be secret.
pub(crate) fn add_server(name: &str, url: &str) {
    if let Some(server) = server(url) {
        PendingAudit::add_detail(name, server);
    }
}

/// Scheme, host, port and path of a URL.
fn server(url: &str) -> Option<String> {
    let mut url = Url::parse(url).ok().filter(Url::has_host)?;
    url.set_username("").and_then(|()| url.set_password(None)).ok()?;
    url.set_query(None);
    url.set_fragment(None);
    let text = url.to_string();
    (text.len() <= MAX_SERVER_LENGTH).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_are_recorded_of_a_path() {
        let kid = "q1XGoE7HVpFvgzSe4q3ZMKsUDBVGqjJgyUwRYBa2P-o";
        for id in ["01a21c32-d420-7199-b2d9-fa0c99bb71a5:12", "01a21c32-d420-7199-b2d9-fa0c99bb71a5", "0af3", kid] {
            assert!(is_id(id), "{id}");
        }
        let secret = format!("usher_live_{}", "a".repeat(50));
        for other in [&secret, "alice@example.com", &"ab".repeat(32), "npub1xyz", "\u{9b}2J", "a b"] {
            assert!(!is_id(other), "{other}");
        }
    }

    #[test]
    fn of_a_server_no_secret_is_recorded() {
        let recorded = |url| server(url).unwrap_or_default();
        assert_eq!(recorded("wss://me:pass@relay.example:7777/inbox?token=x#y"), "wss://relay.example:7777/inbox");
        assert_eq!(recorded("https://mint.example"), "https://mint.example/");
        assert_eq!(recorded("usher_live_x"), "");
        assert_eq!(recorded(&format!("wss://relay.example/{}", "x".repeat(300))), "");
    }
}
