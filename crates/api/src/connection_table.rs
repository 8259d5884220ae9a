//! Which connections are open, and which of them are closed for a new one.
//!
//! Before its first request, the owner of a connection is unknown. Connections that have not sent the token are
//! therefore limited, in total and by address, and a new one replaces the oldest of them. A client with the token sends
//! it within moments of connecting. Its connection is safe until as many others as the limit have connected after it,
//! and from its first request on it is never replaced. So is that of a client with a key, but a key has a share: what it opens beyond
//! that, or beyond what all keys have, stays a connection that is replaced.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use usher_engine::Origin;

use crate::client_places::{most_of_key, reserved};
use crate::peer_address::PeerNetwork;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// In total.
    pub(crate) all: usize,
    /// Connections that have not sent the token.
    pub(crate) unauthenticated: usize,
    /// Connections from one address that have not sent the token.
    pub(crate) per_address: usize,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionTable(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// By number, hence the oldest first.
    unauthenticated: BTreeMap<u64, Unauthenticated>,
    by_address: HashMap<PeerNetwork, BTreeSet<u64>>,
    authenticated: usize,
    /// Those of `authenticated` that are of keys.
    by_key: HashMap<Origin, usize>,
    evicted: u64,
}

#[derive(Debug)]
struct Unauthenticated {
    address: Option<PeerNetwork>,
    close: CancellationToken,
}

/// How many connections are open, by whether they have sent the token, and how many were closed for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionCounts {
    pub(crate) authenticated: usize,
    pub(crate) unauthenticated: usize,
    pub(crate) evicted: u64,
}

/// The permit of a connection, held until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    table: ConnectionTable,
    number: u64,
    /// How many connections there can be.
    all: usize,
    held_by: Mutex<HeldBy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldBy {
    Anybody,
    Key(Origin),
    Token,
}

impl ConnectionTable {
    /// A permit for a connection of `peer`, and whether another connection was closed for it by cancelling its `close`;
    /// `None` when all are taken by clients that have sent the token.
    pub(crate) fn enter(
        &self,
        peer: Option<IpAddr>,
        close: CancellationToken,
        bounds: Bounds,
    ) -> Option<(ConnectionPermit, bool)> {
        let address = peer.and_then(PeerNetwork::of);
        let mut table = self.0.lock();
        let before = table.evicted;
        if let Some(oldest) = address.and_then(|address| table.oldest_above(address, bounds.per_address)) {
            table.evict(oldest);
        }
        while table.unauthenticated.len() >= bounds.unauthenticated
            || table.unauthenticated.len() + table.authenticated >= bounds.all
        {
            let oldest = *table.unauthenticated.first_key_value()?.0;
            table.evict(oldest);
        }
        let number = table.next;
        table.next += 1;
        table.unauthenticated.insert(number, Unauthenticated { address, close });
        if let Some(address) = address {
            table.by_address.entry(address).or_default().insert(number);
        }
        let evicted = table.evicted > before;
        drop(table);
        let held_by = Mutex::new(HeldBy::Anybody);
        Some((ConnectionPermit { table: self.clone(), number, all: bounds.all, held_by }, evicted))
    }

    pub(crate) fn counts(&self) -> ConnectionCounts {
        let table = self.0.lock();
        ConnectionCounts {
            authenticated: table.authenticated,
            unauthenticated: table.unauthenticated.len(),
            evicted: table.evicted,
        }
    }
}

impl Table {
    /// The oldest connection of an address that has as many as it may.
    fn oldest_above(&self, address: PeerNetwork, most: usize) -> Option<u64> {
        let connections = self.by_address.get(&address).filter(|connections| connections.len() >= most)?;
        connections.first().copied()
    }

    /// Whether a key may have one more connection that is not replaced.
    fn has_room_for(&self, key: Origin, all: usize) -> bool {
        let of_keys: usize = self.by_key.values().sum();
        let of_key = self.by_key.get(&key).copied().unwrap_or_default();
        of_key < most_of_key(all) && of_keys < all - reserved(all)
    }

    fn leave_key(&mut self, key: Origin) {
        if let Some(count) = self.by_key.get_mut(&key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_key.remove(&key);
            }
        }
    }

    fn evict(&mut self, number: u64) {
        if let Some(connection) = self.remove(number) {
            connection.close.cancel();
            self.evicted += 1;
        }
    }

    fn remove(&mut self, number: u64) -> Option<Unauthenticated> {
        let connection = self.unauthenticated.remove(&number)?;
        if let Some(address) = connection.address
            && let Some(connections) = self.by_address.get_mut(&address)
        {
            connections.remove(&number);
            if connections.is_empty() {
                self.by_address.remove(&address);
            }
        }
        Some(connection)
    }
}

impl ConnectionPermit {
    /// The connection no longer counts against its address. It can still be closed for another one until it has sent the token.
    pub(crate) fn leave_address(&self) {
        let mut table = self.table.0.lock();
        if let Some(mut connection) = table.remove(self.number) {
            connection.address = None;
            table.unauthenticated.insert(self.number, connection);
        }
    }

