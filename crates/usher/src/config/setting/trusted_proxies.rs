//! Proxies whose forwarded client addresses are trusted.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{RawValue, Setting, entries, unfit};

/// The most entries of a list.
const MAX_ENTRIES: usize = 32;

/// The addresses or networks of proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyNetworks(Vec<IpNet>);

impl ProxyNetworks {
    /// The networks; a single address is a network of one.
    pub fn networks(&self) -> &[IpNet] {
        &self.0
    }
}

impl Setting for ProxyNetworks {
    fn expected() -> String {
        format!("a list of at most {MAX_ENTRIES} IP addresses or networks such as 10.0.0.0/8, separated by commas")
    }

    const EXAMPLE: &'static str = "[\"127.0.0.1\"]";

    /// An empty list is valid: no proxy is trusted then.
    fn read(given: &RawValue) -> Result<Self, String> {
        let networks: Option<Vec<IpNet>> = entries::<Self>(given)?.into_iter().map(network).collect();
        networks.filter(|networks| networks.len() <= MAX_ENTRIES).map(Self).ok_or_else(unfit::<Self>)
    }

    fn show(&self) -> String {
        let one = |network: &IpNet| {
            let is_address = network.prefix_len() == network.max_prefix_len();
            if is_address { network.addr().to_string() } else { network.to_string() }
        };
        toml::Value::from(self.0.iter().map(one).collect::<Vec<_>>()).to_string()
    }
}

fn network(text: &str) -> Option<IpNet> {
    match text.parse::<IpAddr>() {
        Ok(address) => Some(address.to_canonical().into()),
        Err(_) => text.parse::<IpNet>().ok().map(|network| network.trunc()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks_are_read_and_shown() {
        let read = |text: &str| ProxyNetworks::read(&RawValue::Text(text.to_owned()));
        assert_eq!(read("").unwrap().show(), "[]");
        let several = read("127.0.0.1, ::1,10.1.2.3/8, fd00::/8, ::ffff:192.0.2.1").unwrap();
        assert_eq!(several.show(), r#"["127.0.0.1", "::1", "10.0.0.0/8", "fd00::/8", "192.0.2.1"]"#);
        for wrong in ["proxy.example", "10.0.0.0/33", "10.0.0", "127.0.0.1,", "127.0.0.1:80"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
