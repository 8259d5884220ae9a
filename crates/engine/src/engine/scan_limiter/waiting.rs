//! Scans beyond the limits: they wait, and some are drawn at random whenever the limits allow more.
//!
//! Keys are free, so keys do not distinguish a flood from many real users. First come, first served would favor the peer
//! that sends most often; a random draw gives every scan the same chance whenever it arrived. Every second draw is among
//! *kinds* of scans first (relay, wallet, relays of the user), because floods are made by programs that send one kind: a
//! flood of one kind takes half of the draws, however large it is.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use usher_protocol::PublicKey;

use super::{Scan, ScanLimit};
use crate::operations::usable_relays;
use crate::ports::Randomness;

/// How long a scan waits before it is refused: as long as a single-use URL lives by default.
pub(super) const WAITS: Duration = Duration::from_secs(600);

/// A scan that waits.
pub(super) struct Waiting {
    pub(super) scan: Scan,
    /// The limit that had no room for it.
    pub(super) limit: ScanLimit,
    /// Since when, on the monotonic clock.
    pub(super) since: Duration,
    kind: u64,
    /// The store has been asked whether the service knows its author.
    checked: bool,
}

impl Waiting {
    pub(super) fn new(mut scan: Scan, limit: ScanLimit, since: Duration) -> Self {
        // What a peer sent is kept for minutes: no more of it than will be used.
        scan.handshake.preferred_relays = usable_relays(&scan.handshake.preferred_relays);
        let kind = kind_of(&scan);
        Self { scan, limit, since, kind, checked: false }
    }
}

/// Which kind of scan it is: a hash of what programs that send many have in common.
fn kind_of(scan: &Scan) -> u64 {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    add(scan.via.relay.as_deref().unwrap_or_default());
    if let Some(client) = &scan.handshake.client_info {
        add(&client.name);
        add(&client.version);
    }
    scan.handshake.preferred_relays.iter().for_each(|relay| add(relay));
    let digest: [u8; 32] = hash.finalize().into();
    digest.first_chunk().copied().map_or(0, u64::from_le_bytes)
}

/// Whose scan it is, and whether it is one of the code on a page.
pub(super) type Place = (PublicKey, bool);

impl Waiting {
    pub(super) const fn place(&self) -> Place {
        self.scan.place()
    }
}

/// The scans of one handshake that wait, in no order; of each key one of the URL, and one of the code on a page.
#[derive(Default)]
pub(super) struct Pool {
    scans: Vec<Waiting>,
    places: HashMap<Place, usize>,
    draws: u64,
}

impl Pool {
    pub(super) fn len(&self) -> usize {
        self.scans.len()
    }

    /// One of them.
    pub(super) fn any(&self) -> Option<&Waiting> {
        self.scans.first()
    }

    pub(super) fn contains(&self, place: &Place) -> bool {
        self.places.contains_key(place)
    }

    /// Adds a scan, or puts it in the place of an earlier one of the same key. The one that was made last stays: the other may be
    /// an old one that somebody repeats.
    pub(super) fn put(&mut self, waiting: Waiting) {
        let place = waiting.place();
        if let Some(earlier) = self.places.get(&place).and_then(|place| self.scans.get_mut(*place)) {
            if earlier.scan.sent_at <= waiting.scan.sent_at {
                *earlier = Waiting { since: earlier.since, checked: earlier.checked, ..waiting };
            }
            return;
        }
        self.places.insert(place, self.scans.len());
        self.scans.push(waiting);
    }

    pub(super) fn remove(&mut self, place: &Place) -> Option<Waiting> {
        let place = self.places.get(place).copied()?;
        self.take(place)
    }

    /// Takes out one at random to make room. One whose author may be known is spared, unless almost all may be.
    pub(super) fn evict(&mut self, randomness: &dyn Randomness) -> Option<Waiting> {
        let places = (0..8).map(|_| below(self.scans.len(), randomness)).collect::<Vec<_>>();
        let checked = |place: &&usize| self.scans.get(**place).is_some_and(|waiting| waiting.checked);
        let place = places.iter().find(checked).or(places.first()).copied()?;
        self.take(place)
    }

    /// Takes out one at random: by turns each scan has the same chance, and each kind.
    pub(super) fn draw(&mut self, randomness: &dyn Randomness) -> Option<Waiting> {
        self.draws = self.draws.wrapping_add(1);
        if self.draws % 2 == 1 {
            return self.take(below(self.scans.len(), randomness));
        }
        let mut kinds = BTreeMap::<u64, usize>::new();
        self.scans.iter().for_each(|waiting| *kinds.entry(waiting.kind).or_default() += 1);
        let nth = below(kinds.len(), randomness);
        let (kind, count) = kinds.into_iter().nth(nth)?;
        let nth = below(count, randomness);
        let place = self.scans.iter().enumerate().filter(|(_, waiting)| waiting.kind == kind).nth(nth)?.0;
        self.take(place)
    }

    /// Takes out those that have waited for [`WAITS`].
    pub(super) fn take_expired(&mut self, now: Duration) -> Vec<Waiting> {
        let over = |waiting: &Waiting| now.saturating_sub(waiting.since) >= WAITS;
        let places: Vec<_> = self.scans.iter().filter(|waiting| over(waiting)).map(Waiting::place).collect();
        places.iter().filter_map(|place| self.remove(place)).collect()
    }

    /// Takes out scans one after the other, in no order, while there is room for them.
    pub(super) fn take_while(&mut self, room: &mut impl FnMut(&Waiting) -> bool) -> Vec<Waiting> {
        let mut taken = Vec::new();
        while self.scans.last().is_some_and(&mut *room) {
            taken.extend(self.take(self.scans.len() - 1));
        }
        taken
    }

    /// Those about whose authors the store has not been asked.
    pub(super) fn unchecked(&self) -> impl Iterator<Item = Place> {
        self.scans.iter().filter(|waiting| !waiting.checked).map(Waiting::place)
    }

    pub(super) fn set_checked(&mut self, place: &Place) {
        if let Some(waiting) = self.places.get(place).and_then(|place| self.scans.get_mut(*place)) {
            waiting.checked = true;
        }
    }

    #[cfg(test)]
    pub(super) fn scans(&self) -> impl Iterator<Item = &Scan> {
        self.scans.iter().map(|waiting| &waiting.scan)
    }

    pub(super) fn into_scans(self) -> impl Iterator<Item = Waiting> {
        self.scans.into_iter()
    }

    fn take(&mut self, place: usize) -> Option<Waiting> {
        if place >= self.scans.len() {
            return None;
        }
        let taken = self.scans.swap_remove(place);
        self.places.remove(&taken.place());
        if let Some(moved) = self.scans.get(place) {
            self.places.insert(moved.place(), place);
        }
        Some(taken)
    }
}

/// A random number below `end`, or 0. With a bias below 2⁻⁴⁸, which decides nothing here.
pub(super) fn below(end: usize, randomness: &dyn Randomness) -> usize {
    let mut bytes = [0; 8];
    randomness.fill(&mut bytes);
    let random = u64::from_le_bytes(bytes).checked_rem(end as u64).unwrap_or_default();
    usize::try_from(random).unwrap_or_default()
}
