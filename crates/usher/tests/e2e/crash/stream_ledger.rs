//! The record of what was acknowledged and read, which a crash must not change.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use parking_lot::Mutex;
use usher_protocol::PublicKey;

use crate::harness::{Api, CallError, Event};

/// What a stream is for, and so which events it may have.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A handshake; who was to open it, if anybody.
    Handshake(Option<PublicKey>),
    /// An authentication of this user, whose wallet answers with this status, if at all.
    Authentication(PublicKey, Option<&'static str>),
}

#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) kind: Kind,
    pub(super) events: Vec<Event>,
    pub(super) done: bool,
}

/// Streams by id.
#[derive(Default)]
pub(super) struct Ledger(Mutex<BTreeMap<String, Record>>);

impl Ledger {
    /// A start call was answered.
    pub(super) fn acknowledged(&self, stream: &str, kind: Kind) {
        let record = Record { kind, events: Vec::new(), done: false };
        assert!(self.0.lock().insert(stream.to_owned(), record).is_none(), "{stream} was given twice");
    }

    /// Events were read, the first of them at `after`: what was read before must be the same.
    pub(super) fn read(&self, stream: &str, after: u64, events: &[Event], done: bool) {
        let mut records = self.0.lock();
        let record = records.get_mut(stream).expect("it was acknowledged");
        for event in events {
            match record.events.get(usize::try_from(event.index).unwrap()) {
                Some(known) => assert_eq!(known, event, "an event of {stream} has changed"),
                None => {
                    assert_eq!(event.index, record.events.len() as u64, "{stream}: a gap");
                    assert!(!record.done, "{stream} was done, and yet: {event:?}");
                    record.events.push(event.clone());
                }
            }
        }
        let read_to = after + events.len() as u64;
        assert!(!done || read_to == record.events.len() as u64, "{stream} lost events: {record:?}");
        record.done |= done;
    }

    pub(super) fn streams(&self) -> Vec<(String, Record)> {
        self.0.lock().iter().map(|(stream, record)| (stream.clone(), record.clone())).collect()
    }

    /// Reads streams from their beginning: those that are open, and of those that are done the part `of_done`. Each must
    /// be there, with all that was read of it.
    pub(super) async fn audit(&self, api: &Api, of_done: f64) {
        let chosen = self.streams().into_iter().filter(|(_, record)| !record.done || rand::random_bool(of_done));
        let audits = chosen.map(|(stream, before)| async move {
            match api.try_events(&stream, 0, 0).await {
                Ok(page) => {
                    assert!(page.events.len() >= before.events.len(), "{stream} lost events: {before:?}");
                    assert!(page.done || !before.done, "{stream} was done and no longer is");
                    self.read(&stream, 0, &page.events, page.done);
                }
                Err(CallError::Status(404, _)) => panic!("{stream} was acknowledged, and is lost: {before:?}"),
                Err(error) => panic!("{stream} cannot be read: {error:?}"),
            }
        });
        futures_util::stream::iter(audits).for_each_concurrent(16, |audit| audit).await;
    }

    /// Checks the final events of all streams, and counts them.
    pub(super) fn judge(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (stream, record) in self.streams() {
            let Record { kind, events, done } = &record;
            let said: Vec<_> = events.iter().map(|event| (event.kind.as_str(), event.status())).collect();
            let what = match (kind, &said[..]) {
                (Kind::Handshake(Some(user)), [("KeyHandshake", "")]) => {
                    assert_eq!(events[0].main_key(), user.to_hex(), "{stream}: of somebody else");
                    "handshake"
                }
                (Kind::Handshake(_), [("StatusUpdate", "timeout")]) => "handshake timeout",
                (Kind::Authentication(user, Some(answer)), [("StatusUpdate", status)]) if status == answer => {
                    assert_eq!(events[0].main_key(), user.to_hex(), "{stream}: of somebody else");
                    answer
                }
                (Kind::Authentication(..), [("StatusUpdate", "timeout")]) => "authentication timeout",
                _ => panic!("{stream} must not say this: {record:?}"),
            };
            assert!(done, "{stream} has not ended");
            *counts.entry(what.to_owned()).or_default() += 1;
        }
        counts
    }
}
