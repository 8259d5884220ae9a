//! One look-up: queries relays for a user's profile and follows the user's relay list.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use nostr::{Event, PublicKey};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep_until};

use super::newest_events::{NewestEvents, PROFILE, ProfileUpdate};
use super::one_shot_query::OneShotQueries;
use super::profile_content::ProfileContent;
use super::relay_list_event::{RELAY_LIST, write_relays};
use crate::options::CREATED_AT_TOLERANCE;
use crate::query::{Query, QueryReply};
use crate::relay_address::RelayAddress;
use crate::relay_pool::RelayPool;
use crate::relays_in_use::Bounds;
use usher_nostr_connection::address_guard::AddressSource;

/// Most of our own relays queried, in their order.
const OUR_RELAYS: usize = 8;

/// Most relays queried that the user named, in a handshake or a relay list.
const THEIR_RELAYS: usize = 8;

pub(crate) struct ProfileSearcher {
    pool: Arc<RelayPool>,
    permits: Arc<Semaphore>,
    within: Duration,
    /// How long to wait for other relays after the last event, once a profile is found and one of the user's relays has
    /// responded.
    settle: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) profile: Option<(Event, ProfileContent)>,
    pub(crate) relay_list: Option<Event>,
    /// How many relays have sent `EOSE`.
    pub(crate) answered: usize,
}

struct QueriedRelay {
    address: RelayAddress,
    named: Named,
    ended: bool,
    answered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    No,
    /// Named by the user in a handshake.
    Told,
    /// From the user's relay list.
    Listed,
}

struct Search<'a> {
    searcher: &'a ProfileSearcher,
    key: PublicKey,
    deadline: Instant,
    relays: Vec<QueriedRelay>,
    one_shot_queries: FuturesUnordered<BoxFuture<'static, ()>>,
    replies: mpsc::UnboundedSender<QueryReply>,
}

impl ProfileSearcher {
    pub(crate) fn new(pool: Arc<RelayPool>, one_shot_queries: usize, within: Duration, settle: Duration) -> Self {
        Self { pool, permits: Arc::new(Semaphore::new(one_shot_queries)), within, settle }
    }

    /// Searches for `key` at our relays, at those that the user named, and at those of the user's relay list.
    pub(crate) async fn everywhere(&self, key: PublicKey, told: &[String]) -> Found {
        self.search(key, Some(told)).await
    }

    /// Searches for `key` at our relays only.
    pub(crate) async fn at_ours(&self, key: PublicKey) -> Found {
        self.search(key, None).await
    }

    async fn search(&self, key: PublicKey, told: Option<&[String]>) -> Found {
        let not_after = self.pool.shared.clock.now().plus(CREATED_AT_TOLERANCE).secs();
        let mut newest = NewestEvents::new(key, not_after);
        let (replies, mut heard) = mpsc::unbounded_channel();
        let deadline = Instant::now() + self.within;
        let mut search = Search {
            searcher: self,
            key,
            deadline,
            relays: Vec::new(),
            one_shot_queries: FuturesUnordered::new(),
            replies,
        };
        for handle in self.pool.handles().iter().take(OUR_RELAYS) {
            search.ask(handle.address.clone(), Named::No);
        }
        search.ask_theirs(told.unwrap_or_default(), Named::Told);
        let mut news_at = Instant::now();
        while let Some(patience) = search.patience(newest.profile().is_some(), news_at) {
            tokio::select! {
                Some(reply) = heard.recv() => match reply {
                    QueryReply::Event(json) => {
                        let update = newest.take(&json);
                        if update != ProfileUpdate::Nothing {
                            news_at = Instant::now();
                        }
                        if update == ProfileUpdate::RelayList && told.is_some() {
                            let theirs = newest.relay_list().map(|list| write_relays(list, Bounds::USUAL.per_user));
                            search.ask_theirs(&theirs.unwrap_or_default(), Named::Listed);
                        }
                    }
                    QueryReply::End { relay, answered } => {
                        search.ended(relay, answered);
                        news_at = Instant::now();
                    }
                },
                Some(()) = search.one_shot_queries.next() => {}
                () = sleep_until(patience) => break,
            }
        }
        let answered = search.relays.iter().filter(|relay| relay.answered).count();
        let (profile, relay_list) = newest.into_parts();
        Found { profile, relay_list, answered }
    }
}

impl Search<'_> {
    /// Until when to wait; `None` when every relay has ended. The newest profile is at the relays of the user's list,
    /// or else at those that the user named: waits for one of them, and only briefly for others.
    fn patience(&self, found: bool, news_at: Instant) -> Option<Instant> {
        if self.relays.iter().all(|relay| relay.ended) {
            return None;
        }
        let best = self.relays.iter().map(|relay| relay.named).max();
        let home = best == Some(Named::No) || self.relays.iter().any(|r| Some(r.named) == best && r.answered);
        let settled = news_at + self.searcher.settle;
        Some(if found && home { settled.min(self.deadline) } else { self.deadline })
    }

    fn ended(&mut self, relay: usize, answered: bool) {
        if let Some(relay) = self.relays.get_mut(relay) {
            relay.ended = true;
            relay.answered = answered;
        }
    }

    /// Queries relays that a user named: untrusted input.
    fn ask_theirs(&mut self, texts: &[String], named: Named) {
        for text in texts.iter().take(Bounds::USUAL.per_user) {
            let Ok(address) = RelayAddress::parse(text) else { continue };
            if let Some(asked) = self.relays.iter_mut().find(|asked| asked.address == address) {
                asked.named = asked.named.max(named);
            } else if self.relays.iter().filter(|asked| asked.named > Named::No).count() < THEIR_RELAYS {
                self.ask(address, named);
            }
        }
    }

    /// Sends the query over an existing connection, or else a new one.
    fn ask(&mut self, address: RelayAddress, named: Named) {
        let shared = &self.searcher.pool.shared;
        let kinds = [PROFILE, RELAY_LIST];
        let number = self.relays.len();
        let query = Query::new(number, self.key, &kinds, self.deadline, self.replies.clone());
        if let Some(handle) = self.searcher.pool.handle_to(&address) {
            handle.send_query(query);
        } else if named > Named::No
            && (shared.options.allow_private || RelayAddress::parse_from_user(address.as_str()).is_ok())
        {
            let one_shot = OneShotQueries {
                source: if shared.options.allow_private { AddressSource::Operator } else { AddressSource::User },
                timing: shared.options.connection.clone(),
                tls: shared.options.tls.clone(),
                permits: Arc::clone(&self.searcher.permits),
            };
            self.one_shot_queries.push(Box::pin(one_shot.run(address.clone(), query)));
        }
        // A query dropped here reports its own end.
        self.relays.push(QueriedRelay { address, named, ended: false, answered: false });
    }
}
