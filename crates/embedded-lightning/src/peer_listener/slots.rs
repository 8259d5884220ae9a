//! Which connections by peers there are, and which of them makes room for another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// How far a connection is. Those that are less far make room first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// The peer has sent nothing of the handshake.
    Silent,
    /// The handshake is under way.
    Handshake,
    /// The peer has finished the handshake. Such a connection never makes room.
    Established,
}

/// The connections that exist at once.
#[derive(Debug)]
pub(super) struct Slots {
    total: usize,
    per_source: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// By age, the oldest first.
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    source: IpAddr,
    stage: Stage,
    close: CancellationToken,
}

/// The place of one connection, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
    /// Cancelled when the connection must make room, or all are closed.
    pub(super) close: CancellationToken,
}

/// What became of a new connection.
#[derive(Debug)]
pub(super) enum Admission {
    /// There was room.
    Free(Slot),
    /// Another connection was closed for it.
    InsteadOfAnother(Slot),
    /// All connections that could make room are established.
    Refused,
}

impl Slots {
    pub(super) fn new(total: usize, per_source: usize) -> Self {
        Self { total, per_source, state: Mutex::default() }
    }

    /// Finds a place for a connection from this address.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr, stop: &CancellationToken) -> Admission {
        let source = source(address);
        let mut state = self.state.lock();
        let same = state.connections.values().filter(|connection| connection.source == source).count();
        let victim = if same >= self.per_source {
            Some(state.victim(|connection| connection.source == source))
        } else if state.connections.len() >= self.total {
            Some(state.victim(|_| true))
        } else {
            None
        };
        let close = stop.child_token();
        let slot = |state: &mut State| {
            let number = state.next;
            state.next += 1;
            state.connections.insert(number, Connection { source, stage: Stage::Silent, close: close.clone() });
            Slot { slots: Arc::clone(self), number, close: close.clone() }
        };
        match victim {
            None => Admission::Free(slot(&mut state)),
            Some(None) => Admission::Refused,
            Some(Some(victim)) => {
                if let Some(closed) = state.connections.remove(&victim) {
                    closed.close.cancel();
                }
                Admission::InsteadOfAnother(slot(&mut state))
            }
        }
    }

    #[cfg(test)]
    pub(super) fn stages(&self) -> Vec<Stage> {
        self.state.lock().connections.values().map(|connection| connection.stage).collect()
    }
}

impl State {
    /// The connection that makes room: one that is least far; of those one whose address has the most unfinished ones, so that
    /// a flood from a few addresses closes its own; of those the oldest.
    fn victim(&self, of: impl Fn(&Connection) -> bool) -> Option<u64> {
        let unfinished = || {
            self.connections.iter().filter(|(_, connection)| connection.stage < Stage::Established && of(connection))
        };
        let mut crowds: HashMap<IpAddr, usize> = HashMap::new();
        for (_, connection) in unfinished() {
            *crowds.entry(connection.source).or_default() += 1;
        }
        let crowd = |source| crowds.get(source).copied().unwrap_or_default();
        unfinished()
            .min_by_key(|(number, connection)| (connection.stage, Reverse(crowd(&connection.source)), **number))
            .map(|(number, _)| *number)
    }
}

impl Slot {
    /// The connection has come so far.
    pub(super) fn reach(&self, stage: Stage) {
        if let Some(connection) = self.slots.state.lock().connections.get_mut(&self.number) {
            connection.stage = stage;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.state.lock().connections.remove(&self.number);
    }
}

/// Whom connections are counted for: an IPv4 address, or the 64 bits of an IPv6 address that a network is given.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(admission: Admission) -> Slot {
        match admission {
            Admission::Free(slot) | Admission::InsteadOfAnother(slot) => slot,
            Admission::Refused => panic!("refused"),
        }
    }

    fn from(slots: &Arc<Slots>, last: u8) -> Admission {
        slots.admit([192, 0, 2, last].into(), &CancellationToken::new())
    }

    #[test]
    fn an_address_has_its_share_and_closes_its_own() {
        let slots = Arc::new(Slots::new(100, 2));
        let other = slot(from(&slots, 1));
        let (first, second) = (slot(from(&slots, 2)), slot(from(&slots, 2)));
        first.reach(Stage::Handshake);
        let third = from(&slots, 2);
        assert!(matches!(third, Admission::InsteadOfAnother(_)), "{third:?}");
        let third = slot(third);
        assert!(second.close.is_cancelled() && !first.close.is_cancelled() && !other.close.is_cancelled());
        first.reach(Stage::Established);
        third.reach(Stage::Established);
        assert!(matches!(from(&slots, 2), Admission::Refused));
        drop(third);
        assert!(matches!(from(&slots, 2), Admission::Free(_)));
    }

    #[test]
    fn when_all_are_taken_the_crowd_that_is_least_far_makes_room() {
        let slots = Arc::new(Slots::new(5, 4));
        let established = slot(from(&slots, 1));
        established.reach(Stage::Established);
        let shaking = slot(from(&slots, 2));
        shaking.reach(Stage::Handshake);
        let alone = slot(from(&slots, 3));
        let crowd = [slot(from(&slots, 4)), slot(from(&slots, 4))];
        let fifth = slot(from(&slots, 5));
        assert!(crowd[0].close.is_cancelled() && !crowd[1].close.is_cancelled());
        let sixth = slot(from(&slots, 6));
        assert!(alone.close.is_cancelled(), "the oldest of those that are alone");
        assert!(!crowd[1].close.is_cancelled() && !shaking.close.is_cancelled());
        for slot in [&crowd[1], &fifth, &sixth, &shaking] {
            slot.reach(Stage::Established);
        }
        assert!(matches!(from(&slots, 7), Admission::Refused));
        assert_eq!(slots.stages(), [Stage::Established; 5]);
        drop((alone, established, shaking, crowd, fifth, sixth));
        assert_eq!(slots.stages(), []);
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let of = |text: &str| source(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::2"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn all_are_closed_together() {
        let (slots, stop) = (Arc::new(Slots::new(5, 4)), CancellationToken::new());
        let slot = slot(slots.admit([192, 0, 2, 1].into(), &stop));
        stop.cancel();
        assert!(slot.close.is_cancelled());
    }
}
