//! The limits of connections.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::connection_table::Bounds;
use crate::{ForwardingKey, InstanceKey, TrustedProxies};

/// The routes of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The API and the pages.
    Everything,
    /// The API without the pages.
    Api,
    /// The pages and the service's `/.well-known/nostr.json`, without the rest of the API.
    Pages,
}

/// The options of a listener and its connections.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The served routes.
    pub surface: Surface,
    /// The most concurrent connections. A further one replaces the oldest that has not sent the token; if all have, it
    /// gets 503 without being read.
    pub max_connections: u32,
    /// The most concurrent connections that have not sent the token, at most half of [`Self::max_connections`]: the
    /// rest is for callers with the token. A further one replaces the oldest.
    pub max_unauthenticated: u32,
    /// The most of these from one address (of IPv6: one network of 64 bits). A further one replaces the oldest of the
    /// address. Loopback is exempt: behind a proxy on this machine, all clients have that address.
    pub max_unauthenticated_per_address: u32,
    /// The time limit for the head of a new connection's first request.
    pub first_request_timeout: Duration,
    /// The time limit for the head of a connection's next request, which is also the idle limit.
    pub idle_timeout: Duration,
    /// The time limit for a client to accept any sent bytes.
    pub write_timeout: Duration,
    /// The largest request head, in bytes.
    pub header_bytes: usize,
    /// Proxies whose `X-Forwarded-For` is trusted for pages.
    pub trusted_proxies: TrustedProxies,
    /// Proxies whose `X-Forwarded-For` is trusted for the API: for the allowed networks of keys, and for the audit log.
    pub trusted_api_proxies: TrustedProxies,
    /// Verifies the client address in requests that other instances of this service forward.
    pub forwarding: Option<ForwardingKey>,
    /// Proves to commands on this machine that this is the instance of their data directory.
    pub instance: Option<InstanceKey>,
    /// Cancelled when this instance is no longer the active one: running requests get `no_active_instance`.
    pub stepping_down: Option<CancellationToken>,
    /// How long a stop waits for running requests before it cuts their connections.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            surface: Surface::Everything,
            max_connections: 20_000,
            max_unauthenticated: 5_000,
            max_unauthenticated_per_address: 1_000,
            first_request_timeout: Duration::from_secs(10),
            // Longer than connection pools keep idle connections (Java 30 s, Go 90 s by default but retries, Node 5 s):
            // the client should close first, otherwise a request that crosses the closing is lost.
            idle_timeout: Duration::from_secs(100),
            write_timeout: Duration::from_secs(30),
            header_bytes: 32 * 1024,
            trusted_proxies: TrustedProxies::default(),
            trusted_api_proxies: TrustedProxies::default(),
            forwarding: None,
            instance: None,
            stepping_down: None,
            grace: Duration::from_secs(15),
        }
    }
}

impl ServeOptions {
    pub(super) fn bounds(&self) -> Bounds {
        let all = self.max_connections.max(1) as usize;
        let unauthenticated = (self.max_unauthenticated as usize).clamp(1, (all / 2).max(1));
        let per_address = (self.max_unauthenticated_per_address as usize).clamp(1, unauthenticated);
        Bounds { all, unauthenticated, per_address }
    }
}
