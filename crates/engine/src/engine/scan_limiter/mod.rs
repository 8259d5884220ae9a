//! Limits of reusable handshakes: their URLs are public, anybody can generate keys, and every accepted scan is stored.
//!
//! Three limits, the narrowest first, so that a scan that exceeds one uses up nothing of the next:
//!
//! 1. **per author**: one scan of one key a minute;
//! 2. **per relay**: a flood over one relay leaves room for users who come over another. The event of an honest wallet
//!    comes over several relays, and is charged to the first relay with capacity left (`Via::copy`);
//! 3. **in all**, which bounds what is stored. When this is used up, each relay still has a small reserve of its own.
//!
//! A scan that exceeds 2 or 3 is not refused: it waits, for wallets send a handshake once. While scans wait, some of them
//! are drawn at random ([`waiting`]) at a rate of their own, by turns of the handshakes, so that a flood of one URL takes
//! nothing from another. A scan is refused when there is no more room to wait, or when it has waited too long.
//!
//! Users who are known to the service have limits and draws of their own: a flood of new keys does not reach those. Who is
//! known is in the store; it is asked only about scans that wait, many at a time.
//!
//! A scan of a reusable login starts a login, and those that are open are bounded ([`ReusableLogins`]). While there is no room for
//! another, scans wait as well, and take nothing of the limits. Those that wait go first when there is room again, by turns.
//!
//! Logins that browsers begin on the page of a reusable login count as scans of its URL. A scan of the code on such a page is
//! treated as any other; a proof of another signer is refused instead of waiting ([`ScanLimiter::admit_proof`]). The page counts
//! as one more relay. As a user whose first attempt failed begins another at once, one key counts there three times a
//! minute.
//!
//! Limits, and scans that wait, are kept in memory, for each handshake by itself; after a restart all limits are full again.
//!
//! [`ReusableLogins`]: super::reusable_logins::ReusableLogins

mod admission;
mod authors;
mod counts;
mod proofs;
mod rates;
mod room;
mod waiting;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::Notify;
use usher_protocol::message::KeyHandshake;
use usher_protocol::{EventId, PublicKey};

pub(super) use self::admission::{ScanAdmission, ScanAdmissionParts};
use self::authors::Accepted;
pub use self::counts::ScanLimit;
pub(super) use self::counts::{Refusals, ScanCounts};
pub(in crate::engine) use self::proofs::AdmittedProof;
use self::rates::{Bucket, Class, DRAWN_IN_ALL, full};
use self::room::{HasRoom, Room};
use self::waiting::{Place, Pool, Waiting};
use crate::ports::{Randomness, Via};
use crate::{StreamId, UnixMillis};

/// Handshakes that are counted; the one not used for longest is forgotten, and all its limits are full again. At most 6 KB each.
const HANDSHAKES: usize = 4096;
/// Accepted authors that are remembered, of all handshakes: 65,536 × about 220 bytes.
const AUTHORS: usize = 65_536;
/// Scans of one handshake that wait, of new users and of known ones each.
const WAITING: usize = 4096;
/// Scans that wait, of all handshakes: 32,768 × 500 bytes with the usual list of relays, at most 2 KB each.
const WAITING_IN_ALL: usize = 32_768;

/// How often it is looked for scans that have waited too long.
const EXPIRES_EVERY: Duration = Duration::from_secs(1);

/// A warning is written at most this often, ...
const WARN_EVERY: Duration = Duration::from_secs(60);
/// ... and not for a few users who scanned twice in a minute.
const WORTH_A_WARNING: u64 = 20;

/// A user's scan of a reusable handshake, or of the code on the page of a login there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    pub(super) target: ScanTarget,
    pub(super) author: PublicKey,
    pub(super) event: EventId,
    /// When its author says it was made.
    pub(super) sent_at: UnixMillis,
    pub(super) handshake: KeyHandshake,
    pub(super) via: Via,
}

/// What is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanTarget {
    /// The URL of a reusable handshake.
    Handshake,
    /// The URL of a reusable login.
    Login,
    /// The code on the page of this login, which a browser has begun at a reusable login.
    Page(StreamId),
}

