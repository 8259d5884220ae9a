//! The task of one relay: connects, talks, and connects again, until the relay is no longer wanted.

use std::sync::Arc;

use tokio::time::{Instant, sleep};
use usher_nostr_connection::{DialOptions, Pause, Quality, Reconnection, dial};

use crate::counters::add;
use crate::link::Link;
use crate::session::{Ended, Session};
use crate::shared::Shared;
use crate::status::Origin;

/// Why there is no connection, and how good the one was that there was, if any.
struct Apart {
    reason: String,
    quality: Option<Quality>,
}

impl Apart {
    fn failed(reason: String) -> Self {
        Self { reason, quality: None }
    }
}

/// Keeps the relay connected until `link.close` is cancelled.
pub(crate) async fn keep(shared: Arc<Shared>, link: Arc<Link>) {
    let mut reconnection = Reconnection::new(&shared.options.connection, Instant::now());
    while let Some(apart) = connect_once(&shared, &link).await {
        add(&shared.counters.disconnects);
        let pause = match reconnection.after(apart.quality, Instant::now()) {
            Pause::AtOnce(pause) => {
                link.reconnecting(&apart.reason);
                pause
            }
            Pause::BackOff(pause) => {
                link.disconnected(shared.clock.now(), apart.reason);
                link.questions.clear();
                // Whoever wanted these writes again.
                link.minor.clear();
                pause
            }
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = link.close.cancelled() => break,
        }
    }
    link.queue.clear();
    link.minor.clear();
    link.questions.clear();
    tracing::debug!(relay = %link.address, "relay closed");
}

/// One connection from attempt to end; says why it ended, or nothing when the relay is no longer wanted.
async fn connect_once(shared: &Shared, link: &Link) -> Option<Apart> {
    let limits = &shared.options.limits;
    let (max_message_bytes, overhead) = match link.origin {
        Origin::Configured => (limits.frame_bytes, &limits.overhead),
        Origin::User => (limits.user_frame_bytes, &limits.user_overhead),
    };
    let tls = match &shared.tls {
        Ok(tls) => tls,
        Err(error) => return Some(Apart::failed(format!("TLS cannot be used: {error}"))),
    };
    let (timing, dialer) = (&shared.options.connection, shared.options.dialer.as_deref());
    let options = DialOptions { trust: link.trust, timing, tls, max_message_bytes, overhead, dialer };
    let connection = tokio::select! {
        dialled = dial(link.address.url(), &options, |ip| shared.admit(link, ip)) => match dialled {
            Ok(connection) => connection,
            Err(error) => return Some(Apart::failed(error.to_string())),
        },
        () = link.close.cancelled() => return None,
    };
    add(&shared.counters.connects);
    link.connected(shared.clock.now());
    shared.changed();
    tracing::debug!(relay = %link.address, "relay connected");
    let (ended, quality) = Session::new(shared, link, connection).run().await;
    match ended {
        Ended::ByUs => None,
        ended => Some(Apart { reason: ended.to_string(), quality: Some(quality) }),
    }
}
