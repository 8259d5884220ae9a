//! What is kept of a user, found as the erasure of a user finds it (`kernel/user_erasure.rs`): streams are not indexed by
//! key, so all are searched, in batches and for a bounded time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use usher_protocol::PublicKey;

use crate::kernel::core::Core;
use crate::kernel::user_erasure::{BATCH, SearchedUntil, user_of};
use crate::ports::{LoginFilter, LoginSubject, StoreError, StoredOperation, UserRecords};
use crate::registry::Operation;
use crate::{Requester, StreamId, UnixMillis};

/// Time limit of one call's search, after which it completes the current batch.
const SEARCH_TIME: Duration = Duration::from_millis(500);

/// Most streams found by one call, after which it completes the current batch.
const MOST_FOUND: usize = 10_000;

/// What is kept of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserView {
    /// The first and the last time in what was found.
    pub seen: Option<(UnixMillis, UnixMillis)>,
    /// The streams of their logins, handshakes and authentications.
    pub logins: BTreeSet<StreamId>,
    /// The streams of payments and refunds.
    pub payments: BTreeSet<StreamId>,
    /// The ids of subscriptions.
    pub subscriptions: BTreeMap<StreamId, String>,
    /// What is stored under their key.
    pub records: UserRecords,
    /// Where the next call continues; `None` if everything was searched.
    pub next: Option<SearchedUntil>,
}

impl UserView {
    pub(crate) async fn read(
        core: &Core,
        main_key: &PublicKey,
        after: Option<SearchedUntil>,
    ) -> Result<Self, StoreError> {
        let mut view = Self { records: core.store.user_records(main_key).await?, ..Self::default() };
        let records = &view.records;
        let times: Vec<_> = records
            .passkeys
            .iter()
            .flat_map(|passkey| [passkey.created_at, passkey.used_at])
            .chain(records.consents.iter().map(|consent| consent.at))
            .chain(records.relays_at)
            .collect();
        times.into_iter().for_each(|at| view.note(at));
        if after.is_none() {
            view.add_ended(core, main_key).await?;
        }
        let (key, began) = (main_key.to_hex(), core.clock.monotonic());
        let (mut next, mut looked_at) = (Some(after.unwrap_or(SearchedUntil::Stream(None))), BTreeSet::new());
        while let Some(after) = next {
            next = view.search(core, main_key, &key, after, &mut looked_at).await?;
            let took: Duration = core.clock.monotonic().saturating_sub(began);
            if took >= SEARCH_TIME || looked_at.len() >= MOST_FOUND || core.tasks.is_stopping() {
                break;
            }
        }
        view.next = next;
        Ok(view)
    }

    /// Adds the records of logins, which stay longer than streams without events: the other streams are found by the search.
    async fn add_ended(&mut self, core: &Core, main_key: &PublicKey) -> Result<(), StoreError> {
        let filter = LoginFilter { of: Some(LoginSubject::User(*main_key)), ..LoginFilter::default() };
        let (mut known, mut after) = (BTreeSet::new(), None);
        while known.len() < MOST_FOUND {
            let (found, next) = core.store.login_records(&Requester::Service, filter, None, after, MOST_FOUND).await?;
            for login in found {
                self.note(login.position.0);
                if known.insert(login.stream_id) && read(core, login.stream_id).await?.is_none() {
                    self.logins.insert(login.stream_id);
                }
            }
            if next.is_none() {
                break;
            }
            after = next;
        }
        Ok(())
    }

    /// Searches the next rows; returns the new position, `None` at the end.
    async fn search(
        &mut self,
        core: &Core,
        main_key: &PublicKey,
        key: &str,
        after: SearchedUntil,
        looked_at: &mut BTreeSet<StreamId>,
    ) -> Result<Option<SearchedUntil>, StoreError> {
        Ok(match after {
            SearchedUntil::Stream(after) => {
                let matches = core.store.streams_with(key, after, BATCH).await?;
                for id in matches.operations {
                    let Some((stored, operation)) = read(core, id).await? else { continue };
                    if operation.is_about(main_key) {
                        looked_at.insert(id);
                        self.note(id.created_at());
                        stored.finished_at.into_iter().for_each(|at| self.note(at));
                        self.add(id, &operation);
                    }
                }
                for found in matches.events {
                    if user_of(&found.data).as_deref() != Some(key) {
                        continue;
                    }
                    self.note(found.at);
                    if looked_at.insert(found.stream)
                        && let Some((_, operation)) = read(core, found.stream).await?
                    {
                        self.add(found.stream, &operation);
                    }
                }
                matches.next.map(|last| SearchedUntil::Stream(Some(last)))
            }
            // Responses to requests only repeat what streams have.
            SearchedUntil::Record(_) => None,
        })
    }

    fn add(&mut self, id: StreamId, operation: &Operation) {
        match operation {
            Operation::KeyHandshake(_) | Operation::Authentication(_) | Operation::Login(_) => {
                self.logins.insert(id);
            }
            Operation::SinglePayment(_)
            | Operation::InvoicePayment(_)
            | Operation::LinkPayment(_)
            | Operation::Refund(_)
            | Operation::HeldPayment(_) => {
                self.payments.insert(id);
            }
            Operation::Subscription(subscription) => {
                self.subscriptions.insert(id, subscription.id().to_owned());
            }
            Operation::OutgoingPayment(_)
            | Operation::InvoiceRequest(_)
            | Operation::RecurringRequest(_)
            | Operation::TicketRequest(_)
            | Operation::TicketDelivery(_)
            | Operation::VerificationSession(_)
            | Operation::PaymentLink(_)
            | Operation::OnChainPayment(_)
            | Operation::WebhookTest(_) => {}
        }
    }

    fn note(&mut self, at: UnixMillis) {
        self.seen = Some(self.seen.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
    }
}

/// An operation; `None` if it was removed meanwhile, is unreadable, or is the reserved stream.
async fn read(core: &Core, id: StreamId) -> Result<Option<(StoredOperation, Operation)>, StoreError> {
    match core.store.operation(&Requester::Service, id).await {
        Ok(stored) => {
            Ok(stored.and_then(|stored| Operation::from_state(&stored.state).ok().map(|read| (stored, read))))
        }
        Err(StoreError::Unreadable(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}
