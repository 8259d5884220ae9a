//! Properties of an endpoint, known before its handler runs.

use std::sync::Arc;

use crate::access::Access;

/// An endpoint. A request extension after authentication.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The required access of a key. `None`: no requirement.
    pub(crate) access: Option<Access>,
    pub(crate) audit: Audit,
    /// Its requests wait for a mint, and take separate places.
    pub(crate) waits_for_mint: bool,
    pub(crate) takes_body: bool,
    pub(crate) operation_id: Arc<str>,
}

/// What a request changes, and when it is recorded in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audit {
    /// Changes nothing. Recorded only if the client is refused for lack of rights.
    Nothing,
    /// Changes an operation: the entry is in the transaction of the change. If nothing is committed, the entry is on
    /// disk before the response.
    Once,
    /// Changes something else: before that, its handler calls [`begin`](crate::audit::begin), which writes `begun` to
    /// disk. The outcome is on disk before the response.
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
