//! The network from which a page is opened, as distinguished by the limits of pages.

use std::net::IpAddr;

use usher_places::{Holder, network};

/// The network of a page's client. A request extension, set by the server in front of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientNetwork {
    /// An address, possibly of a proxy that does not forward the client's; for IPv6, a network of 56 bits.
    Network(IpAddr),
    /// Loopback: clients of a proxy on this machine, or local ones.
    Loopback,
}

/// The source of a page request, for the audit log. A request extension, set by the server in front of the pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequestSource {
    /// The sender's address; empty if unknown.
    pub address: String,
    /// The id of the request, as in the service's log.
    pub request_id: String,
}

impl ClientNetwork {
    /// The network of this address. A provider assigns each customer an IPv6 network of 56 bits or smaller.
    pub fn at(address: IpAddr) -> Self {
        if address.to_canonical().is_loopback() { Self::Loopback } else { Self::Network(network(address, 56)) }
    }
}

impl From<ClientNetwork> for Holder {
    fn from(network: ClientNetwork) -> Self {
        match network {
            ClientNetwork::Network(address) => Self::at(address),
            ClientNetwork::Loopback => Self::crowd("loopback"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customers_of_a_provider_have_one_network_each() {
        let at = |text: &str| ClientNetwork::at(text.parse().unwrap());
        assert_eq!(at("127.0.0.1"), ClientNetwork::Loopback);
        assert_eq!(at("::ffff:127.0.0.1"), ClientNetwork::Loopback);
        assert_eq!(at("::1"), ClientNetwork::Loopback);
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
        assert_ne!(at("10.0.0.2"), at("10.0.0.1"));
        assert_eq!(at("2001:db8:0:12ff::1"), at("2001:db8:0:1200:ffff::2"));
        assert_ne!(at("2001:db8:0:1300::1"), at("2001:db8:0:1200::1"));
    }
}
