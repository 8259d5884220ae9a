//! The slots of requests to remote signers, and which one is displaced.
//!
//! Anybody can begin a login, name a signer and never sign. Refusing newcomers when all slots are taken would lock
//! everybody out. So a newcomer displaces another: of its own network if that has its share, otherwise of the network
//! that has the most. There, requests of logins without an open or recently seen page are displaced first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use usher_places::{Holder, Places, limit};

use crate::ports::SignerStage;
use crate::{ClientNetwork, StreamId};

pub(crate) struct SignerSlots {
    all: Places<StreamId, Slot>,
    awaiting_scan: Places<StreamId, Slot>,
    awaiting_bunker: Places<StreamId, Slot>,
    /// The number of open pages of each login.
    pages: HashMap<StreamId, usize>,
}

#[derive(Clone)]
struct Slot {
    number: u32,
    ended: CancellationToken,
}

pub(crate) struct NewRequest {
    pub(crate) id: StreamId,
    pub(crate) number: u32,
    pub(crate) stage: SignerStage,
    /// The network that named the signer; `None` if the app requested it, or after a restart.
    pub(crate) network: Option<ClientNetwork>,
}

impl Default for SignerSlots {
    fn default() -> Self {
        Self {
            all: Places::new(limit::SIGNER_REQUESTS.fixed()),
            awaiting_scan: Places::new(limit::SIGNERS_AWAITING_SCAN.fixed()),
            awaiting_bunker: Places::new(limit::SIGNERS_AWAITING_BUNKER.fixed()),
            pages: HashMap::new(),
        }
    }
}

impl SignerSlots {
    /// Takes a slot for a request, replacing the operation's earlier one. Returns the token that cancels the request,
    /// and the displaced requests with their numbers.
    pub(crate) fn take(&mut self, new: NewRequest, now: Duration) -> (CancellationToken, Vec<(StreamId, u32)>) {
        let NewRequest { id, number, stage, network } = new;
        self.end(id);
        let slot = Slot { number, ended: CancellationToken::new() };
        let holder = network.map_or_else(|| Holder::crowd("unknown"), Holder::from);
        let of_stage = match stage {
            SignerStage::AwaitingScan => Some(&mut self.awaiting_scan),
            SignerStage::AwaitingBunker => Some(&mut self.awaiting_bunker),
            SignerStage::Connected => None,
        };
        let mut displaced = Vec::new();
        for places in of_stage.into_iter().chain([&mut self.all]) {
            // A request is always displaced.
            displaced.extend(places.take(id, &holder, slot.clone(), now).unwrap_or_default());
        }
        for _ in 0..self.pages.get(&id).copied().unwrap_or_default() {
            self.change(id, Places::open, now);
        }
        let mut ended = Vec::new();
        for (id, slot) in displaced {
            // A request may be displaced twice.
            if !slot.ended.is_cancelled() {
                slot.ended.cancel();
                self.tables().into_iter().for_each(|places| _ = places.free(&id));
                ended.push((id, slot.number));
            }
        }
        (slot.ended, ended)
    }

    fn tables(&mut self) -> [&mut Places<StreamId, Slot>; 3] {
        [&mut self.awaiting_scan, &mut self.awaiting_bunker, &mut self.all]
    }

    fn change(&mut self, id: StreamId, change: fn(&mut Places<StreamId, Slot>, &StreamId, Duration), now: Duration) {
        self.tables().into_iter().for_each(|places| change(places, &id, now));
    }

    fn is_current(&self, id: StreamId, number: u32) -> bool {
        self.all.get(&id).is_some_and(|slot| slot.number == number)
    }

    pub(crate) fn connected(&mut self, id: StreamId, number: u32) {
        if self.is_current(id, number) {
            self.awaiting_scan.free(&id);
            self.awaiting_bunker.free(&id);
        }
    }

    /// Ends the request of an operation that is over, or uses another signer.
    pub(crate) fn end(&mut self, id: StreamId) {
        for places in self.tables() {
            if let Some(slot) = places.free(&id) {
                slot.ended.cancel();
            }
        }
    }

    pub(crate) fn ended(&mut self, id: StreamId, number: u32) {
        if self.is_current(id, number) {
            self.end(id);
        }
    }

    pub(crate) fn page_seen(&mut self, id: StreamId, now: Duration) {
        self.change(id, Places::seen, now);
    }

    pub(crate) fn page_opened(&mut self, id: StreamId, now: Duration) {
        *self.pages.entry(id).or_default() += 1;
        self.change(id, Places::open, now);
    }

    pub(crate) fn page_closed(&mut self, id: StreamId, now: Duration) {
        if let Entry::Occupied(mut pages) = self.pages.entry(id) {
            *pages.get_mut() -= 1;
            if *pages.get() == 0 {
                pages.remove();
            }
        }
        self.change(id, Places::close, now);
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
            for n in 2..=1_000 {
                let displaced = ask(&mut slots, n, stage, network(2));
                let expected: Vec<_> = (n > most + 1).then(|| id(n - most)).into_iter().collect();
                assert_eq!(displaced, expected, "{stage:?} {n}");
            }
            assert_eq!(slots.all.len(), most + 1);
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
        assert_eq!(slots.all.len(), 128 + 1);
        assert!(ask(&mut slots, 0, SignerStage::AwaitingScan, network(1)).is_empty(), "it takes its own place");
        assert_eq!(slots.all.len(), 128 + 1);
    }
}
