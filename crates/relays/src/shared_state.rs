//! The state shared by all relays' tasks.

use std::net::IpAddr;
use std::sync::Arc;

use nostr::Event;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use usher_engine::ports::{Clock, Inbound};
use usher_nostr_connection::event_message;
use usher_protocol::{EventId, PublicKey};

use crate::conversation_keys::ConversationKeys;
use crate::event_verifier::EventVerifier;
use crate::metrics::Metrics;
use crate::options::RelayOptions;
use crate::own_proof_responder::{ProofLimited, SubkeyProofResponder};
use crate::relay_handle::RelayHandle;
use crate::relay_status::Origin;
use crate::relays_in_use::{Bounds, RelaysInUse};
use crate::send_queue::Outgoing;

pub(crate) struct SharedState {
    pub(crate) options: RelayOptions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) conversation_keys: Arc<ConversationKeys>,
    pub(crate) event_verifier: EventVerifier,
    pub(crate) inbox: mpsc::Sender<Inbound>,
    pub(crate) stop: CancellationToken,
    pub(crate) relays_in_use: Mutex<RelaysInUse>,
    pub(crate) changes: watch::Sender<()>,
    proofs: Option<SubkeyProofResponder>,
}

impl SharedState {
    pub(crate) fn new(
        options: RelayOptions,
        inbox: mpsc::Sender<Inbound>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Self {
        let metrics = Arc::new(Metrics::default());
        let limits = &options.limits;
        let conversation_keys =
            Arc::new(ConversationKeys::new(options.identity.keys.clone(), limits.conversation_keys));
        let proofs =
            SubkeyProofResponder::new(&options.identity, limits, Arc::clone(&conversation_keys), Arc::clone(&metrics));
        let event_verifier =
            EventVerifier::new(&options, Arc::clone(&clock), Arc::clone(&conversation_keys), Arc::clone(&metrics));
        let relays_in_use = Mutex::new(RelaysInUse::new(Bounds::USUAL));
        let changes = watch::Sender::new(());
        Self { options, clock, metrics, conversation_keys, event_verifier, inbox, stop, relays_in_use, changes, proofs }
    }

    pub(crate) fn changed(&self) {
        self.changes.send_replace(());
    }

    /// Whether a relay may be connected to at this network address; users' relays are limited.
    pub(crate) fn admit(&self, handle: &RelayHandle, ip: IpAddr) -> bool {
        handle.origin == Origin::Configured || self.relays_in_use.lock().settle(&handle.address, ip, self.clock.now())
    }

    /// Responds to an event addressed to our main key with our subkey proof, over our relays and the one it arrived
    /// over.
    pub(crate) fn prove(&self, author: PublicKey, event: EventId, over: &RelayHandle) {
        let Some(proofs) = &self.proofs else { return };
        let answer = match proofs.answer(author, event, &over.address, over.origin, self.clock.now()) {
            Ok(answer) => outgoing(&answer, None),
            // Another relay with a free share may deliver the same event.
            Err(ProofLimited::PerRelay) => return self.event_verifier.forget(event),
            Err(ProofLimited::PerAuthor) => return,
        };
        let configured = self.relays_in_use.lock().configured();
        let elsewhere = configured.iter().map(AsRef::as_ref).filter(|handle| !std::ptr::eq(*handle, over));
        for handle in elsewhere.chain([over]) {
            self.metrics.dropped.add(handle.low_priority.push(answer.id, answer.frame.clone()));
            handle.queue.wake();
        }
    }

    pub(crate) fn enqueue(&self, handle: &RelayHandle, event: Outgoing) {
        self.metrics.dropped.add(handle.queue.push(event));
    }
}

/// An event for the queues; its `EVENT` message is shared by all relays. `user` is a main key.
pub(crate) fn outgoing(event: &Event, user: Option<PublicKey>) -> Outgoing {
    Outgoing { id: event.id, user, frame: event_message(event), made: Instant::now(), attempts: 0 }
}
