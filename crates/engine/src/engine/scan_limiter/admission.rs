//! Scans of reusable handshakes on their way to their operations: admitted at once, or drawn later.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;
use usher_protocol::message::WalletMessage;
use usher_protocol::{EventId, PublicKey};

use super::{Admission, AdmittedProof, Moment, Refusals, Scan, ScanCounts, ScanLimit, ScanLimiter, ScanTarget};
use crate::StreamId;
use crate::engine::capacity::Capacity;
use crate::engine::inputs::Inputs;
use crate::engine::metrics::Metrics;
use crate::engine::reusable_logins::ReusableLogins;
use crate::engine::tasks::Tasks;
use crate::operations::Input;
use crate::ports::{Clock, Randomness, Store};

/// How often scans are drawn while some wait.
const EVERY: Duration = Duration::from_millis(50);

/// Authors about whom the store is asked in one read; with [`EVERY`] 5,000 in a second.
const AUTHORS: usize = 256;

/// What admission works with.
pub(in crate::engine) struct ScanAdmissionParts {
    pub(in crate::engine) store: Arc<dyn Store>,
    pub(in crate::engine) inputs: Inputs,
    pub(in crate::engine) capacity: Capacity,
    pub(in crate::engine) reusable_logins: ReusableLogins,
    pub(in crate::engine) metrics: Arc<Metrics>,
    pub(in crate::engine) clock: Arc<dyn Clock>,
    pub(in crate::engine) randomness: Arc<dyn Randomness>,
    pub(in crate::engine) tasks: Tasks,
}

/// Admits scans.
pub(in crate::engine) struct ScanAdmission {
    parts: ScanAdmissionParts,
    limiter: ScanLimiter,
}

impl ScanAdmission {
    pub(in crate::engine) fn new(parts: ScanAdmissionParts) -> Self {
        Self { parts, limiter: ScanLimiter::default() }
    }

    /// A reusable handshake was scanned, or the code on the page of a login at one.
    pub(in crate::engine) async fn admit(&self, stream: StreamId, scan: Scan) {
        let has_room = |starting| self.has_room(starting);
        match self.limiter.admit(stream, scan, self.moment(), &has_room, &*self.parts.randomness) {
            Admission::Accepted(scan) => self.hand_on(stream, *scan).await,
            Admission::Copy => {}
            Admission::WaitsForRoom => self.parts.reusable_logins.scan_waits(self.parts.clock.now()),
            Admission::Waits | Admission::Refused => self.warn_of_refusals(),
        }
    }

    /// Whether the login `login` at the reusable login `reusable` may take a proof of this key: an event that another signer
    /// has signed.
    ///
    /// # Errors
    /// The limit that refuses it.
    pub(in crate::engine) async fn admit_proof(
        &self,
        reusable: StreamId,
        login: StreamId,
        proof: (PublicKey, EventId),
    ) -> Result<AdmittedProof, ScanLimit> {
        let now = self.parts.clock.now();
        let admit = |is_known| self.limiter.admit_proof(reusable, login, proof, is_known, now);
        let mut limit = match admit(false) {
            Ok(admitted) => return Ok(admitted),
            Err(limit) => limit,
        };
        if limit != ScanLimit::Author {
            match self.parts.store.known_users(&[proof.0]).await.as_deref() {
                Ok([true]) => match admit(true) {
                    Ok(admitted) => return Ok(admitted),
                    Err(error) => limit = error,
                },
                Ok(_) => {}
                Err(_) => self.parts.metrics.store_failed(),
            }
        }
        self.limiter.proof_refused(reusable, limit, now);
        self.warn_of_refusals();
        Err(limit)
    }

    /// A proof that was admitted has logged a user in, or not.
    pub(in crate::engine) fn proof_ended(&self, proof: &AdmittedProof, took_effect: bool) {
        if took_effect {
            self.limiter.took_effect(1);
        } else {
            self.limiter.withdraw_proof(proof);
        }
    }

    /// So many accepted scans and proofs have had an effect: they are in the store.
    pub(in crate::engine) fn took_effect(&self, scans: u64) {
        self.limiter.took_effect(scans);
    }