impl ScanTarget {
    /// Whether the user is then asked to log in.
    pub(super) const fn starts_login(self) -> bool {
        matches!(self, Self::Login | Self::Page(_))
    }
}

impl Scan {
    /// Its place among those that wait.
    const fn place(&self) -> Place {
        (self.author, matches!(self.target, ScanTarget::Page(_)))
    }
}

/// What becomes of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is passed to its operation.
    Accepted(Box<Scan>),
    /// It was accepted before, or is not counted twice: nothing more is done.
    Copy,
    /// It waits to be drawn.
    Waits,
    /// The same, because there is no room for the login that it would start.
    WaitsForRoom,
    /// It is refused by the limit per author.
    Refused,
}

/// The limits of all reusable handshakes, and the scans that wait.
#[derive(Default)]
pub(super) struct ScanLimiter {
    state: Mutex<State>,
    /// Scans wait.
    waits: Notify,
}

struct State {
    handshakes: LruCache<StreamId, Handshake>,
    authors: LruCache<(StreamId, PublicKey), Accepted>,
    /// Handshakes for which scans wait.
    pools: BTreeMap<StreamId, Pools>,
    drawn: Bucket,
    /// When it was last looked for scans that have waited too long.
    expired_at: Duration,
    /// The handshake of which a scan was drawn last.
    last_drawn: Option<StreamId>,
    /// Scans of reusable logins wait for room: those that come now do, too.
    awaits_room: bool,
    /// Whether the next place is for a known user; by turns.
    known_first: bool,
    counts: ScanCounts,
    warned_at: UnixMillis,
    /// Refused since then.
    refused: u64,
    warning: Option<Refusals>,
}

struct Handshake {
    new_users: Class,
    known_users: Class,
    refused: u64,
}

impl Default for Handshake {
    fn default() -> Self {
        Self { new_users: Class::of_new_users(), known_users: Class::of_known_users(), refused: 0 }
    }
}

/// The scans of one handshake that wait.
#[derive(Default)]
struct Pools {
    new_users: Pool,
    known_users: Pool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            handshakes: bounded(HANDSHAKES),
            authors: bounded(AUTHORS),
            pools: BTreeMap::new(),
            drawn: full(DRAWN_IN_ALL),
            expired_at: Duration::ZERO,
            last_drawn: None,
            awaits_room: false,
            known_first: true,
            counts: ScanCounts::default(),
            warned_at: UnixMillis(0),
            refused: 0,
            warning: None,
        }
    }
}

/// Not `LruCache::new`, which allocates for the whole capacity at once.
fn bounded<K: std::hash::Hash + Eq, V>(capacity: usize) -> LruCache<K, V> {
    let mut cache = LruCache::unbounded();
    cache.resize(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN));
    cache
}

/// The time at which something is decided: deadlines of the wall clock, and how long something has waited.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: UnixMillis,
    pub(super) monotonic: Duration,
}

impl ScanLimiter {
    /// Whether a scan is passed to its operation now.
    pub(super) fn admit(
        &self,
        stream: StreamId,
        scan: Scan,
        moment: Moment,
        has_room: HasRoom<'_>,
        randomness: &dyn Randomness,
    ) -> Admission {
        let state = &mut *self.state.lock();
        let before = state.authors.get(&(stream, scan.author)).copied();
        if let Some(before) = before {
            if before.has(scan.event) {
                return Admission::Copy;
            }
            if !before.allows(scan.target, moment.now) {
                if scan.via.copy {
                    return Admission::Copy;
                }
                state.refuse(stream, ScanLimit::Author, scan.via.relay, moment.now);
                return Admission::Refused;
            }
        }
        let waits_as_known =
            |pools: &Pools| [false, true].iter().any(|page| pools.known_users.contains(&(scan.author, *page)));
        let known =
            before.is_some_and(|before| before.is_known()) || state.pools.get(&stream).is_some_and(waits_as_known);
        let admitted = if !scan.target.starts_login() || (!state.awaits_room && has_room(0)) {
            state.class(stream, known).admit(&scan.via, moment.now).map(drop)
        } else {
            state.awaits_room = true;
            Err(ScanLimit::Room)
        };
        match admitted {
            Ok(()) => {
                state.accept(stream, &scan, moment.now);
                Admission::Accepted(Box::new(scan))
            }
            Err(limit) => {
                let waiting = Waiting::new(scan, limit, moment.monotonic);
                let is_first = state.pools.is_empty();
                state.wait(stream, waiting, known, moment.now, randomness);
                if is_first {
                    self.waits.notify_one();
                }
                if limit == ScanLimit::Room { Admission::WaitsForRoom } else { Admission::Waits }
            }
        }
    }

