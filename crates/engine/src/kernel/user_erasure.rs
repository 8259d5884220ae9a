//! Erases a user's stored data.
//!
//! | data | result |
//! | --- | --- |
//! | session with a remote signer, passkeys, records of logins, consents, sessions and tokens of the OpenID Connect provider | removed in one transaction |
//! | finished operations of the user, with their events and deliveries | removed, as after their retention |
//! | the user's relays | removed, unless an operation of theirs is open |
//! | everything else with the user's key | kept, and listed with the reason |
//!
//! Streams are not indexed by key, which would cost every login and payment: all of them are searched, in read-only batches
//! and for a bounded time; the caller continues where the search ended. Each removal is a separate transaction. After a crash, or concurrent
//! erasures of the same user, the next call removes the rest.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use usher_protocol::PublicKey;

use super::core::Core;
use super::event_feed::EventFeed;
use super::idempotency::IdempotencyRecords;
use super::outbox::Outbox;
use crate::ports::{EventMatch, ForgottenUser, IdempotencyKey, OperationKind, StoreError};
use crate::registry::Operation;
use crate::{Requester, StreamId, UnixMillis};

/// Streams or idempotency records read by one search.
pub(crate) const BATCH: usize = 5_000;

/// Events of one stream read at once.
const EVENTS: usize = 500;

/// Time limit of one call's search, after which it completes the current batch.
pub(crate) const SEARCH_TIME: Duration = Duration::from_secs(10);

/// Most kept items listed by one call, after which it completes the current batch.
const MOST_KEPT: usize = 1_000;

pub(crate) struct UserErasure {
    pub(crate) core: Core,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) outbox: Arc<Outbox>,
    /// The retention of finished operations and events.
    pub(crate) retention: Duration,
}

/// What was erased of a user, and what was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedUser {
    /// What was removed under the user's key.
    pub records: ForgottenUser,
    /// Whether the user's relays were removed.
    pub relays: bool,
    /// The number of removed finished operations.
    pub operations: usize,
    /// What contains the user's key and was kept.
    pub kept: Vec<KeptOfUser>,
    /// Where the next call continues; `None` if everything was searched.
    pub next: Option<ErasurePosition>,
}

/// Something that names the user and was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptOfUser {
    /// The reason.
    pub reason: KeptReason,
    /// The operation that it is or belongs to, if any, with its kind if readable.
    pub operation: Option<(StreamId, Option<OperationKind>)>,
    /// Until when it is kept, if known.
    pub until: Option<UnixMillis>,
}

usher_protocol::words! {
    /// Why something with a user's key was kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum KeptReason {
        /// An operation of the user is open.
        Open = "open",
        /// An operation of the user has ended, but money may arrive late.
        LatePayment = "late_payment",
        /// Events of a finished operation of the user are not yet delivered to the app.
        PendingDelivery = "pending_delivery",
        /// A stream has events of the user among those of others.
        SharedStream = "shared_stream",
        /// An operation that is not about the user contains the key: in a text of the app, or as the subkey of another user.
        Mentioned = "mentioned",
        /// An operation contains the key and is unreadable.
        Damaged = "damaged",
        /// The response to a request with an idempotency key contains the key.
        StoredResponse = "stored_response",
        /// The user's relays, because an operation of theirs is open.
        Relays = "relays",
    }
}

/// The position at which the search continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasurePosition {
    /// The last searched row.
    pub after: SearchedUntil,
    /// Whether an open operation of the user was found.
    pub has_open: bool,
}

/// The last searched row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedUntil {
    /// The streams up to this one; `None` at the start.
    Stream(Option<StreamId>),
    /// All streams, and the idempotency records up to this one.
    Record(Option<IdempotencyKey>),
}

struct Search<'a> {
    erasure: &'a UserErasure,
    main_key: PublicKey,
    /// In hex, as in states and events.
    key: String,
    kept: BTreeMap<StreamId, KeptOfUser>,
    /// Until when the last stored response with the key is kept.
    response_until: Option<UnixMillis>,
    removed: usize,
    has_open: bool,
}

