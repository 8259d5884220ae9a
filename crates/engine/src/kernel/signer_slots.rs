//! The slots of requests to remote signers, and which one makes room.
//!
//! Anybody can begin a login, name a signer and never sign. If newcomers were refused when all slots are taken, that
//! would lock everybody out. So a newcomer takes the slot of another:
//!
//! 1. A visitor who has their share of the slots takes it from themselves.
//! 2. Otherwise those go first whose login's page nobody has open or has seen lately, and of them the one that began
//!    first.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::per_network_limit::quota;
use crate::ports::SignerStage;
use crate::{ClientNetwork, StreamId};

/// Requests at the same time.
const MAX_REQUESTS: usize = 4_096;

/// Of these, most that wait for a signer to open an address of ours.
const MAX_AWAITING_SCAN: usize = 2_000;

/// Of these, most that wait for a signer whose address a user has pasted: each may need three connections to relays.
const MAX_AWAITING_BUNKER: usize = 128;

/// How long a login counts as waited for after its page was seen: phones suspend it while the signer's app is open.
const SEEN_LATELY: Duration = Duration::from_secs(90);

#[derive(Default)]
pub(crate) struct SignerSlots {
    taken: BTreeMap<StreamId, Slot>,
    pages: HashMap<StreamId, usize>,
    begun: u64,
}

struct Slot {
    number: u32,
    ended: CancellationToken,
    stage: SignerStage,
    network: Option<ClientNetwork>,
    begun: u64,
    seen_at: Option<Duration>,
}

pub(crate) struct NewRequest {
    pub(crate) id: StreamId,
    pub(crate) number: u32,
    pub(crate) stage: SignerStage,
    /// Who has named the signer; `None` when the app has asked, or after a restart.
    pub(crate) network: Option<ClientNetwork>,
}

impl SignerSlots {
    /// A request begins, in place of the operation's earlier one. Returns what is cancelled when it must end, and the requests
    /// that have ended for it, with their numbers.
    pub(crate) fn take(&mut self, new: NewRequest, now: Duration) -> (CancellationToken, Vec<(StreamId, u32)>) {
        let NewRequest { id, number, stage, network } = new;
        self.end(id);
        self.begun += 1;
        let ended = CancellationToken::new();
        let slot = Slot { number, ended: ended.clone(), stage, network, begun: self.begun, seen_at: None };
        self.taken.insert(id, slot);
        let room = match stage {
            SignerStage::AwaitingScan => Some(MAX_AWAITING_SCAN),
            SignerStage::AwaitingBunker => Some(MAX_AWAITING_BUNKER),
            SignerStage::Connected => None,
        };
        let mut displaced = Vec::new();
        for (stage, most) in room.map(|most| (Some(stage), most)).into_iter().chain([(None, MAX_REQUESTS)]) {
            let is_in_room = |slot: &Slot| stage.is_none_or(|stage| slot.stage == stage);
            let is_of_network = |slot: &Slot| slot.network == network && is_in_room(slot);
            if let Some(quota) = network.and_then(|network| quota(network, most)) {
                displaced.extend(self.displace(quota, id, now, is_of_network));
            }
            displaced.extend(self.displace(most, id, now, is_in_room));
        }
        (ended, displaced)
    }

    /// Ends one of the considered requests if there are more than `most`, and not that of the newcomer.
    fn displace(
        &mut self,
        most: usize,
        newcomer: StreamId,
        now: Duration,
        is_considered: impl Fn(&Slot) -> bool,
    ) -> Option<(StreamId, u32)> {
        let considered = || self.taken.iter().filter(|(_, slot)| is_considered(slot));
        if considered().count() <= most {
            return None;
        }
        let others = considered().filter(|(id, _)| **id != newcomer);
        let (id, _) = others.min_by_key(|(id, slot)| {
            let is_seen = slot.seen_at.is_some_and(|at| now.saturating_sub(at) < SEEN_LATELY);
            (self.pages.contains_key(id), is_seen, slot.begun)
        })?;
        let id = *id;
        self.end(id).map(|number| (id, number))
    }

    pub(crate) fn connected(&mut self, id: StreamId, number: u32) {
        if let Some(slot) = self.taken.get_mut(&id).filter(|slot| slot.number == number) {
            slot.stage = SignerStage::Connected;
        }
    }

    /// The operation is over, or asks another signer. Returns the request's number.
    pub(crate) fn end(&mut self, id: StreamId) -> Option<u32> {
        let slot = self.taken.remove(&id)?;
        slot.ended.cancel();
        Some(slot.number)
    }

    pub(crate) fn ended(&mut self, id: StreamId, number: u32) {
        if self.taken.get(&id).is_some_and(|slot| slot.number == number) {
            self.taken.remove(&id);
        }
    }

    pub(crate) fn page_seen(&mut self, id: StreamId, now: Duration) {
        if let Some(slot) = self.taken.get_mut(&id) {
            slot.seen_at = Some(now);
        }
    }

    pub(crate) fn page_opened(&mut self, id: StreamId) {
        *self.pages.entry(id).or_default() += 1;
    }

    pub(crate) fn page_closed(&mut self, id: StreamId, now: Duration) {
        if let Some(pages) = self.pages.get_mut(&id) {
            *pages = pages.saturating_sub(1);
            if *pages == 0 {
                self.pages.remove(&id);
            }
        }
        self.page_seen(id, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    fn id(n: usize) -> StreamId {
        StreamId::from_parts(1_800_000_000_000 + u64::try_from(n).unwrap(), [0; 10])
    }

    fn network(n: usize) -> Option<ClientNetwork> {
        Some(ClientNetwork::Network(u32::try_from(n).unwrap().to_be_bytes().into()))
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

    #[test]
    fn many_addresses_displace_what_nobody_waits_for_first() {
        let mut slots = SignerSlots::default();
        slots.page_opened(id(1));
        for n in 1..=4 {
            assert!(ask(&mut slots, n, SignerStage::AwaitingBunker, network(n)).is_empty());
        }
        slots.page_seen(id(2), NOW);
        slots.page_opened(id(3));
        slots.page_closed(id(3), NOW);
        for n in 5..=MAX_AWAITING_BUNKER {
            assert!(ask(&mut slots, n, SignerStage::AwaitingBunker, network(n)).is_empty());
        }
        let flood: Vec<_> =
            (1_001..1_301).flat_map(|n| ask(&mut slots, n, SignerStage::AwaitingBunker, network(n))).collect();
        let expected = (4..=MAX_AWAITING_BUNKER).chain(1_001..1_176);
        assert_eq!(flood, expected.map(id).collect::<Vec<_>>());

        // All are waited for: it is the one that began first, but first those whose pages are not open any more.
        for n in 1_176..1_301 {
            slots.page_opened(id(n));
        }
        let more = (2_001..2_005).flat_map(|n| {
            let displaced = ask(&mut slots, n, SignerStage::AwaitingBunker, network(n));
            slots.page_opened(id(n));
            displaced
        });
        assert_eq!(more.collect::<Vec<_>>(), [2, 3, 1, 1_176].map(id));
    }

    #[test]
    fn page_that_was_seen_long_ago_is_not_waited_for() {
        let mut slots = SignerSlots::default();
        for n in 0..MAX_AWAITING_BUNKER {
            ask(&mut slots, n, SignerStage::AwaitingBunker, network(n));
            slots.page_seen(id(n), NOW);
        }
        slots.page_seen(id(7), NOW.saturating_sub(SEEN_LATELY));
        assert_eq!(ask(&mut slots, 1_000, SignerStage::AwaitingBunker, network(1_000)), [id(7)]);
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
