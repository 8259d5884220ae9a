//! The open connections, and which of them are evicted for a new one.
//!
//! Before its first request, the owner of a connection is unknown. Connections that have not sent the token are
//! therefore limited, in total and by address, and a new one replaces the oldest of them. A client with the token sends
//! it within moments of connecting. Its connection is safe until as many others as the limit have connected after it,
//! and from its first request on it is never replaced. The same holds for the connections of a key within its share.
//! Connections beyond that share, or beyond the share of all keys, may be replaced.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use usher_engine::Origin;
use usher_places::{Holder, Limits, Places, limit};

use crate::client_places::holder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// In total.
    pub(crate) all: usize,
    /// Connections that have not sent the token.
    pub(crate) unauthenticated: usize,
    /// Connections from one address that have not sent the token.
    pub(crate) per_address: usize,
}

#[derive(Clone)]
pub(crate) struct ConnectionTable(Arc<Mutex<Table>>);

struct Table {
    next: u64,
    /// By number, each with the token that closes it.
    unauthenticated: Places<u64, CancellationToken>,
    authenticated: Places<u64>,
    evicted: u64,
}

/// The number of open connections, by whether they have sent the token, and of evicted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionCounts {
    pub(crate) authenticated: usize,
    pub(crate) unauthenticated: usize,
    pub(crate) evicted: u64,
}

/// The permit of a connection, held until it is dropped.
pub(crate) struct ConnectionPermit {
    table: ConnectionTable,
    number: u64,
}

impl Default for ConnectionTable {
    fn default() -> Self {
        let unauthenticated = Places::new(limit::UNAUTHENTICATED_CONNECTIONS.fixed());
        let authenticated = Places::new(limit::AUTHENTICATED_CONNECTIONS.fixed());
        Self(Arc::new(Mutex::new(Table { next: 0, unauthenticated, authenticated, evicted: 0 })))
    }
}

impl ConnectionTable {
    /// A permit for a connection of `peer`, and whether another connection was evicted for it by cancelling its
    /// `close`. `None` if clients with the token hold all permits.
    pub(crate) fn enter(
        &self,
        peer: Option<IpAddr>,
        close: CancellationToken,
        bounds: Bounds,
    ) -> Option<(ConnectionPermit, bool)> {
        let Table { next, unauthenticated, authenticated, evicted } = &mut *self.0.lock();
        authenticated.set_limits(limit::AUTHENTICATED_CONNECTIONS.of(bounds.all));
        let most = bounds.unauthenticated.min(bounds.all.saturating_sub(authenticated.len()));
        unauthenticated.set_limits(Limits { share: bounds.per_address, ..limit::UNAUTHENTICATED_CONNECTIONS.of(most) });
        let holder = peer.map_or_else(|| Holder::crowd("unknown"), Holder::host);
        let displaced = unauthenticated.take(*next, &holder, close, Duration::ZERO).ok()?;
        for (_, close) in &displaced {
            close.cancel();
            *evicted += 1;
        }
        *next += 1;
        Some((ConnectionPermit { table: self.clone(), number: *next - 1 }, !displaced.is_empty()))
    }

    pub(crate) fn counts(&self) -> ConnectionCounts {
        let table = self.0.lock();
        ConnectionCounts {
            authenticated: table.authenticated.len(),
            unauthenticated: table.unauthenticated.len(),
            evicted: table.evicted,
        }
    }
}

impl ConnectionPermit {
    /// The connection no longer counts against its address. It may still be evicted until it has sent the token.
    pub(crate) fn leave_address(&self) {
        self.table.0.lock().unauthenticated.set_holder(&self.number, Holder::crowd("forwarded"));
    }

    /// Records that the connection has sent a key, or the token (`None`): it is no longer evicted, if the key has room.
    /// Without effect if it was closed at that moment.
    pub(crate) fn authenticate(&self, client: Option<Origin>) {
        let Table { unauthenticated, authenticated, .. } = &mut *self.table.0.lock();
        if unauthenticated.get(&self.number).is_some() {
            if authenticated.take(self.number, &holder(client), (), Duration::ZERO).is_ok() {
                unauthenticated.free(&self.number);
            }
        } else if client.is_none() {
            // A proxy sends requests of several clients over one connection.
            authenticated.set_holder(&self.number, Holder::operator());
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut table = self.table.0.lock();
        table.unauthenticated.free(&self.number);
        table.authenticated.free(&self.number);
    }
}

#[cfg(test)]
mod tests {
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
    fn one_address_evicts_its_own_connections_and_many_the_oldest() {
        let table = ConnectionTable::default();
        let other = Connection::open(&table, ip(1));
        let flood: Vec<_> = (0..100).map(|_| Connection::open(&table, ip(2))).collect();
        assert!(other.is_open());
        let left: Vec<_> = flood.iter().map(Connection::is_open).collect();
        assert_eq!(left.iter().filter(|open| **open).count(), 2);
        assert!(left[98] && left[99], "the newest");
        drop((other, flood));
        let all: Vec<_> = (0..100).map(|number| Connection::open(&table, ip(number))).collect();
        let left: Vec<_> = (0..100).filter(|number| all[*number].is_open()).collect();
        assert_eq!(left, [95, 96, 97, 98, 99]);
        assert_eq!(table.counts(), ConnectionCounts { authenticated: 0, unauthenticated: 5, evicted: 98 + 95 });
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
        // Two of ten for each key; the fifth and the last connection are left to others.
        assert_eq!(table.counts().authenticated, 9);
        let tokens = open(None);
        let others: Vec<_> = (0..50).map(|number| Connection::open(&table, ip(number))).collect();
        assert!(tokens.is_open());
        assert_eq!(keys.iter().filter(|key| key.is_open()).count(), 9);
        drop((keys, others));
        // A connection with several clients of a proxy belongs to the token, once the token was used.
        let shared = open(Some(Origin(1)));
        shared.0.as_ref().unwrap().authenticate(None);
        let more = [open(Some(Origin(1))), open(Some(Origin(1)))];
        assert_eq!((table.counts().authenticated, more.iter().all(Connection::is_open)), (4, true));
    }
}
