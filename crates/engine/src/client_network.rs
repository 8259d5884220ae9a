//! The network from which a page is opened, as far as the limits of pages tell people apart.

use std::net::IpAddr;

use usher_places::{Holder, network};

/// From where a page is opened. A request extension: the server in front of the pages sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientNetwork {
    /// Those at this address, which may be that of a proxy that names nobody; of IPv6, those in this network of 56 bits.
    Network(IpAddr),
    /// All who come over loopback: through a proxy on this machine, or from it.
    Loopback,
}

/// What the audit log says of a request for a page. A request extension: the server in front of the pages sets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequestSource {
    /// The address of whoever sent it; empty if unknown.
    pub address: String,
    /// The id of the request, by which the log of the service has more.
    pub request_id: String,
}

impl ClientNetwork {
    /// Who is at this address. A provider gives each of its customers an IPv6 network of 56 bits, or a smaller one.
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
