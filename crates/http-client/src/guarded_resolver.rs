use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use url::Host;
use usher_address_guard::{AddressSource, resolve_bounded};

/// Concurrent look-ups of the operator's names per client.
const OPERATORS_AT_ONCE: usize = 8;

/// The same of users' names.
const USERS_AT_ONCE: usize = 32;

/// Resolves to the addresses that the [guard](usher_address_guard) allows; the HTTP client connects to no other.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    source: AddressSource,
    within: Duration,
    /// Its client's own: unresponsive name servers of one kind of names delay no other kind.
    permits: Arc<Semaphore>,
}

impl GuardedResolver {
    pub(crate) fn new(source: AddressSource, within: Duration) -> Self {
        let at_once = if source == AddressSource::Operator { OPERATORS_AT_ONCE } else { USERS_AT_ONCE };
        Self { source, within, permits: Arc::new(Semaphore::new(at_once)) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { source, within, permits } = self.clone();
        Box::pin(async move {
            // The HTTP client replaces port 0 by the URL's.
            let found = resolve_bounded(Host::Domain(name.as_str()), 0, source, Some(permits), within).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
