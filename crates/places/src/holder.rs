use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The widths at which networks are counted, widest first. A provider assigns 56 bits of IPv6 or fewer to a customer,
/// 48 to a company, and 40 can be rented.
const IPV6_WIDTHS: [u8; 3] = [40, 48, 56];
const IPV4_WIDTHS: [u8; 2] = [24, 32];

/// The IPv6 network that usually belongs to one host.
const HOST_WIDTH: u8 = 64;

/// The holder of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// Its groups, widest first.
    pub(crate) groups: Vec<Group>,
    pub(crate) has_share: bool,
}

/// A group that is counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Group {
    Network(IpAddr, u8),
    Key(Arc<str>),
    Crowd(&'static str),
}

/// The first bits of an address: `ipv6` of IPv6, or `ipv4` of IPv4.
fn masked(address: IpAddr, ipv6: u8, ipv4: u8) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - u32::from(ipv4)))).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - u32::from(ipv6)))).into(),
    }
}

/// The part of an address that is counted as one: an IPv4 address, or an IPv6 network of this many bits (1 to 128).
pub fn network(address: IpAddr, ipv6_bits: u8) -> IpAddr {
    masked(address, ipv6_bits, 32)
}

impl Holder {
    /// Clients at this address, or in its IPv6 network of 56 bits. Loopback may be anybody.
    pub fn at(address: IpAddr) -> Self {
        let of = |width| Group::Network(masked(address, width, width), width);
        match address.to_canonical() {
            address if address.is_loopback() => Self::crowd("loopback"),
            IpAddr::V4(_) => Self { groups: IPV4_WIDTHS.map(of).to_vec(), has_share: true },
            IpAddr::V6(_) => Self { groups: IPV6_WIDTHS.map(of).to_vec(), has_share: true },
        }
    }

    /// As [`at`](Self::at), with 64 bits of IPv6, and without wider networks.
    pub fn host(address: IpAddr) -> Self {
        if address.to_canonical().is_loopback() {
            return Self::crowd("loopback");
        }
        Self { groups: vec![Group::Network(network(address, HOST_WIDTH), HOST_WIDTH)], has_share: true }
    }

    /// A key of any kind, by its id.
    pub fn key(id: &str) -> Self {
        Self { groups: vec![Group::Key(id.into())], has_share: true }
    }

    /// All clients that cannot be distinguished, under a common name. No share limit: they may be all clients.
    pub fn crowd(name: &'static str) -> Self {
        Self { groups: vec![Group::Crowd(name)], has_share: false }
    }

    /// The operator: has no share limit, may take reserved places, and is never displaced.
    pub const fn operator() -> Self {
        Self { groups: Vec::new(), has_share: false }
    }

    pub(crate) const fn is_operator(&self) -> bool {
        self.groups.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(holder: Holder) -> Vec<String> {
        let name = |group: Group| match group {
            Group::Network(address, width) => format!("{address}/{width}"),
            group => format!("{group:?}"),
        };
        holder.groups.into_iter().map(name).collect()
    }

    #[test]
    fn addresses_belong_to_networks_of_several_widths() {
        let at = |address: &str| groups(Holder::at(address.parse().unwrap()));
        assert_eq!(at("192.0.2.7"), ["192.0.2.0/24", "192.0.2.7/32"]);
        assert_eq!(at("::ffff:192.0.2.7"), at("192.0.2.7"));
        let customer = ["2001:db8:ff00::/40", "2001:db8:ff12::/48", "2001:db8:ff12:5600::/56"];
        assert_eq!(at("2001:db8:ff12:5678:9abc::1"), customer);
        assert_eq!(at("2001:db8:ff12:56ff::1"), customer);
        assert_ne!(at("2001:db8:ff12:5778::1"), customer);
    }

    #[test]
    fn hosts_have_64_bits_and_loopback_is_a_crowd() {
        let host = |address: &str| Holder::host(address.parse().unwrap());
        assert_eq!(groups(host("2001:db8::1:2:3:4")), ["2001:db8::/64"]);
        assert_eq!(host("::ffff:10.0.0.1"), host("10.0.0.1"));
        assert_ne!(host("10.0.0.2"), host("10.0.0.1"));
        for loopback in ["127.0.0.1", "::1", "::ffff:127.0.0.1"].map(|address| address.parse().unwrap()) {
            assert_eq!((Holder::at(loopback), Holder::host(loopback).has_share), (Holder::crowd("loopback"), false));
        }
    }
}
