//! The limits of connections.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::connection_table::Bounds;
use crate::surface::Surface;
use crate::{ForwardingKey, InstanceKey, TrustedProxies};

/// How connections are treated.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// What is served.
    pub surface: Surface,
    /// Most connections at a time. One more takes the place of the oldest that has not sent the token; when all have,
    /// it is answered 503 without being read.
    pub max_connections: u32,
    /// Most connections at a time that have not sent the token, and never more than half of [`Self::max_connections`]:
    /// the rest is for callers with the token. One more takes the place of the oldest.
    pub max_unauthenticated: u32,
    /// Most of these from one address (of IPv6: one network of 64 bits). One more takes the place of the oldest from there.
    /// Loopback is exempt: behind a proxy on this machine everybody has that address.
    pub max_unauthenticated_per_address: u32,
    /// How long a new connection may take until the head of its first request has arrived.
    pub first_request_timeout: Duration,
    /// How long a connection may take until the head of its next request has arrived, that is: how long it may idle.
    pub idle_timeout: Duration,
    /// How long a client may take to accept any sent bytes.
    pub write_timeout: Duration,
    /// Largest request head, in bytes.
    pub header_bytes: usize,
    /// Proxies that are believed when they say who opens a page.
    pub trusted_proxies: TrustedProxies,
    /// Proxies that are believed when they say who uses the API: from where a key is accepted, and what the audit log has.
    pub trusted_api_proxies: TrustedProxies,
    /// What other instances of this service forward is believed to come from whom they say.
    pub forwarding: Option<ForwardingKey>,
    /// Proves to commands on this machine that this is the instance of their data directory.
    pub instance: Option<InstanceKey>,
    /// Cancelled when this instance is no longer the active one: requests that are under way get `no_active_instance`.
    pub stepping_down: Option<CancellationToken>,
    /// How long a stop waits for running requests; then their connections are cut.
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
            // the side that closes first should be theirs, or a request crosses our closing and is lost.
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
