//! `GET /audit`

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use usher_engine::audit::AuditHead;
use usher_engine::ports::AuditEntry;
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, Type};

use crate::ApiState;
use crate::paging::{Cursor, PageQuery};
use crate::problem::Problem;
use crate::query::Parameters;

/// The number of the last entry of a page.
#[derive(Debug)]
pub(crate) struct LastEntry(u64);

impl FromStr for LastEntry {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_number = (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { text.parse().map(Self).map_err(|_| ()) } else { Err(()) }
    }
}

impl Cursor for LastEntry {
    fn schema() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[0-9]{1,19}$"))
    }
}

/// Who changed what.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditLog)]
pub(crate) struct List {
    /// The entries, the oldest first.
    entries: Vec<Entry>,
    /// The newest entry of the log: note it elsewhere; `usher audit verify --head` compares. `null`: the log is empty.
    #[schema(example = "4711:5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592")]
    head: Option<String>,
    /// The `after` for the next page; `null` if this is the last one.
    #[schema(example = json!(null))]
    next: Option<String>,
}

/// An entry of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEntry, example = json!({
    "sequence": 4711,
    "at": 1732137600,
    "actor": "token",
    "address": "203.0.113.7",
    "action": "requestPayment",
    "details": { "stream_id": "01934b2f-0000-7000-8000-000000000000", "amount_millisats": "10000" },
    "outcome": "ok",
    "request_id": "b1d5781111d84f7b3fe45a0852e59758",
    "hash": "5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592",
}))]
pub(crate) struct Entry {
    /// Its number, from 1 without gaps.
    sequence: u64,
    /// When, in Unix seconds.
    at: u64,
    /// Who: `token`, or the id of a key.
    actor: String,
    /// The address of the connection; empty if unknown.
    address: String,
    /// What was done: an `operationId` of this document.
    action: String,
    /// On what: `stream_id`, `amount_millisats`, and others, as text.
    details: BTreeMap<String, String>,
    /// What came of it: `ok`, `begun` (the entry with what came of it follows), or the `code` of an error.
    outcome: String,
    /// The `X-Request-Id` of the request.
    request_id: String,
    /// The hash that chains it to the entries before it, in hex.
    hash: String,
}

impl From<AuditEntry> for Entry {
    fn from(AuditEntry { sequence, record, hash }: AuditEntry) -> Self {
        Self {
            sequence,
            at: record.at.secs(),
            actor: record.actor,
            address: record.address,
            action: record.action,
            details: details(&record.details),
            outcome: record.outcome,
            request_id: record.request_id,
            hash: hex::encode(hash),
        }
    }
}

/// Those of a damaged entry are shown as empty; verification names it.
fn details(text: &str) -> BTreeMap<String, String> {
    let details: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let as_text = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    details.into_iter().map(|(name, value)| (name, as_text(value))).collect()
}

/// Lists who changed what: the audit log.
///
/// Each change that a client makes is an entry, in the same transaction as the change, and so is each request that was refused because
/// of what the client may do or spend. An entry has no secret and names no user. `usher audit verify` shows whether entries were changed
/// or removed.
#[utoipa::path(
    get,
    path = "/audit",
    params(PageQuery<LastEntry>),
    responses(
        (status = 200, description = "The entries.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_audit_entries(
    State(state): State<ApiState>,
    Parameters(PageQuery { after, limit }): Parameters<PageQuery<LastEntry>>,
) -> Result<Json<List>, Problem> {
    let log = state.engine.audit();
    let entries = log.entries(after.map_or(0, |LastEntry(after)| after), limit).await?;
    let head = log.head().await?;
    let is_followed = |entry: &&AuditEntry| head.as_ref().is_some_and(|head| head.sequence > entry.sequence);
    let next = entries.last().filter(is_followed).map(|last| last.sequence.to_string());
    let head = head.as_ref().map(AuditHead::to_string);
    Ok(Json(List { entries: entries.into_iter().map(Entry::from).collect(), head, next }))
}
