//! The address guard: which network addresses a user may make us connect to.
//!
//! Users choose relays and NIP-05 domains, and callers choose mints. The guard resolves names and checks the addresses; the
//! caller connects to one of the returned addresses without resolving again (DNS rebinding).

mod error;
mod name_lookup;
mod public_ranges;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use url::Host;

pub use error::GuardError;
pub use public_ranges::is_public;

/// Who supplied an address, which determines how far it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSource {
    /// The operator: any address is allowed.
    Operator,
    /// A user: the address must be on the public Internet.
    User,
}

/// Resolves `host` and returns the addresses that may be connected to, IPv6 and IPv4 in turn, at most 16.
///
/// With [`AddressSource::User`], addresses that are not [public](is_public) are left out, and the number of concurrent look-ups
/// is limited.
pub async fn resolve(
    host: Host<&str>,
    port: u16,
    source: AddressSource,
    limit: Duration,
) -> Result<Vec<SocketAddr>, GuardError> {
    let of_users = (source == AddressSource::User).then(|| Arc::clone(&name_lookup::OF_USERS));
    resolve_bounded(host, port, source, of_users, limit).await
}

/// Resolves `host` as [`resolve`] does, but `permits` limits concurrent look-ups. A look-up holds its permit until the system's
/// resolver returns, even after `limit`.
pub async fn resolve_bounded(
    host: Host<&str>,
    port: u16,
    source: AddressSource,
    permits: Option<Arc<Semaphore>>,
    limit: Duration,
) -> Result<Vec<SocketAddr>, GuardError> {
    let found: Vec<IpAddr> = match host {
        Host::Ipv4(ip) => vec![IpAddr::V4(ip)],
        Host::Ipv6(ip) => vec![IpAddr::V6(ip)],
        Host::Domain(name) => name_lookup::look_up(name, permits, limit).await?,
    };
    admit(found, port, source)
}

fn admit(found: Vec<IpAddr>, port: u16, source: AddressSource) -> Result<Vec<SocketAddr>, GuardError> {
    if found.is_empty() {
        return Err(GuardError::NoAddress);
    }
    let allowed: Vec<IpAddr> =
        found.into_iter().filter(|ip| source == AddressSource::Operator || is_public(*ip)).collect();
    if allowed.is_empty() {
        return Err(GuardError::NotPublic);
    }
    Ok(alternate_families(&allowed).into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
}

/// Alternates the address families, starting with that of the resolver's first address: when one family is unreachable, the
/// second attempt already uses the other.
fn alternate_families(addresses: &[IpAddr]) -> Vec<IpAddr> {
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
    async fn user_hosts_never_resolve_to_loopback() {
        for host in ["127.0.0.1", "[::1]", "0x7f.1", "2130706433", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            let parsed = url::Url::parse(&format!("ws://{host}/")).unwrap();
            let refused = resolve(parsed.host().unwrap(), 443, AddressSource::User, LIMIT).await;
            assert!(matches!(refused, Err(GuardError::NotPublic)), "{host}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn operator_hosts_may_resolve_to_loopback() {
        let found = resolve(Host::Domain("localhost"), 7777, AddressSource::Operator, LIMIT).await.unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 7777));
        assert!(!found.is_empty());
    }

    #[test]
    fn private_addresses_are_filtered_out_for_users() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let found = || ["127.0.0.1", "8.8.8.8", "::1", "10.0.0.1", "::ffff:192.168.0.1", "fe80::1"].map(ip).to_vec();
        assert_eq!(admit(found(), 443, AddressSource::User).unwrap(), [SocketAddr::new(ip("8.8.8.8"), 443)]);
        assert_eq!(admit(found(), 443, AddressSource::Operator).unwrap().len(), 6);
        let private = found().into_iter().filter(|ip| !is_public(*ip)).collect();
        assert!(matches!(admit(private, 443, AddressSource::User), Err(GuardError::NotPublic)));
        assert!(matches!(admit(Vec::new(), 443, AddressSource::Operator), Err(GuardError::NoAddress)));
    }

    #[test]
    fn ipv4_and_ipv6_addresses_alternate() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let given = [ip("2001:4860::1"), ip("2001:4860::2"), ip("2001:4860::3"), ip("8.8.8.8"), ip("8.8.4.4")];
        let expected = [ip("2001:4860::1"), ip("8.8.8.8"), ip("2001:4860::2"), ip("8.8.4.4"), ip("2001:4860::3")];
        assert_eq!(alternate_families(&given), expected);
        assert_eq!(alternate_families(&[ip("8.8.8.8"), ip("2001:4860::1")]), [ip("8.8.8.8"), ip("2001:4860::1")]);
        assert!(alternate_families(&[]).is_empty());
    }
}
