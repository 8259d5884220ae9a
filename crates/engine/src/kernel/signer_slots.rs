//! The slots of requests to remote signers, and which one makes room.
//!
//! Anybody can begin a login, name a signer and never sign. If newcomers were refused when all slots are taken, that
//! would lock everybody out. So a newcomer takes the slot of another: of their own network if it has its share, otherwise of the
//! network that has the most. There those go first whose login's page nobody has open or has seen lately.

use std::collections::HashMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use usher_places::{Holder, Limits, Places, Protection, WhenFull};

use crate::ports::SignerStage;
use crate::{ClientNetwork, StreamId};

/// Requests at the same time.
const MAX_REQUESTS: usize = 4_096;

/// Of these, most that wait for a signer to open an address of ours.
const MAX_AWAITING_SCAN: usize = 2_000;

/// Of these, most that wait for a signer whose address a user has pasted: each may need three connections to relays.
const MAX_AWAITING_BUNKER: usize = 128;

/// What those of one network may be: one in so many.
const NETWORK_SHARE: usize = 8;

/// How long a login counts as waited for after its page was seen: phones suspend it while the signer's app is open.
const PROTECTION: Protection = Protection { after_seen: Duration::from_secs(90), longest: Duration::from_secs(300) };

pub(crate) struct SignerSlots {
    taken: HashMap<StreamId, Slot>,
    awaiting_scan: Places<StreamId>,
    awaiting_bunker: Places<StreamId>,
    all: Places<StreamId>,
    pages: HashMap<StreamId, usize>,
}

struct Slot {
    number: u32,
    ended: CancellationToken,
}

pub(crate) struct NewRequest {
    pub(crate) id: StreamId,
    pub(crate) number: u32,
    pub(crate) stage: SignerStage,
    /// Who has named the signer; `None` when the app has asked, or after a restart.
    pub(crate) network: Option<ClientNetwork>,
}

impl Default for SignerSlots {
    fn default() -> Self {
        let places = |total| {
            let (share, when_full) = (total / NETWORK_SHARE, WhenFull::AlwaysDisplace);
            Places::new(Limits { total, share, reserved: 0, when_full, protection: PROTECTION })
        };
        Self {
            taken: HashMap::new(),
            awaiting_scan: places(MAX_AWAITING_SCAN),
            awaiting_bunker: places(MAX_AWAITING_BUNKER),
            all: places(MAX_REQUESTS),
            pages: HashMap::new(),
        }
    }
}

impl SignerSlots {
    /// A request begins, in place of the operation's earlier one. Returns what is cancelled when it must end, and the requests
    /// that have ended for it, with their numbers.
    pub(crate) fn take(&mut self, new: NewRequest, now: Duration) -> (CancellationToken, Vec<(StreamId, u32)>) {
        let NewRequest { id, number, stage, network } = new;
        self.end(id);
        let ended = CancellationToken::new();
        self.taken.insert(id, Slot { number, ended: ended.clone() });
        let holder = network.map_or_else(|| Holder::crowd("unknown"), Holder::from);
        let of_stage = match stage {
            SignerStage::AwaitingScan => Some(&mut self.awaiting_scan),
            SignerStage::AwaitingBunker => Some(&mut self.awaiting_bunker),
            SignerStage::Connected => None,
        };
        let mut displaced = Vec::new();
        for places in of_stage.into_iter().chain([&mut self.all]) {
            // Somebody always makes room.
            displaced.extend(places.take(id, &holder, (), now).unwrap_or_default());
        }
        if self.pages.contains_key(&id) {
            self.change(id, Places::open, now);
        }
        let displaced = displaced.into_iter().filter_map(|(id, ())| Some((id, self.end(id)?))).collect();
        (ended, displaced)
    }

    fn tables(&mut self) -> [&mut Places<StreamId>; 3] {
        [&mut self.awaiting_scan, &mut self.awaiting_bunker, &mut self.all]
    }

    fn change(&mut self, id: StreamId, change: fn(&mut Places<StreamId>, &StreamId, Duration), now: Duration) {
        self.tables().into_iter().for_each(|places| change(places, &id, now));
    }

    pub(crate) fn connected(&mut self, id: StreamId, number: u32) {
        if self.taken.get(&id).is_some_and(|slot| slot.number == number) {
            self.awaiting_scan.free(&id);
            self.awaiting_bunker.free(&id);
        }
    }

    /// The operation is over, or asks another signer. Returns the request's number.
    pub(crate) fn end(&mut self, id: StreamId) -> Option<u32> {
        let slot = self.taken.remove(&id)?;
        slot.ended.cancel();
        self.tables().into_iter().for_each(|places| _ = places.free(&id));
        Some(slot.number)
    }

    pub(crate) fn ended(&mut self, id: StreamId, number: u32) {
        if self.taken.get(&id).is_some_and(|slot| slot.number == number) {
            self.end(id);
        }
    }

    pub(crate) fn page_seen(&mut self, id: StreamId, now: Duration) {
        self.change(id, Places::seen, now);
    }

    pub(crate) fn page_opened(&mut self, id: StreamId, now: Duration) {
        let pages = self.pages.entry(id).or_default();
        *pages += 1;
        if *pages == 1 {
            self.change(id, Places::open, now);
        }
    }