    /// The connection has sent a key, or with `None` the token: it keeps its place from now on, if there is room for the key.
    /// Nothing when it was closed in that moment.
    pub(crate) fn authenticate(&self, client: Option<Origin>) {
        let mut held_by = self.held_by.lock();
        match (*held_by, client) {
            (HeldBy::Token, _) | (HeldBy::Key(_), Some(_)) => {}
            // A proxy sends the requests of many clients over one connection.
            (HeldBy::Key(key), None) => {
                self.table.0.lock().leave_key(key);
                *held_by = HeldBy::Token;
            }
            (HeldBy::Anybody, client) => {
                let mut table = self.table.0.lock();
                if client.is_some_and(|key| !table.has_room_for(key, self.all)) || table.remove(self.number).is_none() {
                    return;
                }
                table.authenticated += 1;
                *held_by = client.map_or(HeldBy::Token, HeldBy::Key);
                if let Some(key) = client {
                    *table.by_key.entry(key).or_default() += 1;
                }
            }
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let held_by = *self.held_by.lock();
        let mut table = self.table.0.lock();
        match held_by {
            HeldBy::Anybody => drop(table.remove(self.number)),
            HeldBy::Key(_) | HeldBy::Token => table.authenticated = table.authenticated.saturating_sub(1),
        }
        if let HeldBy::Key(key) = held_by {
            table.leave_key(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Bounds = Bounds { all: 10, unauthenticated: 5, per_address: 2 };

    fn ip(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, number]))
    }

    struct Connection(Option<ConnectionPermit>, CancellationToken);

    impl Connection {
        fn open(table: &ConnectionTable, peer: Option<IpAddr>) -> Self {
            let close = CancellationToken::new();
            Self(table.enter(peer, close.clone(), BOUNDS).map(|(place, _)| place), close)
        }

        fn is_open(&self) -> bool {
            self.0.is_some() && !self.1.is_cancelled()
        }
    }

    #[test]
    fn one_address_evicts_only_its_own_connections() {
        let table = ConnectionTable::default();
        let other = Connection::open(&table, ip(1));
        let flood: Vec<_> = (0..100).map(|_| Connection::open(&table, ip(2))).collect();
        assert!(other.is_open());
        let left: Vec<_> = flood.iter().map(Connection::is_open).collect();
        assert_eq!(left.iter().filter(|open| **open).count(), 2);
        assert!(left[98] && left[99], "the newest");
    }

    #[test]
    fn oldest_connection_of_many_addresses_is_evicted() {
        let table = ConnectionTable::default();
        let all: Vec<_> = (0..100).map(|number| Connection::open(&table, ip(number))).collect();
        let left: Vec<_> = (0..100).filter(|number| all[*number].is_open()).collect();
        assert_eq!(left, [95, 96, 97, 98, 99]);
        assert_eq!(table.counts().evicted, 95);
    }

    #[test]
    fn authenticated_connections_are_never_evicted() {
        let table = ConnectionTable::default();
        let trusted: Vec<_> = (0..8)
            .map(|_| {
                let connection = Connection::open(&table, ip(1));
                connection.0.as_ref().unwrap().authenticate(None);
                connection
            })
            .collect();
        let others: Vec<_> = (0..100).map(|number| Connection::open(&table, ip(number))).collect();
        assert!(trusted.iter().all(Connection::is_open));
        assert_eq!(others.iter().filter(|other| other.is_open()).count(), 2, "what is left of all");
        let more = Connection::open(&table, None);
        more.0.as_ref().unwrap().authenticate(None);
        let last = Connection::open(&table, None);
        last.0.as_ref().unwrap().authenticate(None);
        assert!(last.is_open() && more.is_open());
        assert!(!Connection::open(&table, ip(7)).is_open(), "all places are taken by those with the token");
        drop(trusted);
        assert!(Connection::open(&table, ip(7)).is_open());
    }

    #[test]
    fn connections_of_a_key_beyond_its_share_are_evicted_and_keys_leave_some_to_the_token() {
        let table = ConnectionTable::default();
        let open = |client| {
            let connection = Connection::open(&table, ip(1));
            connection.0.as_ref().unwrap().authenticate(client);
            connection
        };
        let all = |key: i64| -> Vec<_> { (0..4).map(|_| open(Some(Origin(key)))).collect() };
        let keys: Vec<_> = (1..=6).flat_map(all).collect();
        // Two of ten each; the fifth and the last are left to others.
        assert_eq!(table.counts().authenticated, 9);
        let tokens = open(None);
        let others: Vec<_> = (0..50).map(|number| Connection::open(&table, ip(number))).collect();
        assert!(tokens.is_open());
        assert_eq!(keys.iter().filter(|key| key.is_open()).count(), 9);
        drop((keys, others));
        // One that a proxy uses for several clients is the token's, once that has used it.
        let shared = open(Some(Origin(1)));
        shared.0.as_ref().unwrap().authenticate(None);
        assert!(table.0.lock().by_key.is_empty());
    }

    proptest! {
        #[test]
        fn counts_match_the_open_connections(steps in proptest::collection::vec((0..3_u8, 0..6_u8, any::<prop::sample::Index>()), 0..200)) {
            let table = ConnectionTable::default();
            let mut open: Vec<Connection> = Vec::new();
            for (what, peer, which) in steps {
                match what {
                    0 => open.push(Connection::open(&table, if peer == 0 { None } else { ip(peer) })),
                    1 if !open.is_empty() => drop(open.swap_remove(which.index(open.len()))),
                    _ if !open.is_empty() => {
                        if let Some(place) = &open[which.index(open.len())].0 {
                            place.authenticate((peer > 2).then_some(Origin(peer.into())));
                        }
                    }
                    _ => {}
                }
                // One that was closed lets go of its place.
                open.retain(Connection::is_open);
                let counts = table.counts();
                prop_assert_eq!(counts.authenticated + counts.unauthenticated, open.len());
                prop_assert!(open.len() <= BOUNDS.all && counts.unauthenticated <= BOUNDS.unauthenticated);
            }
            drop(open);
            let counts = table.counts();
            prop_assert_eq!((counts.authenticated, counts.unauthenticated), (0, 0));
            let table = table.0.lock();
            prop_assert!(table.by_address.is_empty() && table.by_key.is_empty());
        }
    }
}
