//! Resolves domains under the address guard.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use url::Host;
use usher_http_client::{BoxError, Resolve};

use usher_nostr_connection::address_guard::{self, Trust};

/// Gives the HTTP client the addresses that the guard allows; it connects to no other. There is no second resolution
/// between the check and the connection, to which a name server could respond differently.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardedHostResolver {
    pub(super) trust: Trust,
    pub(super) within: Duration,
}

impl Resolve for GuardedHostResolver {
    fn resolve(&self, host: Host<String>, port: u16) -> BoxFuture<'static, Result<Vec<SocketAddr>, BoxError>> {
        let Self { trust, within } = *self;
        Box::pin(async move {
            let host = match &host {
                Host::Domain(name) => Host::Domain(name.as_str()),
                Host::Ipv4(address) => Host::Ipv4(*address),
                Host::Ipv6(address) => Host::Ipv6(*address),
            };
            Ok(address_guard::resolve(host, port, trust, within).await?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn loopback_hosts_are_resolved_for_the_operator_only() {
        for host in ["localhost", "127.0.0.1", "[::1]", "127.1"] {
            let resolve = |trust| {
                GuardedHostResolver { trust, within: Duration::from_secs(20) }.resolve(Host::parse(host).unwrap(), 443)
            };
            assert!(resolve(Trust::User).await.is_err(), "{host}");
            let addresses = resolve(Trust::Operator).await.unwrap();
            assert!(addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 443), "{host}");
        }
    }
}
