//! Addresses of nodes, and ports.

use std::net::{IpAddr, Ipv6Addr};

use nostr::secp256k1::PublicKey;

use super::basic::text_setting;
use super::{BoundedInteger, RawValue, Setting, unfit};

/// The longest host name (RFC 1035, section 2.3.4).
const MAX_HOST: usize = 253;

/// A port to connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(u16);

impl Port {
    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Setting for Port {
    fn expected() -> String {
        BoundedInteger::<1, 65535>::expected()
    }
    const EXAMPLE: &'static str = "8332";

    fn read(given: &RawValue) -> Result<Self, String> {
        let number = BoundedInteger::<1, 65535>::read(given)?;
        u16::try_from(number.get()).map(Self).map_err(|_| unfit::<Self>())
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

text_setting!(
    /// A host name or IP address; an IPv6 address is without brackets.
    HostName, "a host name or IP address, without a port", "\"127.0.0.1\"", is_host
);
text_setting!(
    /// A host and a port; an IPv6 address is in brackets.
    HostPort, "a host name or IP address and a port, such as 10.0.0.5:3000", "\"10.0.0.5:3000\"", is_host_and_port
);
text_setting!(
    /// The address of a Lightning node: `<node id>@<host>:<port>`.
    NodeAddress, "<node id>@<host>:<port>, where the id has 66 hex characters", "\"<node id>@lsp.example.com:9735\"",
    is_node_address
);

impl NodeAddress {
    /// Host and port, for a connection.
    pub fn host_and_port(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, address)| address)
    }
}

fn is_node_address(text: &str) -> bool {
    let Some((id, address)) = text.split_once('@') else { return false };
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let port_fits = port.parse::<u16>().is_ok_and(|port| port != 0);
    id.len() == 66 && id.parse::<PublicKey>().is_ok() && is_host_before_port(host) && port_fits
}

fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let port_fits = port.parse::<u16>().is_ok_and(|number| number != 0 && number.to_string() == port);
    is_host_before_port(host) && port_fits
}

fn is_host_before_port(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(ip) => ip.parse::<Ipv6Addr>().is_ok(),
        None => is_host(host) && !host.contains(':'),
    }
}

fn is_host(text: &str) -> bool {
    let labels_fit = || text.split('.').all(|label| !label.is_empty() && label.bytes().all(is_host_byte));
    text.parse::<IpAddr>().is_ok() || (text.len() <= MAX_HOST && labels_fit())
}

/// Container networks also use underscores.
const fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
