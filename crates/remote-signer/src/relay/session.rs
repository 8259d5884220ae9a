//! One connection to a relay, from the first relay subscription to its end.

use std::convert::Infallible;
use std::sync::Arc;

use nostr::{
    ClientMessage, EventBuilder, EventId, Filter, JsonUtil as _, Kind, RelayMessage, RelayUrl, SubscriptionId,
    Timestamp,
};
use tokio::time::{Instant, sleep_until};
use usher_nostr_connection::address_guard::Trust;
use usher_nostr_connection::{Activity, Connection, ConnectionError, DialError, Health, Interest, Quality};
use usher_protocol::{Keys, PublicKey};
use usher_token_bucket::{Rate, TokenBucket};

use super::Shared;
use super::shared_relay::SharedRelay;
use crate::message;
use crate::stored_session::new_keys;

/// Most relay subscriptions that a relay may close on one connection, and most challenges answered.
const MAX_REFUSALS: u32 = 10;

/// Messages that a relay of a user may send at once, and more of them per second. A pairing causes about twenty in all.
const MESSAGES: u32 = 512;
const MESSAGES_PER_SECOND: f64 = 64.0;

/// The session on one connection.
///
/// There is one relay subscription, for all keys. When keys join or leave it is replaced: by another one, so that `EOSE`
/// belongs to the new one, and the old one is closed after that, so that nothing is missed.
pub(super) struct Session<'a> {
    shared: &'a Shared,
    relay: &'a Arc<SharedRelay>,
    connection: Connection,
    /// How many relay subscriptions were requested.
    requested: u64,
    /// The keys have changed since.
    outdated: bool,
    open: Option<SubscriptionId>,
    pending: Option<Pending>,
    /// Since when the relay wants us to authenticate first.
    unauthenticated_since: Option<Instant>,
    authentication: Option<EventId>,
    authenticated: bool,
    refusals: u32,
    /// What a user's relay may still send.
    allowance: Option<TokenBucket<Instant>>,
    health: Health,
}

/// A relay subscription that was requested.
struct Pending {
    id: SubscriptionId,
    keys: Vec<PublicKey>,
    since: Instant,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Lost(#[from] ConnectionError),
    #[error("the relay refuses our subscription")]
    Refused,
    #[error("the relay floods us")]
    Flood,
    #[error("nobody waits for a signer on it")]
    Unused,
}

impl<'a> Session<'a> {
    pub(super) fn new(shared: &'a Shared, relay: &'a Arc<SharedRelay>, connection: Connection) -> Self {
        let now = Instant::now();
        let allowance = TokenBucket::new(Rate::per_second(MESSAGES, MESSAGES_PER_SECOND), now);
        Self {
            shared,
            relay,
            connection,
            requested: 0,
            outdated: true,
            open: None,
            pending: None,
            unauthenticated_since: None,
            authentication: None,
            authenticated: false,
            refusals: 0,
            allowance: (relay.trust == Trust::User).then_some(allowance),
            health: Health::new(now),
        }
    }

    /// Runs until the connection ends. Returns why, and how good a connection it was.
    pub(super) async fn run(mut self) -> (Ended, Quality) {
        let ended = match self.serve().await {
            Ok(never) => match never {},
            Err(ended) => ended,
        };
        let quality = match &ended {
            Ended::Flood | Ended::Lost(ConnectionError::Abuse(_)) => Quality::Abusive,
            _ => self.health.quality(&self.shared.options.connection, Instant::now()),
        };
        if matches!(ended, Ended::Unused) {
            // Whatever the result: the connection ends either way.
            let _ = self.connection.send_close().await;
        }
        (ended, quality)
    }

