//! Running jobs and their waiting callers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{Duration, Instant};
use usher_engine::ports::{MintAuthToken, TicketJobId};
use usher_engine::{Origin, UnixMillis};

use crate::job_failure::{Failure, Refusal};
use crate::stored_job::Ending;

/// At the limit of all jobs, a mint can still start one if its parked jobs are fewer than this fraction of the limit.
const FAIR: usize = 64;

/// The fraction of all jobs that one API key may have, because jobs at unresponsive mints stay.
const PART_OF_KEY: usize = 4;

#[derive(Clone)]
pub(crate) enum Progress {
    /// It runs; with the failure of the last attempt.
    Working(Option<Failure>),
    /// The mint waits for the payment of its quote.
    PaymentNeeded { invoice: String, expires_at: Option<UnixMillis> },
    /// The mint holds its inputs as pending.
    Pending,
    /// Its task has stopped because the wallet closes. It continues at the next start.
    Stopped,
    /// It has ended, or was not started.
    Ended(Result<Ending, Refusal>),
}

pub(crate) struct Entry {
    pub(crate) id: TicketJobId,
    pub(crate) fingerprint: String,
    mint_url: String,
    /// The API key that requested it; `None` without a key, and for jobs resumed at the start.
    origin: Option<Origin>,
    progress: watch::Sender<Progress>,
    /// Makes the next attempt due now, because a caller asked for the job.
    pub(crate) nudge: Notify,
    waiters: Mutex<Waiters>,
    began: Instant,
    /// It waits for a payment, or its inputs are pending: both may take long. Also set for a resumed job until its first query
    /// of the mint.
    parked: AtomicBool,
    /// Its quote will not be paid.
    quote_abandoned: AtomicBool,
    /// The auth token of the last caller who named one.
    offered_auth: Mutex<Option<MintAuthToken>>,
}

#[derive(Default)]
struct Waiters {
    count: usize,
    /// The token being committed goes to a waiting caller.
    promised: bool,
    /// Until when the caller who pays the quote is expected to ask again.
    expected_until: Option<Instant>,
}

impl Entry {
    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(crate) fn report(&self, progress: Progress) {
        match progress {
            Progress::PaymentNeeded { .. } | Progress::Pending => self.parked.store(true, Ordering::Relaxed),
            Progress::Working(None) => self.parked.store(false, Ordering::Relaxed),
            // The caller keeps waiting after a failed request.
            Progress::Working(Some(_)) | Progress::Stopped | Progress::Ended(_) => {}
        }
        self.progress.send_replace(progress);
    }

    /// Whether it waits for a payment or a decision of the mint, and does not count as working.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(*self.progress.borrow(), Progress::Ended(_))
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.waiters.lock().count > 0
    }

    /// Ends the job once the mint confirms that the quote is unpaid.
    pub(crate) fn abandon_quote(&self) {
        self.quote_abandoned.store(true, Ordering::Relaxed);
        self.nudge.notify_one();
    }

    pub(crate) fn is_quote_abandoned(&self) -> bool {
        self.quote_abandoned.load(Ordering::Relaxed)
    }

    /// Keeps the auth token of a caller who asks for the job again: it may be a renewed one.
    pub(crate) fn offer_auth(&self, auth: &MintAuthToken) {
        *self.offered_auth.lock() = Some(auth.clone());
    }

    pub(crate) fn offered_auth(&self) -> Option<MintAuthToken> {
        self.offered_auth.lock().clone()
    }

    /// Expects the caller who pays the quote to ask again within `within`.
    pub(crate) fn expect(&self, within: Duration) {
        self.waiters.lock().expected_until = Some(Instant::now() + within);
    }

    /// Whether the caller who pays the quote is still expected.
    pub(crate) fn is_expected(&self) -> bool {
        self.waiters.lock().expected_until.is_some_and(|until| Instant::now() < until)
    }

    /// Promises the token to a waiting caller, who then waits for its commit; false if there is none, or if the job has run
    /// for longer than `within`: the request may be answered by now.
    pub(crate) fn promise(&self, within: Duration) -> bool {
        let mut waiters = self.waiters.lock();
        waiters.promised = waiters.count > 0 && self.began.elapsed() < within;
        waiters.promised
    }

    /// Withdraws the promise after a failed commit.
    pub(crate) fn withdraw_promise(&self) {
        self.waiters.lock().promised = false;
    }

    pub(crate) fn wait(self: &Arc<Self>) -> Waiter {
        self.waiters.lock().count += 1;
        Waiter { entry: Arc::clone(self), left: false }
    }
}

pub(crate) struct Waiter {
    entry: Arc<Entry>,
    left: bool,
}

