//! The jobs that run, and those who wait for them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{Duration, Instant};
use usher_engine::ports::{MintAuthToken, TicketJobId};
use usher_engine::{Origin, RequestContext, UnixMillis};

use crate::job_failure::{Failure, Refusal};
use crate::stored_job::Ending;

/// When there are as many jobs as there may be in all, a mint of which fewer than one part in so many of them wait can still have
/// another.
const FAIR: usize = 64;

/// The part of all jobs that one API key may have: those at mints that never respond stay.
const PART_OF_KEY: usize = 4;

/// How far a running job is.
#[derive(Clone)]
pub(crate) enum Progress {
    /// It runs; why the last attempt failed.
    Working(Option<Failure>),
    /// The mint waits for the payment of its quote.
    PaymentNeeded { invoice: String, expires_at: Option<UnixMillis> },
    /// The mint holds its inputs as pending.
    Pending,
    /// Its task has stopped, because the wallet closes. It continues at the next start.
    Stopped,
    /// It has ended, or was not started.
    Ended(Result<Ending, Refusal>),
}

pub(crate) struct Entry {
    pub(crate) id: TicketJobId,
    pub(crate) fingerprint: String,
    mint_url: String,
    /// The API key that asked for it; `None`: somebody else, or before the start.
    origin: Option<Origin>,
    progress: watch::Sender<Progress>,
    /// Somebody asked for the job: the next attempt is due now.
    pub(crate) nudge: Notify,
    waiters: Mutex<Waiters>,
    /// It waits for a payment, or until the mint has decided about its inputs: both may take as long as they like. So does a
    /// job that was stored, until its mint has been asked.
    parked: AtomicBool,
    /// Nobody will pay its quote.
    quote_abandoned: AtomicBool,
    /// The auth token of the last caller who showed one.
    offered_auth: Mutex<Option<MintAuthToken>>,
}

#[derive(Default)]
struct Waiters {
    count: usize,
    /// Somebody waits and will get the token that is being committed.
    promised: bool,
    /// Until when somebody is expected, who was told to pay for a quote.
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
            // A request that fails does not end what it waits for.
            Progress::Working(Some(_)) | Progress::Stopped | Progress::Ended(_) => {}
        }
        self.progress.send_replace(progress);
    }

    /// Whether it waits for somebody, and takes no place of those that work.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(*self.progress.borrow(), Progress::Ended(_))
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.waiters.lock().count > 0
    }

    /// Nobody will pay the quote: the job ends once the mint says that it is unpaid.
    pub(crate) fn abandon_quote(&self) {
        self.quote_abandoned.store(true, Ordering::Relaxed);
        self.nudge.notify_one();
    }

    pub(crate) fn is_quote_abandoned(&self) -> bool {
        self.quote_abandoned.load(Ordering::Relaxed)
    }

    /// A caller who asks for the job again shows this auth token, which may have been renewed.
    pub(crate) fn offer_auth(&self, auth: &MintAuthToken) {
        *self.offered_auth.lock() = Some(auth.clone());
    }

    pub(crate) fn offered_auth(&self) -> Option<MintAuthToken> {
        self.offered_auth.lock().clone()
    }

    /// Expects the caller, who pays for a quote, to come back within `within`.
    pub(crate) fn expect(&self, within: Duration) {
        self.waiters.lock().expected_until = Some(Instant::now() + within);
    }

    /// Whether the caller who pays for the quote is still expected.
    pub(crate) fn is_expected(&self) -> bool {
        self.waiters.lock().expected_until.is_some_and(|until| Instant::now() < until)
    }

    /// Decides who gets a token: true when somebody waits, who then waits until it is committed.
    pub(crate) fn promise(&self) -> bool {
        let mut waiters = self.waiters.lock();
        waiters.promised = waiters.count > 0;
        waiters.promised
    }

    /// Takes a promise back: the commit failed.
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

    /// Stops waiting. False if the token was promised: it is being committed, and there will be a result at once.
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

/// A job that was added, and its first waiter.
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

    /// Adds a job; its first waiter, if `awaited`, is there before the job can end. `None` if it runs already;
    /// [`Refusal::Overloaded`] beyond the limits.
    pub(crate) fn add(
        &self,
        id: TicketJobId,
        fingerprint: &str,
        mint_url: &str,
        limits: Option<Limits>,
        awaited: bool,
    ) -> Result<Option<Added>, Refusal> {
        let origin = RequestContext::current().and_then(|context| context.origin);
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
            parked: AtomicBool::new(limits.is_none()),
            quote_abandoned: AtomicBool::new(false),
            offered_auth: Mutex::default(),
        });
        let waiter = awaited.then(|| entry.wait());
        jobs.insert(id, Arc::clone(&entry));
        Ok(Some(Added { entry, waiter }))
    }

    pub(crate) fn remove(&self, id: TicketJobId) {
        self.0.lock().remove(&id);
    }

    /// Lets a job wait until its mint has decided about its inputs; false if as many of the mint wait already as may.
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

    #[tokio::test]
    async fn one_key_has_a_quarter_of_all_jobs() {
        let jobs = Jobs::default();
        let limits = Some(Limits { per_mint: 8, in_all: 8 });
        let add = async |key: i64, n: u8| {
            let context = RequestContext { origin: Some(Origin(key)), ..RequestContext::default() };
            let added =
                async { jobs.add(TicketJobId([n; 32]), "", &format!("https://{n}.example"), limits, false).is_ok() };
            Arc::new(context).scope(added).await
        };
        assert!(add(1, 1).await && add(1, 2).await);
        assert!(!add(1, 3).await, "whatever the mint");
        assert!(add(2, 3).await);
        jobs.remove(TicketJobId([1; 32]));
        assert!(add(1, 4).await);
    }
}
