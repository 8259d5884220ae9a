//! Look-ups of the receiver's host name.

use std::net::ToSocketAddrs;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

/// How many look-ups run at once. The system's look-up holds a thread and can't be called off: with a name server that is silent, posts
/// whose deadline has passed would leave threads behind, and take them from the rest of the program.
const AT_ONCE: usize = 8;

/// The system's look-up, a few at a time.
pub(crate) struct Resolver {
    free: Arc<Semaphore>,
}

/// The host name has no address, or the name server did not say; in the system's words, which do not name the host.
#[derive(Debug, thiserror::Error)]
#[error("the host name could not be looked up ({0})")]
pub(crate) struct LookupFailed(std::io::Error);

impl Resolver {
    pub(crate) fn new() -> Self {
        Self { free: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let free = Arc::clone(&self.free);
        Box::pin(async move {
            let place = free.acquire_owned().await?;
            let looked_up = tokio::task::spawn_blocking(move || {
                // Held by the thread rather than by the caller, who may be gone before the answer comes.
                let _place = place;
                (name.as_str(), 0).to_socket_addrs()
            });
            let addresses: Addrs = Box::new(looked_up.await?.map_err(LookupFailed)?);
            Ok(addresses)
        })
    }
}