    /// A scan that was accepted could start no login, because the last place was taken meanwhile: it waits again.
    pub(super) fn had_no_room(&self, stream: StreamId, scan: Scan, moment: Moment, randomness: &dyn Randomness) {
        let state = &mut *self.state.lock();
        state.take_back(stream, scan.target, scan.author, scan.event);
        state.awaits_room = true;
        let is_first = state.pools.is_empty();
        state.wait(stream, Waiting::new(scan, ScanLimit::Room, moment.monotonic), false, moment.now, randomness);
        if is_first {
            self.waits.notify_one();
        }
    }

    /// The page of a scan ended while the scan waited: it is refused.
    pub(super) fn came_too_late(&self, stream: StreamId, scan: Scan, now: UnixMillis) {
        let state = &mut *self.state.lock();
        state.take_back(stream, scan.target, scan.author, scan.event);
        state.refuse(stream, ScanLimit::Room, scan.via.relay, now);
    }

    /// An accepted scan has had no effect: it was handled before, or what it is for is over. It does not count: somebody else may
    /// have repeated it.
    pub(super) fn in_vain(
        &self,
        stream: StreamId,
        target: ScanTarget,
        (author, event): (PublicKey, EventId),
        now: UnixMillis,
    ) {
        if let Some(accepted) = self.state.lock().authors.peek_mut(&(stream, author)) {
            accepted.give_back(target, event, now);
        }
    }

    /// So many accepted scans and proofs have had an effect.
    pub(super) fn took_effect(&self, scans: u64) {
        let accepted = &mut self.state.lock().counts.accepted;
        *accepted = accepted.saturating_add(scans);
    }

    /// Returns when scans wait, or have waited since this was called last.
    pub(super) async fn some_wait(&self) {
        self.waits.notified().await;
    }

    /// Whether scans wait.
    pub(super) fn has_waiting(&self) -> bool {
        !self.state.lock().pools.is_empty()
    }

    /// Some scans that wait of which it is not known yet whether the service knows their authors.
    pub(super) fn unchecked(&self, most: usize) -> Vec<(StreamId, Place)> {
        let state = self.state.lock();
        let unchecked = |(stream, pools): (&StreamId, &Pools)| {
            let stream = *stream;
            pools.new_users.unchecked().map(|place| (stream, place)).take(most).collect::<Vec<_>>()
        };
        state.pools.iter().flat_map(unchecked).take(most).collect()
    }

    /// The store has been asked about the author of a scan that waits.
    pub(super) fn checked(
        &self,
        stream: StreamId,
        place: &Place,
        known: bool,
        now: UnixMillis,
        randomness: &dyn Randomness,
    ) {
        let state = &mut *self.state.lock();
        let Some(pools) = state.pools.get_mut(&stream) else { return };
        if known {
            if let Some(waiting) = pools.new_users.remove(place) {
                state.wait(stream, waiting, true, now, randomness);
            }
        } else {
            pools.new_users.set_checked(place);
        }
    }

    /// Takes out as many waiting scans as the limits allow, and as there is room for: those of known users, then some by lot.
    /// Refuses those that have waited too long.
    pub(super) fn draw(
        &self,
        moment: Moment,
        has_room: HasRoom<'_>,
        randomness: &dyn Randomness,
    ) -> Vec<(StreamId, Scan)> {
        let state = &mut *self.state.lock();
        state.expire(moment);
        let mut room = Room { has_room, starting: 0 };
        let after = state.last_drawn.map_or(Bound::Unbounded, Bound::Excluded);
        let until = state.last_drawn.map_or(Bound::Excluded(StreamId::from_bytes([0; 16])), Bound::Included);
        let order: Vec<_> = state.pools.range((after, Bound::Unbounded)).map(|(stream, _)| *stream).collect();
        let order: Vec<_> =
            order.into_iter().chain(state.pools.range((Bound::Unbounded, until)).map(|(s, _)| *s)).collect();
        let mut accepted = state.admit_known(&order, &mut room, moment.now);
        loop {
            let before = accepted.len();
            for stream in &order {
                for known in [state.known_first, !state.known_first] {
                    accepted.extend(state.draw_one(*stream, known, &mut room, moment.now, randomness));
                }
            }
            if accepted.len() == before {
                break;
            }
        }
        // Whatever still waits waits for another limit.
        state.awaits_room = state.awaits_room && !state.pools.is_empty() && !room.is_left();
        accepted
    }

