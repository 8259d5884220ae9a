use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use url::Host;
use usher_address_guard::{AddressSource, resolve_bounded};

/// Concurrent look-ups of the operator's names per client: an unresponsive name server does not delay users' look-ups.
const OPERATORS_AT_ONCE: usize = 8;

/// Resolves to the addresses that the [guard](usher_address_guard) allows; the HTTP client connects to no other.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    source: AddressSource,
    within: Duration,
    operators: Arc<Semaphore>,
}

impl GuardedResolver {
    pub(crate) fn new(source: AddressSource, within: Duration) -> Self {
        Self { source, within, operators: Arc::new(Semaphore::new(OPERATORS_AT_ONCE)) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { source, within, operators } = self.clone();
        Box::pin(async move {
            // The HTTP client replaces port 0 by the URL's.
            let found = resolve_bounded(Host::Domain(name.as_str()), 0, source, Some(operators), within).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
