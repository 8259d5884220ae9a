//! Names of domains resolved under the address guard.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use crate::guard::{self, Trust};

/// Gives the HTTP client the addresses that the guard lets pass, and it connects to no other: there is no second
/// resolution between the check and the connection that a name server could answer otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardedResolver {
    pub(super) trust: Trust,
    pub(super) within: Duration,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { trust, within } = *self;
        Box::pin(async move {
            // The client puts the port of the URL in place of 0.
            let found = guard::resolve(Host::Domain(name.as_str()), 0, trust, within).await?;
            Ok(Box::new(found.into_iter()) as Box<dyn Iterator<Item = SocketAddr> + Send>) as Result<Addrs, _>
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_leads_to_loopback_is_resolved_for_the_operator_alone() {
        let resolve =
            |trust| GuardedResolver { trust, within: Duration::from_secs(20) }.resolve("localhost".parse().unwrap());
        assert!(resolve(Trust::Stranger).await.is_err());
        assert!(resolve(Trust::Operator).await.unwrap().all(|address| address.ip().is_loopback()));
    }
}
