//! What all relays' tasks share.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nostr::{Event, JsonUtil as _};
use parking_lot::Mutex;
use rustls::ClientConfig;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use usher_engine::ports::{Clock, Inbound};
use usher_nostr_connection::web_tls;
use usher_protocol::{EventId, PublicKey};

use crate::RelayOptions;
use crate::conversations::Conversations;
use crate::counters::Counters;
use crate::directory::{Bounds, Directory};
use crate::examiner::Examiner;
use crate::link::Link;
use crate::proofs::{Proofs, Withheld};
use crate::queue::Outgoing;
use crate::status::Origin;
use crate::turns::Turns;

/// What all relays' tasks share.
pub(crate) struct Shared {
    pub(crate) options: RelayOptions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) examiner: Examiner,
    pub(crate) inbox: mpsc::Sender<Inbound>,
    pub(crate) stop: CancellationToken,
    pub(crate) tls: Result<Arc<ClientConfig>, rustls::Error>,
    pub(crate) directory: Mutex<Directory>,
    pub(crate) turns: Turns,
    /// Marked when a relay was connected, added or removed.
    pub(crate) changes: watch::Sender<()>,
    proofs: Option<Proofs>,
}

impl Shared {
    pub(crate) fn new(
        options: RelayOptions,
        inbox: mpsc::Sender<Inbound>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let limits = &options.limits;
        let conversations = Arc::new(Conversations::new(options.identity.keys.clone(), limits.conversation_keys));
        let proofs = Proofs::new(&options.identity, limits, Arc::clone(&conversations), Arc::clone(&counters));
        let examiner = Examiner::new(&options, Arc::clone(&clock), Arc::clone(&conversations), Arc::clone(&counters));
        let tls = options.tls.clone().map_or_else(web_tls, Ok);
        let directory = Mutex::new(Directory::new(Bounds {
            per_user: options.user_relays_per_user,
            per_host: options.user_relays_per_host,
            in_all: options.user_relays_in_all,
        }));
        let turns = Turns::new(limits.user_relays_nuisance_per_second, Instant::now());
        let changes = watch::Sender::new(());
        Self { options, clock, counters, conversations, examiner, inbox, stop, tls, directory, turns, changes, proofs }
    }

    /// A relay was connected, added or removed.
    pub(crate) fn changed(&self) {
        self.changes.send_replace(());
    }

    /// Whether a relay may be connected to at this network address: a user's relay only when there are not too many others.
    pub(crate) fn admit(&self, link: &Link, ip: IpAddr) -> bool {
        link.origin == Origin::Configured || self.directory.lock().settle(&link.address, ip, self.clock.now())
    }

    /// Answers an event that its author made for our main key, at our relays and at the one it came over.
    pub(crate) fn prove(&self, author: PublicKey, event: EventId, over: &Link) {
        let Some(proofs) = &self.proofs else { return };
        let answer = match proofs.answer(author, event, &over.address, over.origin, self.clock.now()) {
            Ok(answer) => outgoing(&answer, None),
            // The same event may come over a relay that is not flooded.
            Err(Withheld::ByRelay) => return self.examiner.forget(event),
            Err(Withheld::ByAuthor) => return,
        };
        let configured = self.directory.lock().configured();
        let elsewhere = configured.iter().map(AsRef::as_ref).filter(|link| !std::ptr::eq(*link, over));
        for link in elsewhere.chain([over]) {
            self.counters.dropped.fetch_add(link.minor.push(answer.id, answer.frame.clone()), Ordering::Relaxed);
            link.queue.wake();
        }
    }

    /// Puts an event into a relay's queue.
    pub(crate) fn enqueue(&self, link: &Link, event: Outgoing) {
        self.counters.dropped.fetch_add(link.queue.push(event), Ordering::Relaxed);
    }
}

/// The event as it goes into queues, for a user (by main key): its `EVENT` message, made once for all relays.
pub(crate) fn outgoing(event: &Event, user: Option<PublicKey>) -> Outgoing {
    Outgoing {
        id: event.id,
        user,
        frame: format!("[\"EVENT\",{}]", event.as_json()).into(),
        made: Instant::now(),
        attempts: 0,
    }
}
