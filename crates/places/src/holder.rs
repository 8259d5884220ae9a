use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The widths at which networks are counted, the widest first. A provider gives each customer 56 bits of IPv6 or fewer, a company 48,
/// and who rents a range gets 40.
const IPV6_WIDTHS: [u8; 3] = [40, 48, 56];
const IPV4_WIDTHS: [u8; 2] = [24, 32];

/// Who holds a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The groups that it belongs to, the widest first.
    pub(crate) groups: Vec<Group>,
    pub(crate) has_share: bool,
}

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Group {
    Network(IpAddr, u8),
    Key(Arc<str>),
    Crowd(&'static str),
}

impl Holder {
    /// Whoever is at this address, or in the same IPv6 network of 56 bits.
    pub fn at(address: IpAddr) -> Self {
        let groups = match address.to_canonical() {
            IpAddr::V4(address) => IPV4_WIDTHS
                .map(|width| {
                    let mask = u32::MAX << (32 - u32::from(width));
                    Group::Network(Ipv4Addr::from_bits(address.to_bits() & mask).into(), width)
                })
                .to_vec(),
            IpAddr::V6(address) => IPV6_WIDTHS
                .map(|width| {
                    let mask = u128::MAX << (128 - u32::from(width));
                    Group::Network(Ipv6Addr::from_bits(address.to_bits() & mask).into(), width)
                })
                .to_vec(),
        };
        Self { groups, has_share: true }
    }

    /// An API key, by its id.
    pub fn key(id: &str) -> Self {
        Self { groups: vec![Group::Key(id.into())], has_share: true }
    }

    /// All of those who cannot be told apart, by what they have in common. They have no share: they may be everybody.
    pub fn crowd(name: &'static str) -> Self {
        Self { groups: vec![Group::Crowd(name)], has_share: false }
    }

    /// The operator: has no share, may take reserved places, and is displaced by nobody.
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

    fn at(address: &str) -> Vec<String> {
        let name = |group: Group| match group {
            Group::Network(address, width) => format!("{address}/{width}"),
            group => format!("{group:?}"),
        };
        Holder::at(address.parse().unwrap()).groups.into_iter().map(name).collect()
    }

    #[test]
    fn addresses_belong_to_networks_of_several_widths() {
        assert_eq!(at("192.0.2.7"), ["192.0.2.0/24", "192.0.2.7/32"]);
        assert_eq!(at("::ffff:192.0.2.7"), at("192.0.2.7"));
        let customer = ["2001:db8:ff00::/40", "2001:db8:ff12::/48", "2001:db8:ff12:5600::/56"];
        assert_eq!(at("2001:db8:ff12:5678:9abc::1"), customer);
        assert_eq!(at("2001:db8:ff12:56ff::1"), customer);
        assert_ne!(at("2001:db8:ff12:5778::1"), customer);
    }
}