    async fn serve(&mut self) -> Result<Infallible, Ended> {
        loop {
            if self.outdated && self.pending.is_none() && self.unauthenticated_since.is_none() {
                self.subscribe().await?;
            }
            let due = self.due();
            let relay = self.relay;
            tokio::select! {
                activity = self.connection.next(Interest::READ) => match activity? {
                    Activity::Text(text) => {
                        self.charge()?;
                        self.read(&text).await?;
                    }
                    Activity::Binary(_) | Activity::Control(_) => self.charge()?,
                    Activity::Writable => {}
                },
                () = relay.changed.notified() => {
                    if self.shared.retire(relay) {
                        return Err(Ended::Unused);
                    }
                    self.outdated = true;
                }
                () = relay.filled.notified() => while let Some(text) = relay.next_outgoing() {
                    self.connection.send(text).await?;
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.overdue().await?,
            }
        }
    }

    fn charge(&mut self) -> Result<(), Ended> {
        let within = self.allowance.as_mut().is_none_or(|allowance| allowance.take(Instant::now()));
        if within { Ok(()) } else { Err(Ended::Flood) }
    }

    /// Until when to wait for what the relay should send.
    fn due(&self) -> Option<Instant> {
        let since = self.unauthenticated_since.or(self.pending.as_ref().map(|pending| pending.since));
        since.map(|since| since + self.shared.options.subscribe_within)
    }

    async fn overdue(&mut self) -> Result<(), Ended> {
        match self.unauthenticated_since {
            Some(_) => Err(Ended::Refused),
            // Some relays send no `EOSE`.
            None => self.subscribed().await,
        }
    }

    async fn subscribe(&mut self) -> Result<(), Ended> {
        self.outdated = false;
        self.requested += 1;
        let (id, keys) = (SubscriptionId::new(format!("signers{}", self.requested)), self.relay.keys());
        let filter = Filter::new().kind(Kind::from_u16(message::KIND)).pubkeys(keys.iter().copied());
        let request = ClientMessage::req(id.clone(), filter).as_json();
        self.pending = Some(Pending { id, keys, since: Instant::now() });
        Ok(self.connection.send(request).await?)
    }

    /// The relay subscription that was requested is open.
    async fn subscribed(&mut self) -> Result<(), Ended> {
        let Some(Pending { id, keys, .. }) = self.pending.take() else { return Ok(()) };
        self.health.note_useful();
        self.relay.listens_for(&keys);
        match self.open.replace(id) {
            Some(before) => Ok(self.connection.send(ClientMessage::close(before).as_json()).await?),
            None => Ok(()),
        }
    }

    async fn read(&mut self, text: &str) -> Result<(), Ended> {
        // Anything else that a relay sends is ignored.
        let Ok(received) = RelayMessage::from_json(text) else { return Ok(()) };
        match received {
            RelayMessage::Event { event, .. } if event.kind.as_u16() == message::KIND => {
                self.relay.deliver(event.into_owned());
                Ok(())
            }
            RelayMessage::EndOfStoredEvents(id) if self.pending.as_ref().is_some_and(|pending| pending.id == *id) => {
                self.subscribed().await
            }
            RelayMessage::Closed { subscription_id, message } => self.closed(&subscription_id, &message),
            RelayMessage::Auth { challenge } => self.authenticate(&challenge).await,
            RelayMessage::Ok { event_id, status, .. } if self.authentication == Some(event_id) => {
                self.authentication = None;
                self.authenticated |= status;
                // A relay that asks for authentication may not require it.
                if self.unauthenticated_since.take().is_some() && !status {
                    return Err(Ended::Refused);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The relay closes a relay subscription.
    fn closed(&mut self, id: &SubscriptionId, reason: &str) -> Result<(), Ended> {
        if self.pending.as_ref().is_some_and(|pending| pending.id == *id) {
            self.pending = None;
        } else if self.open.as_ref() == Some(id) {
            self.open = None;
        } else {
            return Ok(());
        }
        self.outdated = true;
        self.refusals += 1;
        if self.refusals > MAX_REFUSALS {
            return Err(Ended::Refused);
        }
        if reason.starts_with("auth-required") && !self.authenticated {
            self.unauthenticated_since = Some(Instant::now());
        } else if self.open.is_none() && self.requested == 1 {
            return Err(Ended::Refused);
        }
        Ok(())
    }

    /// Authenticates (NIP-42) with a key of its own: no session's key is bound to a connection.
    async fn authenticate(&mut self, challenge: &str) -> Result<(), Ended> {
        self.refusals += 1;
        if self.refusals > MAX_REFUSALS {
            return Err(Ended::Refused);
        }
        let Ok(relay) = RelayUrl::parse(self.relay.url.as_str()) else { return Ok(()) };
        let keys: Keys = new_keys(self.shared.randomness.as_ref());
        let event = EventBuilder::auth(challenge, relay)
            .custom_created_at(Timestamp::from_secs(self.shared.clock.now().secs()));
        let Ok(event) = event.sign_with_keys(&keys) else { return Ok(()) };
        self.authentication = Some(event.id);
        Ok(self.connection.send(ClientMessage::auth(event).as_json()).await?)
    }
}
