//! One connection to a relay, from the first subscription to the end of the connection.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use nostr::{
    ClientMessage, EventBuilder, EventId, Filter, JsonUtil as _, Kind, RelayMessage, RelayUrl, SubscriptionId,
    Timestamp,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};
use url::Url;
use usher_nostr_connection::{Activity, Connection, ConnectionError, Health, Interest, Quality};

use super::{
    AUTHENTICATE, CLOCKS, Ended, INFO, NOTIFICATION, NOTIFICATION_NIP04, OutgoingRequest, RESPONSE, ReceivedEvent,
    SUBSCRIBE, Shared,
};
use crate::nwc::response::clean;

/// Most subscriptions requested on one connection, and most challenges answered.
const MAX_RETRIES: u32 = 10;

/// Requests that are remembered until the relay accepts or refuses them.
const MAX_UNACKNOWLEDGED: usize = 64;

/// The session on one connection.
pub(super) struct Session<'a> {
    shared: &'a Shared,
    relay: usize,
    url: &'a Url,
    connection: Connection,
    /// How often a subscription was requested.
    subscriptions: u32,
    subscription_state: SubscriptionState,
    /// The time of the events from which on the relay sends them, in Unix seconds.
    since: u64,
    challenges: u32,
    /// Our authentication, to which the relay has not responded yet, and when it was sent.
    authenticating: Option<(EventId, Instant)>,
    authenticated: bool,
    /// Written; the relay has neither accepted nor refused them yet.
    unacknowledged: VecDeque<Arc<OutgoingRequest>>,
    /// Refused until we have authenticated.
    refused: Vec<Arc<OutgoingRequest>>,
    /// What has been logged on this connection.
    logged: Logged,
    /// Begins when the relay has us subscribed.
    health: Option<Health>,
}

#[derive(Default)]
struct Logged {
    subscribed: bool,
    refused: bool,
}

/// The state of the subscription.
#[derive(Clone, Copy)]
enum SubscriptionState {
    /// Requested at this time.
    Requested(Instant),
    /// Refused at this time until we authenticate.
    Refused(Instant),
    Open,
}

impl<'a> Session<'a> {
    pub(super) fn new(shared: &'a Shared, relay: usize, url: &'a Url, connection: Connection) -> Self {
        Self {
            shared,
            relay,
            url,
            connection,
            subscriptions: 0,
            subscription_state: SubscriptionState::Requested(Instant::now()),
            since: 0,
            challenges: 0,
            authenticating: None,
            authenticated: false,
            unacknowledged: VecDeque::new(),
            refused: Vec::new(),
            logged: Logged::default(),
            health: None,
        }
    }

