//! What is known of an endpoint before a request reaches its handler.

use std::sync::Arc;

use crate::access::Access;

/// An endpoint. A request extension, from authentication on.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// What a key needs for it; `None`: nothing.
    pub(crate) access: Option<Access>,
    pub(crate) audit: Audit,
    /// Its requests wait for a mint, and have other places than changes.
    pub(crate) waits_for_mint: bool,
    /// Its handler reads the body.
    pub(crate) takes_body: bool,
    /// Its `operationId` in the OpenAPI document.
    pub(crate) operation_id: Arc<str>,
}

/// What a request to an endpoint changes, by when it is recorded in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audit {
    /// It changes nothing, and has no entry, unless it is refused because of what the client may do.
    Nothing,
    /// It changes an operation: the entry is in the transaction of the change. If nothing is committed, it is on disk before the
    /// response.
    Once,
    /// It changes something else: its handler calls [`begin`](crate::audit::begin) before that, which puts `begun` on disk, and what
    /// came of it is there before the response.
    BeforeAndAfter,
}

/// The name of an endpoint in the OpenAPI document and the audit log: `streamAllEvents` for the handler `stream_all_events`.
pub(crate) fn operation_id(handler: &str) -> String {
    let mut id = String::with_capacity(handler.len());
    for (index, word) in handler.split('_').enumerate() {
        match word.split_at_checked(1) {
            Some((first, rest)) if index > 0 => id.push_str(&(first.to_uppercase() + rest)),
            _ => id.push_str(word),
        }
    }
    id
}