    /// How many scans were accepted and refused, and how many wait.
    pub(super) fn counts(&self) -> ScanCounts {
        let state = self.state.lock();
        ScanCounts { waiting: state.waiting() as u64, ..state.counts }
    }

    /// Scans were refused, and nothing has been logged of it for a while.
    pub(super) fn take_warning(&self) -> Option<Refusals> {
        self.state.lock().warning.take()
    }

    /// How many scans of a handshake were refused since the service started.
    pub(super) fn refused(&self, stream: StreamId) -> u64 {
        self.state.lock().handshakes.peek(&stream).map_or(0, |handshake| handshake.refused)
    }

    /// How many scans of a handshake wait.
    pub(super) fn waiting(&self, stream: StreamId) -> u64 {
        self.state.lock().pools.get(&stream).map_or(0, Pools::len) as u64
    }

    /// The handshake is over: scans that wait for it are refused.
    pub(super) fn forget(&self, stream: StreamId) {
        let state = &mut *self.state.lock();
        if let Some(pools) = state.pools.remove(&stream) {
            for waiting in pools.into_scans() {
                state.counts.refuse(waiting.limit);
            }
        }
        state.handshakes.pop(&stream);
    }
}

impl State {
    /// The limits of a handshake for users who are known, or for those who are not.
    fn class(&mut self, stream: StreamId, known: bool) -> &mut Class {
        self.handshakes.get_or_insert_mut(stream, Handshake::default).of(known)
    }

    fn count(&mut self, stream: StreamId, target: ScanTarget, author: PublicKey, event: EventId, now: UnixMillis) {
        let accepted = self.authors.get_or_insert_mut((stream, author), || Accepted::NOTHING);
        accepted.add(target, event, now);
    }

    /// An accepted scan does not count. Whether it did.
    fn take_back(&mut self, stream: StreamId, target: ScanTarget, author: PublicKey, event: EventId) -> bool {
        self.authors.peek_mut(&(stream, author)).is_some_and(|accepted| accepted.take_back(target, event))
    }

    fn accept(&mut self, stream: StreamId, scan: &Scan, now: UnixMillis) {
        self.count(stream, scan.target, scan.author, scan.event, now);
        if let Some(pools) = self.pools.get_mut(&stream) {
            let place = scan.place();
            pools.new_users.remove(&place);
            pools.known_users.remove(&place);
            if pools.len() == 0 {
                self.pools.remove(&stream);
            }
        }
    }

    fn wait(&mut self, stream: StreamId, waiting: Waiting, known: bool, now: UnixMillis, randomness: &dyn Randomness) {
        let pools = self.pools.entry(stream).or_default();
        // Who has become known meanwhile has no second place among the new.
        let earlier = pools.of(!known).remove(&waiting.place());
        let pool = pools.of(known);
        earlier.into_iter().chain([waiting]).for_each(|waiting| pool.put(waiting));
        let mut crowded = (pool.len() > WAITING).then_some((stream, known));
        if crowded.is_none() && self.waiting() > WAITING_IN_ALL {
            // The largest makes room: a flood of one URL takes no room from another.
            let largest =
                |known: bool, pools: &Pools| if known { pools.known_users.len() } else { pools.new_users.len() };
            let all = self
                .pools
                .iter()
                .flat_map(|(stream, pools)| [true, false].map(|known| (largest(known, pools), (*stream, known))));
            crowded = all.max().map(|(_, pool)| pool);
        }
        if let Some((stream, known)) = crowded
            && let Some(out) = self.pools.get_mut(&stream).and_then(|pools| pools.of(known).evict(randomness))
        {
            self.refuse(stream, out.limit, out.scan.via.relay, now);
        }
    }