impl UserErasure {
    pub(crate) async fn erase(
        &self,
        main_key: &PublicKey,
        position: Option<ErasurePosition>,
    ) -> Result<ErasedUser, StoreError> {
        let store = &self.core.store;
        let began = self.core.clock.monotonic();
        let records = match position {
            None => store.forget_user(main_key).await?,
            Some(_) => ForgottenUser::default(),
        };
        let mut search = Search {
            erasure: self,
            main_key: *main_key,
            key: main_key.to_hex(),
            kept: BTreeMap::new(),
            response_until: None,
            removed: 0,
            has_open: position.is_some_and(|position| position.has_open),
        };
        let mut next = Some(position.map_or(SearchedUntil::Stream(None), |position| position.after));
        while let Some(after) = next {
            next = search.continue_after(after).await?;
            let took = self.core.clock.monotonic().saturating_sub(began);
            if took >= SEARCH_TIME || search.kept.len() >= MOST_KEPT || self.core.tasks.is_stopping() {
                break;
            }
        }
        let Search { kept, response_until, removed, has_open, .. } = search;
        let mut kept: Vec<_> = kept.into_values().collect();
        let others = |reason, until| KeptOfUser { reason, operation: None, until };
        kept.extend(response_until.map(|until| others(KeptReason::StoredResponse, Some(until))));
        let mut relays = false;
        if next.is_none() && has_open {
            kept.extend(self.has_relays(main_key).await?.then(|| others(KeptReason::Relays, None)));
        } else if next.is_none() {
            relays = store.forget_relays_of(main_key).await?;
            self.outbox.forget_user(main_key);
        }
        let next = next.map(|after| ErasurePosition { after, has_open });
        Ok(ErasedUser { records, relays, operations: removed, kept, next })
    }

    async fn has_relays(&self, main_key: &PublicKey) -> Result<bool, StoreError> {
        match self.core.store.user_relays(main_key).await {
            Ok(relays) => Ok(!relays.is_empty()),
            Err(StoreError::Unreadable(_)) => Ok(true),
            Err(failure) => Err(failure),
        }
    }
}

