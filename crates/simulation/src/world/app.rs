//! The app and its operator: their requests, the responses, and their webhook.

mod actions;

use std::collections::BTreeMap;

use usher_engine::StreamId;

use super::action::{AppRequest, Call};

#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) stream: StreamId,
    pub(crate) what: AppRequest,
}

#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// Until when it fails, in milliseconds since the beginning.
    pub(crate) fails_until: u64,
    /// When each event was accepted, the last few times.
    accepted: BTreeMap<(StreamId, u64), Vec<u64>>,
    /// When each event was posted first since it became pending.
    pub(crate) first_posts: BTreeMap<(StreamId, u64), u64>,
}

#[derive(Debug, Default)]
pub(crate) struct App {
    /// Requests without a response yet.
    pub(crate) pending: BTreeMap<u64, Call>,
    /// When each request was made first, in Unix seconds.
    pub(crate) begun: BTreeMap<u64, u64>,
    /// Requests whose response was a stream.
    pub(crate) acknowledged: BTreeMap<u64, Acknowledged>,
    pub(crate) receiver: Receiver,
}