    fn waiting(&self) -> usize {
        self.pools.values().map(Pools::len).sum()
    }

    /// Scans of known users for whom there is room.
    fn admit_known(&mut self, order: &[StreamId], room: &mut Room<'_>, now: UnixMillis) -> Vec<(StreamId, Scan)> {
        let mut admitted = Vec::new();
        for stream in order {
            let Some(pools) = self.pools.get_mut(stream) else { continue };
            let needs_room = pools.known_users.any().is_some_and(|waiting| waiting.scan.target.starts_login());
            if self.awaits_room && needs_room {
                // What room there is is shared by turns.
                continue;
            }
            let class = &mut self.handshakes.get_or_insert_mut(*stream, Handshake::default).known_users;
            let mut is_allowed = |waiting: &Waiting| {
                let is_allowed = room.is_for(waiting) && class.admit(&waiting.scan.via, now).is_ok();
                if is_allowed {
                    room.take(&waiting.scan);
                }
                is_allowed
            };
            let taken = pools.known_users.take_while(&mut is_allowed);
            admitted.extend(taken.into_iter().map(|waiting| (*stream, waiting.scan)));
        }
        for (stream, scan) in &admitted {
            self.accept(*stream, scan, now);
        }
        admitted
    }

    fn draw_one(
        &mut self,
        stream: StreamId,
        known: bool,
        room: &mut Room<'_>,
        now: UnixMillis,
        randomness: &dyn Randomness,
    ) -> Option<(StreamId, Scan)> {
        let pool = self.pools.get_mut(&stream)?.of(known);
        // All scans of a handshake need room, or none does.
        if !pool.any().is_some_and(|waiting| room.is_for(waiting)) {
            return None;
        }
        let drawn = &mut self.handshakes.get_or_insert_mut(stream, Handshake::default).of(known).drawn;
        if !drawn.has_one(now) || !self.drawn.has_one(now) {
            return None;
        }
        let scan = pool.draw(randomness)?.scan;
        room.take(&scan);
        drawn.take(now);
        self.drawn.take(now);
        self.last_drawn = Some(stream);
        self.known_first = !known;
        self.accept(stream, &scan, now);
        Some((stream, scan))
    }

    fn expire(&mut self, moment: Moment) {
        if moment.monotonic.saturating_sub(self.expired_at) < EXPIRES_EVERY {
            return;
        }
        self.expired_at = moment.monotonic;
        let mut expired = Vec::new();
        for (stream, pools) in &mut self.pools {
            for pool in [&mut pools.new_users, &mut pools.known_users] {
                expired.extend(pool.take_expired(moment.monotonic).into_iter().map(|waiting| (*stream, waiting)));
            }
        }
        for (stream, waiting) in expired {
            self.refuse(stream, waiting.limit, waiting.scan.via.relay, moment.now);
        }
        self.pools.retain(|_, pools| pools.len() > 0);
    }

    fn refuse(&mut self, stream: StreamId, limit: ScanLimit, relay: Option<Arc<str>>, now: UnixMillis) {
        self.counts.refuse(limit);
        self.refused = self.refused.saturating_add(1);
        self.handshakes.get_or_insert_mut(stream, Handshake::default).refused += 1;
        let worth_it = limit != ScanLimit::Author || self.refused >= WORTH_A_WARNING;
        let due = now >= self.warned_at.plus(WARN_EVERY) || now < self.warned_at;
        if worth_it && due {
            self.warned_at = now;
            self.warning = Some(Refusals { stream, limit, relay, count: std::mem::take(&mut self.refused) });
        }
    }
}

impl Handshake {
    const fn of(&mut self, known: bool) -> &mut Class {
        if known { &mut self.known_users } else { &mut self.new_users }
    }
}

impl Pools {
    fn len(&self) -> usize {
        self.new_users.len() + self.known_users.len()
    }

    const fn of(&mut self, known: bool) -> &mut Pool {
        if known { &mut self.known_users } else { &mut self.new_users }
    }

    fn into_scans(self) -> impl Iterator<Item = Waiting> {
        self.new_users.into_scans().chain(self.known_users.into_scans())
    }
}

#[cfg(test)]
mod tests;