    /// Runs until the connection ends. Returns why, and how good a connection it was.
    pub(super) async fn run(mut self, outgoing: &mut mpsc::Receiver<Arc<OutgoingRequest>>) -> (Ended, Quality) {
        let ended = match self.serve(outgoing).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        };
        let quality = match (&ended, self.health) {
            (Ended::Lost(ConnectionError::Abuse(_)), _) => Quality::Abusive,
            (_, Some(health)) => health.quality(&self.shared.timing, Instant::now()),
            (_, None) => Quality::Useless,
        };
        (ended, quality)
    }

    async fn serve(&mut self, outgoing: &mut mpsc::Receiver<Arc<OutgoingRequest>>) -> Result<Infallible, Ended> {
        self.subscribe().await?;
        loop {
            let due = self.due();
            tokio::select! {
                activity = self.connection.next(Interest::READ) => if let Activity::Text(text) = activity? {
                    self.read(&text).await?;
                },
                // Nothing is sent before we can receive the response.
                request = outgoing.recv(), if matches!(self.subscription_state, SubscriptionState::Open) => match request {
                    Some(request) => self.write(request).await?,
                    None => return Err(Ended::Stopped),
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.overdue().await?,
            }
        }
    }

    /// Until when to wait for what the relay should send.
    fn due(&self) -> Option<Instant> {
        match (self.authenticating, self.subscription_state) {
            (Some((_, at)), _) | (None, SubscriptionState::Requested(at)) => Some(at + SUBSCRIBE),
            (None, SubscriptionState::Refused(at)) => Some(at + AUTHENTICATE),
            (None, SubscriptionState::Open) => None,
        }
    }

    async fn overdue(&mut self) -> Result<(), Ended> {
        match (self.authenticating, self.subscription_state) {
            (Some((id, _)), _) => self.acknowledged(id, true, "").await,
            (None, SubscriptionState::Requested(_)) => self.subscribed().await,
            (None, SubscriptionState::Refused(_)) => Err(Ended::Refused),
            (None, SubscriptionState::Open) => Ok(()),
        }
    }

    /// Writes a request, unless it was taken back or is void.
    async fn write(&mut self, request: Arc<OutgoingRequest>) -> Result<(), Ended> {
        let now = self.shared.clock.now().secs();
        if !request.mark_written(now) {
            return Ok(());
        }
        // The clock was set back: the relay would withhold the response.
        if now < self.since {
            self.resubscribe().await?;
        }
        let text = request.text.clone();
        if self.unacknowledged.len() >= MAX_UNACKNOWLEDGED {
            self.unacknowledged.pop_front();
        }
        self.unacknowledged.push_back(request);
        Ok(self.connection.send(text).await?)
    }

    /// Requests the backend's announcement, and what it sends to us from now on.
    async fn subscribe(&mut self) -> Result<(), Ended> {
        self.subscriptions += 1;
        if self.subscriptions > MAX_RETRIES {
            return Err(Ended::Refused);
        }
        self.subscription_state = SubscriptionState::Requested(Instant::now());
        let backend = self.shared.uri.backend;
        let announced = Filter::new().author(backend).kind(Kind::from_u16(INFO)).limit(1);
        self.since = self.shared.clock.now().secs().saturating_sub(CLOCKS.as_secs());
        let sent = Filter::new()
            .author(backend)
            .kinds([RESPONSE, NOTIFICATION, NOTIFICATION_NIP04].map(Kind::from_u16))
            .pubkey(self.shared.uri.keys.public_key())
            .since(Timestamp::from_secs(self.since));
        let request = ClientMessage::req(self.subscription_id(), vec![announced, sent]);
        Ok(self.connection.send(request.as_json()).await?)
    }

    /// Each subscription has an id of its own, so that late messages about an earlier one do not concern it.
    fn subscription_id(&self) -> SubscriptionId {
        SubscriptionId::new(format!("usher-nwc-{}", self.subscriptions))
    }

    async fn resubscribe(&mut self) -> Result<(), Ended> {
        self.shared.set_up(self.relay, false);
        if !matches!(self.subscription_state, SubscriptionState::Refused(_)) {
            self.connection.send(ClientMessage::close(self.subscription_id()).as_json()).await?;
        }
        self.subscribe().await
    }

    async fn subscribed(&mut self) -> Result<(), Ended> {
        self.subscription_state = SubscriptionState::Open;
        if !std::mem::replace(&mut self.logged.subscribed, true) {
            info!(relay = self.url.host_str(), "connected to the Lightning backend's relay");
        }
        if self.health.is_none() {
            let mut health = Health::new(Instant::now());
            health.note_useful();
            self.health = Some(health);
        }
        self.shared.set_up(self.relay, true);
        if self.authenticated {
            self.write_refused().await?;
        }
        Ok(())
    }

    /// Writes again what was refused before we authenticated.
    async fn write_refused(&mut self) -> Result<(), Ended> {
        for request in std::mem::take(&mut self.refused) {
            if request.mark_written(self.shared.clock.now().secs()) {
                self.connection.send(request.text.clone()).await?;
            }
        }
        Ok(())
    }

    async fn read(&mut self, text: &str) -> Result<(), Ended> {
        // Events that are not from the backend are refused without parsing them.
        if text.starts_with("[\"EVENT\"") && !text.contains(&self.shared.uri.backend.to_hex()) {
            return Ok(());
        }
        let Ok(message) = RelayMessage::from_json(text) else { return Ok(()) };
        match message {
            RelayMessage::Event { event, .. } if event.pubkey == self.shared.uri.backend => {
                // When it is full, the relay waits. Fails only when everything stops.
                let received = ReceivedEvent { relay: self.relay, event: event.into_owned() };
                let _ = self.shared.received.send(received).await;
                Ok(())
            }
            RelayMessage::EndOfStoredEvents(id) if *id == self.subscription_id() => match self.subscription_state {
                SubscriptionState::Requested(_) => self.subscribed().await,
                SubscriptionState::Refused(_) | SubscriptionState::Open => Ok(()),
            },
            RelayMessage::Auth { challenge } => self.authenticate(&challenge).await,
            RelayMessage::Ok { event_id, status, message } => self.acknowledged(event_id, status, &message).await,
            RelayMessage::Closed { subscription_id, message } if *subscription_id == self.subscription_id() => {
                self.shared.set_up(self.relay, false);
                self.subscription_state = SubscriptionState::Refused(Instant::now());
                let waits =
                    self.authenticating.is_some() || (!self.authenticated && message.starts_with("auth-required"));
                if waits { Ok(()) } else { self.resubscribe().await }
            }
            _ => Ok(()),
        }
    }

    /// Authenticates (NIP-42) with the connection's key, which the relay has seen in the subscription.
    async fn authenticate(&mut self, challenge: &str) -> Result<(), Ended> {
        self.challenges += 1;
        if self.challenges > MAX_RETRIES {
            return Err(Ended::Refused);
        }
        let Ok(relay) = RelayUrl::parse(self.url.as_str()) else { return Ok(()) };
        let event = EventBuilder::auth(challenge, relay)
            .custom_created_at(Timestamp::from_secs(self.shared.clock.now().secs()));
        let Ok(event) = event.sign_with_keys(&self.shared.uri.keys) else { return Ok(()) };
        self.authenticating = Some((event.id, Instant::now()));
        Ok(self.connection.send(ClientMessage::auth(event).as_json()).await?)
    }

    /// The relay accepts or refuses an event.
    async fn acknowledged(&mut self, id: EventId, accepted: bool, reason: &str) -> Result<(), Ended> {
        if self.authenticating.is_some_and(|(ours, _)| ours == id) {
            self.authenticating = None;
            self.authenticated |= accepted;
            return match self.subscription_state {
                _ if accepted => self.resubscribe().await,
                SubscriptionState::Refused(_) => Err(Ended::Refused),
                // It asked for authentication but does not require it.
                SubscriptionState::Requested(_) | SubscriptionState::Open => Ok(()),
            };
        }
        let Some(place) = self.unacknowledged.iter().position(|request| request.id == id) else { return Ok(()) };
        let Some(request) = self.unacknowledged.remove(place).filter(|_| !accepted) else { return Ok(()) };
        if reason.starts_with("auth-required") {
            if self.refused.len() < MAX_UNACKNOWLEDGED {
                self.refused.push(request);
            }
            // Otherwise it is written again once we have authenticated and are subscribed.
            if self.authenticated
                && matches!(self.subscription_state, SubscriptionState::Open)
                && self.authenticating.is_none()
            {
                self.write_refused().await?;
            }
        } else if !std::mem::replace(&mut self.logged.refused, true) {
            // This proves nothing: another relay may have accepted it, and this one may have forwarded it nevertheless.
            let (relay, reason) = (self.url.host_str(), clean(reason));
            warn!(relay, reason, "the Lightning backend's relay refuses a request");
        }
        Ok(())
    }
}
