//! Resolves hosts under the address guard.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use url::Host;
use usher_address_guard::Trust;

use crate::connector::{BoxError, Resolve};

/// Gives the client the addresses that the [guard](usher_address_guard) allows; it connects to no other. There is no second
/// resolution between the check and the connection, to which a name server could respond differently.
///
/// A refused host fails with a [`GuardError`](usher_address_guard::GuardError) among the sources of the client's error.
#[derive(Clone, Copy, Debug)]
pub struct GuardedResolver {
    /// Who chose the host.
    pub trust: Trust,
    /// How long resolving may take.
    pub within: Duration,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, host: Host<String>, port: u16) -> BoxFuture<'static, Result<Vec<SocketAddr>, BoxError>> {
        let Self { trust, within } = *self;
        Box::pin(async move {
            let host = match &host {
                Host::Domain(name) => Host::Domain(name.as_str()),
                Host::Ipv4(address) => Host::Ipv4(*address),
                Host::Ipv6(address) => Host::Ipv6(*address),
            };
            Ok(usher_address_guard::resolve(host, port, trust, within).await?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_operator_may_resolve_loopback_hosts() {
        for host in ["localhost", "127.0.0.1", "[::1]", "127.1"] {
            let resolve = |trust| {
                GuardedResolver { trust, within: Duration::from_secs(20) }.resolve(Host::parse(host).unwrap(), 443)
            };
            assert!(resolve(Trust::User).await.is_err(), "{host}");
            let addresses = resolve(Trust::Operator).await.unwrap();
            assert!(addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 443), "{host}");
        }
    }
}
