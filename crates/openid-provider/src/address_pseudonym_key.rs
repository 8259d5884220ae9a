//! Pseudonyms of visitors' addresses in the database.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ring::hmac;
use usher_engine::ClientNetwork;

/// Of the 32 bytes of a pseudonymised network: enough that two networks of one wider network do not collide by chance.
const HIDDEN_BYTES: usize = 8;

/// The pseudonym of clients on loopback.
pub(crate) const LOOPBACK: &str = "loopback";

/// Pseudonymises visitors' addresses in the database: records of one address belong together, and the address cannot be
/// recovered without this key.
#[derive(Clone, Debug)]
pub struct AddressPseudonymKey(hmac::Key);

impl AddressPseudonymKey {
    /// The key derived from `secret`. After a change of the secret, stored records belong to unknown visitors.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The pseudonym under which a visitor's records are stored. Pseudonyms of one network share a prefix: 24
    /// characters for the same 40 bits of IPv6 or 24 of IPv4, 40 characters for the same 48 bits of IPv6.
    pub fn pseudonym(&self, network: ClientNetwork) -> String {
        let ClientNetwork::Network(address) = network else { return LOOPBACK.to_owned() };
        let networks: [IpAddr; 3] = match address {
            IpAddr::V4(address) => {
                let wide = Ipv4Addr::from_bits(address.to_bits() & 0xffff_ff00);
                [wide.into(), wide.into(), address.into()]
            }
            IpAddr::V6(address) => {
                [40, 48, 56].map(|width| Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - width))).into())
            }
        };
        let hidden = [0, 1, 2].into_iter().zip(networks).map(|(width, network)| {
            let tag = hmac::sign(&self.0, format!("{width} {network}").as_bytes());
            hex::encode(tag.as_ref().get(..HIDDEN_BYTES).unwrap_or_default())
        });
        format!("network {}", hidden.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_network_begin_alike() {
        let key = AddressPseudonymKey::new(&[7; 32]);
        let common = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| key.pseudonym(ClientNetwork::at(text.parse().unwrap())));
            assert_eq!((one.len(), other.len()), (56, 56));
            one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count() / 16 * 16 + 8
        };
        for (one, other, expected) in [
            ("2001:db8::1", "2001:db8:0:ff::1", 56),
            ("2001:db8::1", "2001:db8:0:100::1", 40),
            ("2001:db8::1", "2001:db8:1::1", 24),
            ("2001:db8::1", "2001:db8:100::1", 8),
            ("192.0.2.1", "192.0.2.2", 40),
            ("192.0.2.1", "192.0.3.1", 8),
        ] {
            let common = common(one, other);
            assert!((expected..expected + 16).contains(&common), "{one} {other} {common}");
        }
    }
}