impl Search<'_> {
    /// Searches the next rows; returns the new position, `None` at the end.
    async fn continue_after(&mut self, after: SearchedUntil) -> Result<Option<SearchedUntil>, StoreError> {
        let store = &self.erasure.core.store;
        Ok(Some(match after {
            SearchedUntil::Stream(after) => {
                let matches = store.streams_with(&self.key, after, BATCH).await?;
                // Per stream, the last event about the user, or else the last that mentions them.
                let mut streams: BTreeMap<StreamId, Option<FoundEvent>> =
                    matches.operations.into_iter().map(|id| (id, None)).collect();
                for EventMatch { stream, at, data } in matches.events {
                    let found = FoundEvent { names: user_of(&data).as_ref() == Some(&self.key), at };
                    let last = streams.entry(stream).or_default();
                    *last = Some(last.filter(|last| last.names && !found.names).unwrap_or(found));
                }
                for (id, event) in streams {
                    self.look_at(id, event).await?;
                }
                matches.next.map_or(SearchedUntil::Record(None), |last| SearchedUntil::Stream(Some(last)))
            }
            SearchedUntil::Record(after) => {
                let matches = store.idempotency_records_with(&self.key, after, BATCH).await?;
                let until = matches.found.into_iter().max().map(IdempotencyRecords::kept_until);
                self.response_until = self.response_until.max(until);
                return Ok(matches.next.map(|last| SearchedUntil::Record(Some(last))));
            }
        }))
    }

    /// Removes an operation with the key in its state or in this event, or lists why it is kept.
    async fn look_at(&mut self, id: StreamId, event: Option<FoundEvent>) -> Result<(), StoreError> {
        let stored = match self.erasure.core.store.operation(&Requester::Service, id).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(()),
            Err(StoreError::Unreadable(_)) => {
                self.keep(id, None, KeptReason::Damaged, None);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let operation = Operation::from_state(&stored.state).ok();
        if operation.is_none() && id != StreamId::SUBSCRIPTIONS {
            self.keep(id, None, KeptReason::Damaged, None);
            return Ok(());
        }
        let is_of_user = operation.as_ref().is_some_and(|operation| operation.is_about(&self.main_key));
        let retained = |at: UnixMillis| at.plus(self.erasure.retention);
        let (reason, until) = match stored.finished_at {
            None if is_of_user => {
                self.has_open = true;
                let late_until = operation.filter(|_| stored.done).and_then(|operation| operation.paid_late_until());
                (late_until.map_or(KeptReason::Open, |_| KeptReason::LatePayment), late_until)
            }
            None => {
                let names = event.is_some_and(|event| event.names);
                let reason = if names { KeptReason::SharedStream } else { KeptReason::Mentioned };
                (reason, event.map(|event| retained(event.at)))
            }
            Some(finished_at) => {
                let users = if is_of_user { Users::This } else { self.users_of_events(id).await? };
                match users {
                    Users::This if self.remove(id).await? => return Ok(()),
                    Users::This => (KeptReason::PendingDelivery, None),
                    Users::Several => (KeptReason::SharedStream, Some(retained(finished_at))),
                    Users::Others => (KeptReason::Mentioned, Some(retained(finished_at))),
                }
            }
        };
        self.keep(id, Some(stored.kind), reason, until);
        Ok(())
    }

    /// Whether it is removed, by this call or a concurrent one.
    async fn remove(&mut self, id: StreamId) -> Result<bool, StoreError> {
        let store = &self.erasure.core.store;
        let removed = store.remove_finished_of(vec![id]).await?.len();
        self.removed += removed;
        self.erasure.feed.forget_finished();
        Ok(removed > 0 || store.operation(&Requester::Service, id).await?.is_none())
    }

    /// Only the most important reason is listed.
    fn keep(&mut self, id: StreamId, kind: Option<OperationKind>, reason: KeptReason, until: Option<UnixMillis>) {
        let kept = KeptOfUser { reason, operation: Some((id, kind)), until };
        let known = self.kept.entry(id).or_insert(kept);
        match reason.cmp(&known.reason) {
            Ordering::Less => *known = kept,
            Ordering::Equal => known.until = known.until.max(until),
            Ordering::Greater => {}
        }
    }

    /// The users of the events of a finished operation whose state has no user.
    async fn users_of_events(&self, id: StreamId) -> Result<Users, StoreError> {
        let (mut this, mut others, mut after) = (false, false, 0);
        while !(this && others) {
            let events = match self.erasure.core.store.events(id, after, EVENTS).await {
                Ok(events) => events,
                Err(StoreError::DamagedEvent { index }) => {
                    // It may be about another user.
                    (others, after) = (true, index + 1);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let Some(last) = events.last() else { break };
            after = last.index + 1;
            for user in events.iter().filter_map(|event| user_of(&event.data)) {
                if user == self.key { this = true } else { others = true }
            }
        }
        Ok(match (this, others) {
            (true, false) => Users::This,
            (true, true) => Users::Several,
            (false, _) => Users::Others,
        })
    }
}

#[derive(Clone, Copy)]
struct FoundEvent {
    /// Whether it is about the user, not only mentions the key.
    names: bool,
    at: UnixMillis,
}

enum Users {
    This,
    Several,
    Others,
}

/// The user of an event; all events about a user have this field.
pub(crate) fn user_of(data: &str) -> Option<String> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(data) else { return None };
    match fields.remove("main_key") {
        Some(Value::String(key)) => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
    #[test]
    fn event_is_about_the_user_of_its_field() {
        assert_eq!(user_of(&format!(r#"{{"main_key":"{KEY}","reason":"x"}}"#)).as_deref(), Some(KEY));
        assert_eq!(user_of(&format!(r#"{{"status":"paid","description":"{KEY}"}}"#)), None);
        assert_eq!(user_of(&format!(r#"{{"inner":{{"main_key":"{KEY}"}}}}"#)), None);
        assert_eq!(user_of("damaged"), None);
    }
}