impl Waiter {
    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// Stops waiting. False if the token was promised and is being committed.
    pub(crate) fn leave(&mut self) -> bool {
        let mut waiters = self.entry.waiters.lock();
        if waiters.promised {
            return false;
        }
        if !self.left {
            self.left = true;
            waiters.count = waiters.count.saturating_sub(1);
        }
        true
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if !self.left {
            let mut waiters = self.entry.waiters.lock();
            waiters.count = waiters.count.saturating_sub(1);
        }
    }
}

#[derive(Default)]
pub(crate) struct Jobs(Mutex<HashMap<TicketJobId, Arc<Entry>>>);

/// The caller waiting for a job: an API key, or `None` for the API token and for the service itself.
pub(crate) struct Caller(pub(crate) Option<Origin>);

pub(crate) struct Added {
    pub(crate) entry: Arc<Entry>,
    pub(crate) waiter: Option<Waiter>,
}

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) per_mint: usize,
    pub(crate) in_all: usize,
}

impl Jobs {
    pub(crate) fn get(&self, id: TicketJobId) -> Option<Arc<Entry>> {
        self.0.lock().get(&id).cloned()
    }

    /// Adds a job, with a waiter if it has a caller. `None` if it runs already; [`Refusal::Overloaded`] beyond the limits.
    pub(crate) fn add(
        &self,
        id: TicketJobId,
        fingerprint: &str,
        mint_url: &str,
        caller: Option<Caller>,
        limits: Option<Limits>,
    ) -> Result<Option<Added>, Refusal> {
        let origin = caller.as_ref().and_then(|Caller(origin)| *origin);
        let mut jobs = self.0.lock();
        if jobs.contains_key(&id) {
            return Ok(None);
        }
        if let Some(limits) = limits {
            let of_mint = jobs.values().filter(|entry| entry.mint_url == mint_url);
            let (parked, working): (Vec<_>, Vec<_>) = of_mint.partition(|entry| entry.is_parked());
            let of_key = jobs.values().filter(|entry| entry.origin.is_some() && entry.origin == origin).count();
            let busy = jobs.values().filter(|entry| !entry.is_parked()).count();
            if busy >= limits.in_all
                || jobs.len() >= limits.in_all && parked.len() >= limits.in_all / FAIR
                || working.len() >= limits.per_mint
                || of_key >= limits.in_all / PART_OF_KEY
            {
                return Err(Refusal::Overloaded);
            }
        }
        let entry = Arc::new(Entry {
            id,
            fingerprint: fingerprint.to_owned(),
            mint_url: mint_url.to_owned(),
            origin,
            progress: watch::Sender::new(Progress::Working(None)),
            nudge: Notify::new(),
            waiters: Mutex::default(),
            began: Instant::now(),
            parked: AtomicBool::new(limits.is_none()),
            quote_abandoned: AtomicBool::new(false),
            offered_auth: Mutex::default(),
        });
        let waiter = caller.map(|Caller(_)| entry.wait());
        jobs.insert(id, Arc::clone(&entry));
        Ok(Some(Added { entry, waiter }))
    }

    pub(crate) fn remove(&self, id: TicketJobId) {
        self.0.lock().remove(&id);
    }

    /// Lets a job wait for pending inputs; false if `most` jobs of the mint do already.
    pub(crate) fn try_park(&self, job: &Entry, most: usize) -> bool {
        let jobs = self.0.lock();
        let is_pending = |entry: &&Arc<Entry>| {
            entry.mint_url == job.mint_url && matches!(*entry.progress.borrow(), Progress::Pending)
        };
        let has_room = jobs.values().filter(is_pending).count() < most;
        if has_room {
            job.report(Progress::Pending);
        }
        has_room
    }

    pub(crate) fn by_mint(&self) -> BTreeMap<String, usize> {
        let mut mints = BTreeMap::new();
        for entry in self.0.lock().values() {
            *mints.entry(entry.mint_url.clone()).or_default() += 1;
        }
        mints
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_has_a_quarter_of_all_jobs() {
        let jobs = Jobs::default();
        let limits = Some(Limits { per_mint: 8, in_all: 8 });
        let add = |key: i64, n: u8| {
            let mint = format!("https://{n}.example");
            jobs.add(TicketJobId([n; 32]), "", &mint, Some(Caller(Some(Origin(key)))), limits).is_ok()
        };
        assert!(add(1, 1) && add(1, 2));
        assert!(!add(1, 3), "whatever the mint");
        assert!(add(2, 3));
        jobs.remove(TicketJobId([1; 32]));
        assert!(add(1, 4));
    }
}
