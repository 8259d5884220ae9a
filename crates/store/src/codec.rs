//! Encoding of values in columns, the same for all engines.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use usher_engine::event::{Event, EventType};
use usher_engine::ports::{CorrelationKey, OperationKind, StoreError};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::PublicKey;

/// Stored data that cannot be interpreted, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) &'static str);

impl From<Unreadable> for StoreError {
    fn from(Unreadable(what): Unreadable) -> Self {
        Self::Unreadable(what)
    }
}

/// The latest plausible time, in Unix milliseconds: the end of the year 9999. Later ones are damage.
pub(crate) const LATEST_TIME: u64 = 253_402_300_799_999;

/// How often relays in use are recorded as such, to limit writes.
pub(crate) const RELAYS_NOTED_EVERY: Duration = Duration::from_secs(24 * 3600);

const LARGEST_NUMBER: u64 = 1 << 48;

/// Most events of one commit: a step handles at most 256 inputs, with few events each.
const EVENTS_PER_COMMIT: u64 = 1024;

/// A number for a column. Database integers end at 2^63-1: a larger time (292 million years) is capped, and revisions,
/// indexes and row counts never get there.
pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn time(at: UnixMillis) -> i64 {
    integer(at.0)
}

/// An amount for a column; `None` if it is too large.
pub(crate) fn amount(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

pub(crate) fn check_revision(revision: u64) -> Result<(), Unreadable> {
    if is_plausible_revision(revision) { Ok(()) } else { Err(Unreadable("the revision of a job of the ticket wallet")) }
}

fn is_plausible_revision(revision: u64) -> bool {
    (1..=LARGEST_NUMBER).contains(&revision)
}

/// Checks that an operation of this revision can have this many events.
pub(crate) fn check_numbers(revision: u64, next_index: u64) -> Result<(), Unreadable> {
    if is_plausible_revision(revision) && next_index <= revision.saturating_mul(EVENTS_PER_COMMIT) {
        Ok(())
    } else {
        Err(Unreadable("an operation's revision and number of events"))
    }
}

/// Whether this number of events is plausible for an unknown revision.
pub(crate) fn is_plausible_count(next_index: u64) -> bool {
    next_index <= LARGEST_NUMBER
}

pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// A value for `LIMIT`. (A negative one would mean no limit, and sums with the largest number would overflow a column.)
pub(crate) fn limit(limit: usize) -> i64 {
    const MOST: i64 = 1 << 40;
    i64::try_from(limit).unwrap_or(MOST).min(MOST)
}

/// Of a list with the newest first: the first time, and the position before which it is, of `before` and of the end `to`. One
/// bound: SQLite uses no second one of an index.
pub(crate) fn newest_between(
    from: Option<UnixMillis>,
    to: Option<UnixMillis>,
    before: Option<(UnixMillis, StreamId)>,
) -> (i64, i64, [u8; 16]) {
    let end = to.map_or(i64::MAX, time);
    let before = before.map(|(at, id)| (time(at), *id.as_bytes())).filter(|(at, _)| *at < end);
    let (at, id) = before.unwrap_or((end, [0; 16]));
    (time(from.unwrap_or_default()), at, id)
}

/// The stream after which reading starts; by default a value that sorts before all ids, also the reserved all-zero id.
pub(crate) fn after_stream(after: Option<&StreamId>) -> &[u8] {
    after.map_or(&[][..], |id| &id.as_bytes()[..])
}

/// A value that sorts after all ids.
pub(crate) const AFTER_IDS: [u8; 17] = [0xFF; 17];

/// Public keys, concatenated.
pub(crate) fn write_public_keys(keys: &[PublicKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| *key.as_bytes()).collect()
}

/// Reads the output of [`write_public_keys`].
pub(crate) fn read_public_keys(bytes: &[u8]) -> Result<Vec<PublicKey>, Unreadable> {
    let (keys, rest) = bytes.as_chunks::<32>();
    if !rest.is_empty() {
        return Err(Unreadable("public keys of an outgoing message"));
    }
    Ok(keys.iter().map(|key| PublicKey::from_byte_array(*key)).collect())
}

/// Correlation keys, concatenated.
pub(crate) fn write_correlations(keys: &[CorrelationKey]) -> Vec<u8> {
    keys.iter().flat_map(|key| *key.as_bytes()).collect()
}

/// Reads the output of [`write_correlations`].
pub(crate) fn read_correlations(bytes: &[u8]) -> Result<Vec<CorrelationKey>, Unreadable> {
    let (keys, rest) = bytes.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(Unreadable("correlation keys of an operation"));
    }
    Ok(keys.iter().map(|key| CorrelationKey::from_bytes(*key)).collect())
}

pub(crate) fn event(index: u64, event_type: &str, at: UnixMillis, data: Arc<str>) -> Result<Event, Unreadable> {
    // It is copied into responses and webhooks without being parsed again.
    if !data.starts_with('{') || !is_json(&data) {
        return Err(Unreadable("an event's data"));
    }
    let event_type = EventType::parse(event_type).ok_or(Unreadable("an event type"))?;
    Ok(Event { index, event_type, timestamp: at.secs(), data })
}

pub(crate) fn kind(code: u8) -> Result<OperationKind, Unreadable> {
    OperationKind::from_code(code).ok_or(Unreadable("an operation's kind"))
}

pub(crate) fn relays(json: &str) -> Result<Vec<String>, Unreadable> {
    serde_json::from_str(json).map_err(|_| Unreadable("a user's relays"))
}

pub(crate) fn write_relays(relays: &[String]) -> String {
    serde_json::Value::from(relays).to_string()
}
