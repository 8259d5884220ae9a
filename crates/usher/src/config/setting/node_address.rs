//! Addresses of nodes, and ports.

use std::net::{IpAddr, Ipv6Addr};

use nostr::secp256k1::PublicKey;

use super::{BoundedInteger, RawValue, Setting, quoted, text, unfit};

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

/// A host name or IP address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// The name; an IPv6 address is without brackets.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for HostName {
    fn expected() -> String {
        "a host name or IP address, without a port".to_owned()
    }
    const EXAMPLE: &'static str = "\"127.0.0.1\"";

    fn read(given: &RawValue) -> Result<Self, String> {
        let host = text::<Self>(given)?;
        if is_host(host) { Ok(Self(host.to_owned())) } else { Err(unfit::<Self>()) }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// The address of a Lightning node: `<node id>@<host>:<port>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress(String);

impl NodeAddress {
    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Host and port, for a connection.
    pub fn host_and_port(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, address)| address)
    }
}

impl Setting for NodeAddress {
    fn expected() -> String {
        "<node id>@<host>:<port>, where the id has 66 hex characters".to_owned()
    }
    const EXAMPLE: &'static str = "\"<node id>@lsp.example.com:9735\"";

    fn read(given: &RawValue) -> Result<Self, String> {
        let address = text::<Self>(given)?;
        if is_node_address(address) { Ok(Self(address.to_owned())) } else { Err(unfit::<Self>()) }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

fn is_node_address(text: &str) -> bool {
    let Some((id, address)) = text.split_once('@') else { return false };
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let host_fits = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(ip) => ip.parse::<Ipv6Addr>().is_ok(),
        None => is_host(host) && !host.contains(':'),
    };
    id.len() == 66 && id.parse::<PublicKey>().is_ok() && host_fits && port.parse::<u16>().is_ok_and(|port| port != 0)
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort(String);

impl HostPort {
    /// As `host:port`; an IPv6 address is in brackets.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for HostPort {
    fn expected() -> String {
        "a host name or IP address and a port, such as 10.0.0.5:3000".to_owned()
    }
    const EXAMPLE: &'static str = "\"10.0.0.5:3000\"";

    fn read(given: &RawValue) -> Result<Self, String> {
        let text = text::<Self>(given)?;
        let (host, port) = text.rsplit_once(':').ok_or_else(unfit::<Self>)?;
        let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => !host.contains(':') && is_host(host),
        };
        let is_port = port.parse::<u16>().is_ok_and(|number| number != 0 && number.to_string() == port);
        if is_host && is_port { Ok(Self(text.to_owned())) } else { Err(unfit::<Self>()) }
    }

    fn show(&self) -> String {
        quoted(&self.0)
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
