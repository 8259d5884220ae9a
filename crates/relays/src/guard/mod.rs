//! The address guard: which network addresses a stranger may make us connect to.
//!
//! Users choose relays and NIP-05 domains, so their addresses are input from strangers.
//! Without a guard anybody with a wallet could let the service talk to the operator's own network. A name says
//! nothing; what counts is the address that is connected to. So the name is resolved here, the addresses are
//! checked, and the caller connects to exactly one of the addresses returned, without resolving a second time:
//! otherwise a name server could answer a public address to the check and a private one to the connection.

mod names;
mod ranges;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use url::Host;

pub use ranges::is_public;

/// Who supplied an address, and so how far it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The operator: may be anywhere.
    Operator,
    /// A stranger: must be on the public Internet.
    Stranger,
}

/// Why an address is not connected to.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The name could not be resolved.
    #[error("the name cannot be resolved: {0}")]
    Unresolved(#[source] io::Error),
    /// Resolving took too long.
    #[error("resolving the name took too long")]
    TooSlow,
    /// The name has no address.
    #[error("the name has no address")]
    NoAddress,
    /// Every address is in a range that strangers may not point us to.
    #[error("the address is not on the public Internet")]
    NotPublic,
}

/// Resolves `host` and returns the addresses that may be connected to, IPv6 and IPv4 in turn, at most 16.
///
/// With [`Trust::Stranger`] addresses that are not [public](is_public) are left out, and only so many names are looked up
/// at a time, however slowly their name servers answer.
///
/// # Errors
/// [`GuardError`].
pub async fn resolve(
    host: Host<&str>,
    port: u16,
    trust: Trust,
    limit: Duration,
) -> Result<Vec<SocketAddr>, GuardError> {
    let found: Vec<IpAddr> = match host {
        Host::Ipv4(ip) => vec![IpAddr::V4(ip)],
        Host::Ipv6(ip) => vec![IpAddr::V6(ip)],
        Host::Domain(name) => names::look_up(name, trust, limit).await?,
    };
    admit(found, port, trust)
}

/// Those of the addresses found for a name that may be connected to.
fn admit(found: Vec<IpAddr>, port: u16, trust: Trust) -> Result<Vec<SocketAddr>, GuardError> {
    if found.is_empty() {
        return Err(GuardError::NoAddress);
    }
    let allowed: Vec<IpAddr> = found.into_iter().filter(|ip| trust == Trust::Operator || is_public(*ip)).collect();
    if allowed.is_empty() {
        return Err(GuardError::NotPublic);
    }
    Ok(in_turn(&allowed).into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}

/// The addresses with the families taking turns, starting with the resolver's first: when one family does not work
/// here, the second attempt already uses the other.
fn in_turn(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let first_is_v4 = addresses.first().is_some_and(IpAddr::is_ipv4);
    let (mut first, mut second): (Vec<_>, Vec<_>) =
        addresses.iter().copied().rev().partition(|ip| ip.is_ipv4() == first_is_v4);
    let mut ordered = Vec::with_capacity(addresses.len());
    while !(first.is_empty() && second.is_empty()) {
        ordered.extend(first.pop());
        ordered.extend(second.pop());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_stranger_reaches_no_loopback_by_number_or_name() {
        for host in ["127.0.0.1", "[::1]", "0x7f.1", "2130706433", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            let parsed = url::Url::parse(&format!("ws://{host}/")).unwrap();
            let refused = resolve(parsed.host().unwrap(), 443, Trust::Stranger, LIMIT).await;
            assert!(matches!(refused, Err(GuardError::NotPublic)), "{host}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn the_operator_reaches_loopback() {
        let found = resolve(Host::Domain("localhost"), 7777, Trust::Operator, LIMIT).await.unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 7777));
        assert!(!found.is_empty());
    }

    #[test]
    fn a_name_server_that_mixes_private_addresses_in_gains_nothing() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let found = || ["127.0.0.1", "8.8.8.8", "::1", "10.0.0.1", "::ffff:192.168.0.1", "fe80::1"].map(ip).to_vec();
        assert_eq!(admit(found(), 443, Trust::Stranger).unwrap(), [SocketAddr::new(ip("8.8.8.8"), 443)]);
        assert_eq!(admit(found(), 443, Trust::Operator).unwrap().len(), 6);
        let private = found().into_iter().filter(|ip| !is_public(*ip)).collect();
        assert!(matches!(admit(private, 443, Trust::Stranger), Err(GuardError::NotPublic)));
        assert!(matches!(admit(Vec::new(), 443, Trust::Operator), Err(GuardError::NoAddress)));
    }

    #[test]
    fn families_take_turns() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let given = [ip("2001:4860::1"), ip("2001:4860::2"), ip("2001:4860::3"), ip("8.8.8.8"), ip("8.8.4.4")];
        let expected = [ip("2001:4860::1"), ip("8.8.8.8"), ip("2001:4860::2"), ip("8.8.4.4"), ip("2001:4860::3")];
        assert_eq!(in_turn(&given), expected);
        assert_eq!(in_turn(&[ip("8.8.8.8"), ip("2001:4860::1")]), [ip("8.8.8.8"), ip("2001:4860::1")]);
        assert!(in_turn(&[]).is_empty());
    }
}