    /// An accepted scan has had no effect, and does not count.
    pub(in crate::engine) fn in_vain(&self, stream: StreamId, target: ScanTarget, scan: (PublicKey, EventId)) {
        self.limiter.in_vain(stream, target, scan, self.parts.clock.now());
    }

    /// An accepted scan could start no login, because the last place was taken meanwhile: it waits.
    pub(in crate::engine) fn had_no_room(&self, stream: StreamId, scan: Scan) {
        self.limiter.had_no_room(stream, scan, self.moment(), &*self.parts.randomness);
        self.parts.reusable_logins.scan_waits(self.parts.clock.now());
    }

    /// Whether another login at a reusable login may start, beside so many that are about to.
    pub(in crate::engine) fn has_room(&self, starting: usize) -> bool {
        self.parts.capacity.has_room_for(starting) && self.parts.reusable_logins.has_room_for(starting)
    }

    /// Draws scans that wait until the engine stops.
    pub(in crate::engine) async fn run(self: Arc<Self>) {
        let tasks = &self.parts.tasks;
        while tasks.unless_stopped(self.limiter.some_wait()).await.is_some() {
            while self.limiter.has_waiting() {
                self.look_up_authors().await;
                let has_room = |starting| self.has_room(starting);
                for (stream, scan) in self.limiter.draw(self.moment(), &has_room, &*self.parts.randomness) {
                    self.hand_on(stream, scan).await;
                }
                self.warn_of_refusals();
                if tasks.unless_stopped(self.parts.clock.sleep(EVERY)).await.is_none() {
                    return;
                }
            }
        }
    }

    /// How many scans were accepted and refused, and how many wait.
    pub(in crate::engine) fn counts(&self) -> ScanCounts {
        self.limiter.counts()
    }

    /// How many scans of a handshake were refused since the service started.
    pub(in crate::engine) fn refused(&self, stream: StreamId) -> u64 {
        self.limiter.refused(stream)
    }

    /// How many scans of a handshake wait.
    pub(in crate::engine) fn waiting(&self, stream: StreamId) -> u64 {
        self.limiter.waiting(stream)
    }

    /// The handshake is closed: scans that wait for it are refused.
    pub(in crate::engine) fn forget(&self, stream: StreamId) {
        self.limiter.forget(stream);
    }

    /// Asks the store which authors of waiting scans the service knows. If the store fails, it is asked again later.
    async fn look_up_authors(&self) {
        let authors = self.limiter.unchecked(AUTHORS);
        if authors.is_empty() {
            return;
        }
        let keys: Vec<_> = authors.iter().map(|(_, (author, _))| *author).collect();
        let Ok(known) = self.parts.store.known_users(&keys).await else {
            self.parts.metrics.store_failed();
            return;
        };
        for ((stream, place), known) in authors.into_iter().zip(known) {
            self.limiter.checked(stream, &place, known, self.parts.clock.now(), &*self.parts.randomness);
        }
    }

    /// Hands a scan to its operation, unless that is over.
    async fn hand_on(&self, stream: StreamId, scan: Scan) {
        let operation = match scan.target {
            ScanTarget::Handshake | ScanTarget::Login => stream,
            ScanTarget::Page(login) if self.parts.reusable_logins.unused_at(login).is_some() => login,
            ScanTarget::Page(_) => return self.limiter.came_too_late(stream, scan, self.parts.clock.now()),
        };
        let Scan { target: _, author, event, sent_at, handshake, via: _ } = scan;
        let input = Input::Wallet { author, sent_at, message: WalletMessage::KeyHandshake(handshake) };
        self.parts.inputs.put_message(operation, input, event).await;
    }

    /// The time of both clocks.
    fn moment(&self) -> Moment {
        Moment { now: self.parts.clock.now(), monotonic: self.parts.clock.monotonic() }
    }

    /// Logs that scans were refused, at most once a minute.
    fn warn_of_refusals(&self) {
        if let Some(Refusals { stream, limit, relay, count }) = self.limiter.take_warning() {
            warn!(
                stream_id = %stream,
                limit = limit.as_str(),
                relay = relay.as_deref().unwrap_or("a user's relay"),
                refused = count,
                "limits refuse scans of reusable handshake URLs; GET /key-handshake lists how many of each, and \
                 DELETE /key-handshake/{{stream_id}} ends one"
            );
        }
    }
}
