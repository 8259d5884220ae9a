//! Look-ups of the receiver's host name.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use url::Host;
use usher_http_client::{BoxError, Resolve};

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
    /// A literal address is the operator's choice as any name is.
    fn resolve(&self, host: Host<String>, port: u16) -> BoxFuture<'static, Result<Vec<SocketAddr>, BoxError>> {
        let free = Arc::clone(&self.free);
        Box::pin(async move {
            let name = match host {
                Host::Domain(name) => name,
                Host::Ipv4(address) => return Ok(vec![(address, port).into()]),
                Host::Ipv6(address) => return Ok(vec![(address, port).into()]),
            };
            let place = free.acquire_owned().await?;
            let looked_up = tokio::task::spawn_blocking(move || {
                // Held by the thread and not by the caller, which may be gone before the result arrives.
                let _place = place;
                (name.as_str(), port).to_socket_addrs().map(Vec::from_iter)
            });
            Ok(looked_up.await?.map_err(LookupFailed)?)
        })
    }
}