    pub(crate) fn page_closed(&mut self, id: StreamId, now: Duration) {
        let Some(pages) = self.pages.get_mut(&id) else { return };
        *pages = pages.saturating_sub(1);
        if *pages == 0 {
            self.pages.remove(&id);
            self.change(id, Places::close, now);
        } else {
            self.page_seen(id, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures;

    const NOW: Duration = Duration::from_secs(1_000);

    fn id(n: usize) -> StreamId {
        fixtures::id(n as u64)
    }

    fn network(n: usize) -> Option<ClientNetwork> {
        u32::try_from(n).ok().map(fixtures::network)
    }

    fn ask(slots: &mut SignerSlots, n: usize, stage: SignerStage, network: Option<ClientNetwork>) -> Vec<StreamId> {
        let (_, displaced) = slots.take(NewRequest { id: id(n), number: 1, stage, network }, NOW);
        displaced.into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn flood_of_one_address_takes_slots_from_itself_only() {
        for (stage, most) in
            [(SignerStage::AwaitingBunker, 16), (SignerStage::AwaitingScan, 250), (SignerStage::Connected, 512)]
        {
            let mut slots = SignerSlots::default();
            assert!(ask(&mut slots, 1, stage, network(1)).is_empty());
            for n in 2..=5_000 {
                let displaced = ask(&mut slots, n, stage, network(2));
                let expected: Vec<_> = (n > most + 1).then(|| id(n - most)).into_iter().collect();
                assert_eq!(displaced, expected, "{stage:?} {n}");
            }
            assert_eq!(slots.taken.len(), most + 1);
        }
    }

    /// Nine addresses, or a network of 52 bits, hold all slots with open pages.
    #[test]
    fn flood_of_open_pages_locks_nobody_out() {
        for stage in [SignerStage::AwaitingBunker, SignerStage::AwaitingScan, SignerStage::Connected] {
            let mut slots = SignerSlots::default();
            let flooding = |n: usize| {
                let address = format!("2001:db8:0:{:x}::1", (n % 16) << 8);
                Some(ClientNetwork::at(address.parse().unwrap()))
            };
            for n in 0..5_000 {
                ask(&mut slots, n, stage, flooding(n));
                slots.page_opened(id(n), NOW);
            }
            for n in 0..50 {
                let displaced = ask(&mut slots, 10_000 + n, stage, network(n));
                assert!(matches!(displaced[..], [gone] if gone < id(10_000)), "{stage:?} {displaced:?}");
                ask(&mut slots, 6_000 + n, stage, flooding(n));
            }
            assert!((0..50).all(|n| slots.taken.contains_key(&id(10_000 + n))), "{stage:?}");
        }
    }

    #[test]
    fn what_nobody_waits_for_goes_first() {
        let mut slots = SignerSlots::default();
        slots.page_opened(id(1), NOW);
        for n in 1..=16 {
            assert!(ask(&mut slots, n, SignerStage::AwaitingBunker, network(1)).is_empty());
        }
        let later = NOW + Duration::from_secs(60);
        slots.page_seen(id(2), later);
        slots.page_opened(id(3), NOW);
        slots.page_closed(id(3), later);
        let flood: Vec<_> =
            (101..131).flat_map(|n| ask(&mut slots, n, SignerStage::AwaitingBunker, network(1))).collect();
        assert_eq!(flood, (4..=16).chain(101..118).map(id).collect::<Vec<_>>());
        (118..131).for_each(|n| slots.page_opened(id(n), NOW));
        let mut next = |n| {
            let displaced = ask(&mut slots, n, SignerStage::AwaitingBunker, network(1));
            slots.page_opened(id(n), NOW);
            displaced
        };
        assert_eq!((201..205).flat_map(&mut next).collect::<Vec<_>>(), [2, 3, 1, 118].map(id));
    }

    #[test]
    fn signer_that_has_connected_is_displaced_by_none_that_has_not() {
        let mut slots = SignerSlots::default();
        ask(&mut slots, 0, SignerStage::AwaitingBunker, network(1));
        slots.connected(id(0), 1);
        slots.connected(id(0), 2);
        for n in 1..1_000 {
            assert!(!ask(&mut slots, n, SignerStage::AwaitingBunker, network(n % 20)).contains(&id(0)));
        }
        assert_eq!(slots.taken.len(), MAX_AWAITING_BUNKER + 1);
        assert!(ask(&mut slots, 0, SignerStage::AwaitingScan, network(1)).is_empty(), "it takes its own place");
        assert_eq!(slots.taken.len(), MAX_AWAITING_BUNKER + 1);
    }

    #[test]
    fn where_everybody_has_one_address_there_is_no_share() {
        let mut slots = SignerSlots::default();
        for n in 0..MAX_AWAITING_BUNKER {
            assert!(ask(&mut slots, n, SignerStage::AwaitingBunker, Some(ClientNetwork::Loopback)).is_empty());
        }
        assert_eq!(ask(&mut slots, 1_000, SignerStage::AwaitingBunker, Some(ClientNetwork::Loopback)), [id(0)]);
        assert!(slots.pages.is_empty());
    }
}
