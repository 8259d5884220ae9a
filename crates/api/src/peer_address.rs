//! The peer of a connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address of the peer of the request's connection. A request extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The address of whoever sent the request: the peer, or whom a trusted proxy forwards. A request extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// What limits per address count as one address: for IPv6 a network of 64 bits, which one host usually has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PeerNetwork(IpAddr);

impl PeerNetwork {
    /// The network of a peer; `None` for loopback, the address of everybody behind a proxy on this machine, and of the app.
    pub(crate) fn of(peer: IpAddr) -> Option<Self> {
        match peer.to_canonical() {
            address if address.is_loopback() => None,
            IpAddr::V4(address) => Some(Self(IpAddr::V4(address))),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Some(Self(IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))))
            }
        }
    }

    /// As [`of`](Self::of), with loopback as a network like any other.
    pub(crate) fn or_loopback(peer: Option<IpAddr>) -> Self {
        peer.and_then(Self::of).unwrap_or(Self(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_networks_group_ipv6_by_64_bits() {
        let network = |text: &str| PeerNetwork::of(text.parse().unwrap());
        assert_eq!(network("127.0.0.1"), None);
        assert_eq!(network("::ffff:127.0.0.1"), None);
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
    }
}
