//! The task of one relay: connects, talks, and connects again, until the relay is no longer wanted.

use std::sync::Arc;

use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::counters::add;
use crate::dial::dial;
use crate::link::Link;
use crate::session::{Ended, Quality, Session};
use crate::shared::Shared;
use crate::status::Origin;

/// Keeps the relay connected until `link.close` is cancelled.
pub(crate) async fn keep(shared: Arc<Shared>, link: Arc<Link>) {
    let timing = &shared.options.timing;
    let mut backoff = Backoff::new(timing.reconnect_first, timing.reconnect_longest);
    while let Some(reason) = connect_once(&shared, &link, &mut backoff).await {
        add(&shared.counters.disconnects);
        link.disconnected(shared.clock.now(), reason);
        link.questions.clear();
        tokio::select! {
            () = sleep(backoff.next()) => {}
            () = link.close.cancelled() => break,
        }
    }
    link.queue.clear();
    link.questions.clear();
    tracing::debug!(relay = %link.address, "relay closed");
}

/// One connection from attempt to end; says why it ended, or nothing when the relay is no longer wanted.
async fn connect_once(shared: &Shared, link: &Link, backoff: &mut Backoff) -> Option<String> {
    let limits = &shared.options.limits;
    let frame_bytes = match link.origin {
        Origin::Configured => limits.frame_bytes,
        Origin::User => limits.user_frame_bytes,
    };
    let tls = match &shared.tls {
        Ok(tls) => tls,
        Err(error) => return Some(format!("TLS cannot be used: {error}")),
    };
    let (timing, dialer) = (&shared.options.timing, shared.options.dialer.as_deref());
    let socket = tokio::select! {
        dialled = dial(&link.address, link.trust, timing, tls, frame_bytes, dialer) => match dialled {
            Ok(socket) => socket,
            Err(error) => return Some(error.to_string()),
        },
        () = link.close.cancelled() => return None,
    };
    add(&shared.counters.connects);
    link.connected(shared.clock.now());
    shared.changed();
    tracing::debug!(relay = %link.address, "relay connected");
    let (ended, quality) = Session::new(shared, link, socket).run().await;
    match quality {
        Quality::Good => backoff.reset(),
        // It works in between; perhaps its operator likes short connections.
        Quality::Fair => backoff.ease(),
        Quality::Useless => {}
    }
    match ended {
        Ended::ByUs => return None,
        Ended::Nuisance => backoff.worst(),
        _ => {}
    }
    Some(ended.to_string())
}
