//! The site of a relay, and limits on connections to the sites that users name.

use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;
use url::{Host, Url};
use usher_places::{Rates, network};
use usher_token_bucket::{Rate, TokenBucket};

/// The [url_simplicity] of an address that consists of a host only.
pub const SIMPLEST_URL: u8 = 2;

/// Second-level labels below country domains under which domains are registered: `example.co.uk`.
const SHARED_SECOND_LEVEL: [&str; 15] =
    ["ac", "co", "com", "edu", "gen", "go", "gob", "gov", "me", "mil", "ne", "net", "nom", "or", "org"];

/// Sites whose openings are counted, most recent first.
const SITES: usize = 4096;

/// Burst of openings at one site (for a plain address, at the relay), and its refill per second: anybody can name
/// hosts.
const OPENINGS: u32 = 32;
const OPENINGS_PER_SECOND: f64 = 0.5;

/// The operator of a relay: the registered domain, guessed without the public suffix list, or the network address.
pub fn site(url: &Url) -> String {
    let name = match url.host().unwrap_or(Host::Domain("")) {
        Host::Domain(name) => name.trim_end_matches('.'),
        Host::Ipv4(ip) => return network_of(IpAddr::V4(ip)).to_string(),
        Host::Ipv6(ip) => return network_of(IpAddr::V6(ip)).to_string(),
    };
    let labels: Vec<&str> = name.split('.').collect();
    let registrable = match labels.as_slice() {
        [.., second, country] if country.len() == 2 && SHARED_SECOND_LEVEL.contains(second) => 3,
        _ => 2,
    };
    labels.get(labels.len().saturating_sub(registrable)..).unwrap_or_default().join(".")
}

/// The part of an address that is counted as one: for IPv6 the prefix that a provider assigns to one customer.
pub fn network_of(ip: IpAddr) -> IpAddr {
    network(ip, 64)
}

/// How simple the address is. A relay without a path and on the default port is more likely to be shared by many users.
pub fn url_simplicity(url: &Url) -> u8 {
    match (url.path(), url.query(), url.port()) {
        ("/" | "", None, None) => SIMPLEST_URL,
        ("/" | "", None, Some(_)) => 1,
        _ => 0,
    }
}

/// Limits on opening relays that users name, by site.
#[derive(Debug)]
pub struct ConnectLimits(Rates<String, Instant>);

impl Default for ConnectLimits {
    fn default() -> Self {
        Self(Rates::new(Rate::per_second(OPENINGS, OPENINGS_PER_SECOND), SITES))
    }
}

impl ConnectLimits {
    /// Whether this relay may be opened now.
    pub fn has_one(&mut self, url: &Url) -> bool {
        let now = Instant::now();
        self.bucket(url, now).has_one(now)
    }

    /// Counts an opening of this relay.
    ///
    /// # Errors
    /// How long to wait before it may be opened.
    pub fn take(&mut self, url: &Url) -> Result<(), Duration> {
        let now = Instant::now();
        self.bucket(url, now).try_take(now)
    }

    /// Counts a connection to this network for the relay's site, where many names may resolve; returns whether it is
    /// allowed.
    pub fn take_at(&mut self, network: IpAddr, url: &Url) -> bool {
        let now = Instant::now();
        self.0.of(format!("{network} {}", site(url)), now).take(now)
    }

    fn bucket(&mut self, url: &Url, now: Instant) -> &mut TokenBucket<Instant> {
        // On a host that honest users use, made-up addresses must not count against the relay itself.
        let key = if url_simplicity(url) == SIMPLEST_URL { url.as_str().to_owned() } else { site(url) };
        self.0.of(key, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn openings_of_a_site_are_counted_together_and_of_a_plain_relay_by_themselves() {
        let mut connect_limits = ConnectLimits::default();
        let invented = |n: u32| url(&format!("wss://r{n}.example.com/{n}"));
        let opened = (0..100).filter(|n| connect_limits.take(&invented(*n)).is_ok()).count();
        assert_eq!(opened, 32);
        let wait = connect_limits.take(&invented(7)).unwrap_err();
        assert!(wait > Duration::from_millis(1_500) && wait <= Duration::from_secs(2), "{wait:?}");
        assert!(!connect_limits.has_one(&invented(8)) && connect_limits.has_one(&url("wss://relay.example.com")));
        assert_eq!((0..100).filter(|_| connect_limits.take(&url("wss://relay.example.com")).is_ok()).count(), 32);
        assert_eq!(connect_limits.take(&url("wss://relay.example.org/x")), Ok(()));
        // Names of one site that resolve to one address.
        let victim = IpAddr::from([192, 0, 2, 1]);
        let reached =
            (0..100).filter(|n| connect_limits.take_at(victim, &url(&format!("wss://r{n}.example.com")))).count();
        assert_eq!(reached, 32);
        assert!(connect_limits.take_at(victim, &url("wss://relay.example.net")), "another site at the same address");
    }
}
