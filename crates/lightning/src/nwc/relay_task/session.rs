//! One connection to a relay, from the first subscription to the end.

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

/// Most subscriptions that are asked for again on one connection, and most challenges that are answered.
const MAX_AGAIN: u32 = 10;

/// Requests that are remembered until the relay says whether it takes them.
const MAX_OFFERED: usize = 64;

/// A connection.
pub(super) struct Session<'a> {
    shared: &'a Shared,
    relay: usize,
    url: &'a Url,
    connection: Connection,
    /// How often a subscription was asked for.
    subscriptions: u32,
    standing: SubscriptionState,
    challenges: u32,
    /// We have said who we are; the relay has not said yet whether it agrees.
    introduced: Option<(EventId, Instant)>,
    known: bool,
    /// Written, and the relay has not said yet whether it takes them.
    offered: VecDeque<Arc<OutgoingRequest>>,
    /// Refused until the relay knows who we are.
    refused: Vec<Arc<OutgoingRequest>>,
    /// What has been logged once.
    told: Logged,
    /// Begins when the relay has us subscribed.
    health: Option<Health>,
}

#[derive(Default)]
struct Logged {
    subscribed: bool,
    refused: bool,
}

/// How the subscription stands.
#[derive(Clone, Copy)]
enum SubscriptionState {
    /// Asked for at this time.
    Asked(Instant),
    /// Refused at this time until the relay knows who we are.
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
            standing: SubscriptionState::Asked(Instant::now()),
            challenges: 0,
            introduced: None,
            known: false,
            offered: VecDeque::new(),
            refused: Vec::new(),
            told: Logged::default(),
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
                    self.heard(&text).await?;
                },
                // Nothing is sent before we can receive the response.
                request = outgoing.recv(), if matches!(self.standing, SubscriptionState::Open) => match request {
                    Some(request) => self.offer(request).await?,
                    None => return Err(Ended::Stopped),
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.overdue().await?,
            }
        }
    }

    /// When what the relay should say is no longer waited for.
    fn due(&self) -> Option<Instant> {
        match (self.introduced, self.standing) {
            (Some((_, at)), _) | (None, SubscriptionState::Asked(at)) => Some(at + SUBSCRIBE),
            (None, SubscriptionState::Refused(at)) => Some(at + AUTHENTICATE),
            (None, SubscriptionState::Open) => None,
        }
    }

    async fn overdue(&mut self) -> Result<(), Ended> {
        match (self.introduced, self.standing) {
            (Some((id, _)), _) => self.answered(id, true, "").await,
            (None, SubscriptionState::Asked(_)) => self.subscribed().await,
            (None, SubscriptionState::Refused(_)) => Err(Ended::Refused),
            (None, SubscriptionState::Open) => Ok(()),
        }
    }

    /// Writes a request, unless it was taken back or is void.
    async fn offer(&mut self, request: Arc<OutgoingRequest>) -> Result<(), Ended> {
        if !request.begin(self.shared.clock.now().secs()) {
            return Ok(());
        }
        let text = request.text.clone();
        if self.offered.len() >= MAX_OFFERED {
            self.offered.pop_front();
        }
        self.offered.push_back(request);
        Ok(self.connection.send(text).await?)
    }

    /// What the wallet announces, and from now on what it says to us.
    async fn subscribe(&mut self) -> Result<(), Ended> {
        self.subscriptions += 1;
        if self.subscriptions > MAX_AGAIN {
            return Err(Ended::Refused);
        }
        self.standing = SubscriptionState::Asked(Instant::now());
        let wallet = self.shared.url.wallet;
        let announced = Filter::new().author(wallet).kind(Kind::from_u16(INFO)).limit(1);
        let since = self.shared.clock.now().secs().saturating_sub(CLOCKS.as_secs());
        let said = Filter::new()
            .author(wallet)
            .kinds([RESPONSE, NOTIFICATION, NOTIFICATION_NIP04].map(Kind::from_u16))
            .pubkey(self.shared.url.keys.public_key())
            .since(Timestamp::from_secs(since));
        let request = ClientMessage::req(self.subscription(), vec![announced, said]);
        Ok(self.connection.send(request.as_json()).await?)
    }

    /// Each has a name of its own: what a relay says of one before is not said of this one.
    fn subscription(&self) -> SubscriptionId {
        SubscriptionId::new(format!("usher-nwc-{}", self.subscriptions))
    }

    async fn again(&mut self) -> Result<(), Ended> {
        self.shared.set_up(self.relay, false);
        if !matches!(self.standing, SubscriptionState::Refused(_)) {
            self.connection.send(ClientMessage::close(self.subscription()).as_json()).await?;
        }
        self.subscribe().await
    }

    async fn subscribed(&mut self) -> Result<(), Ended> {
        self.standing = SubscriptionState::Open;
        if !std::mem::replace(&mut self.told.subscribed, true) {
            info!(relay = self.url.host_str(), "connected to the Lightning backend's relay");
        }
        if self.health.is_none() {
            let mut health = Health::new(Instant::now());
            health.note_useful();
            self.health = Some(health);
        }
        self.shared.set_up(self.relay, true);
        if self.known {
            self.offer_again().await?;
        }
        Ok(())
    }

    /// Offers once more what was refused when the relay did not know who we are.
    async fn offer_again(&mut self) -> Result<(), Ended> {
        for request in std::mem::take(&mut self.refused) {
            if request.begin(self.shared.clock.now().secs()) {
                self.connection.send(request.text.clone()).await?;
            }
        }
        Ok(())
    }

    async fn heard(&mut self, text: &str) -> Result<(), Ended> {
        // A flood of what is not from the wallet is refused by a look.
        if text.starts_with("[\"EVENT\"") && !text.contains(&self.shared.url.wallet.to_hex()) {
            return Ok(());
        }
        let Ok(message) = RelayMessage::from_json(text) else { return Ok(()) };
        match message {
            RelayMessage::Event { event, .. } if event.pubkey == self.shared.url.wallet => {
                // Full: the relay waits. Fails only when everything stops.
                let heard = ReceivedEvent { relay: self.relay, event: event.into_owned() };
                let _ = self.shared.heard.send(heard).await;
                Ok(())
            }
            RelayMessage::EndOfStoredEvents(id) if *id == self.subscription() => match self.standing {
                SubscriptionState::Asked(_) => self.subscribed().await,
                SubscriptionState::Refused(_) | SubscriptionState::Open => Ok(()),
            },
            RelayMessage::Auth { challenge } => self.introduce(&challenge).await,
            RelayMessage::Ok { event_id, status, message } => self.answered(event_id, status, &message).await,
            RelayMessage::Closed { subscription_id, message } if *subscription_id == self.subscription() => {
                self.shared.set_up(self.relay, false);
                self.standing = SubscriptionState::Refused(Instant::now());
                let waits = self.introduced.is_some() || (!self.known && message.starts_with("auth-required"));
                if waits { Ok(()) } else { self.again().await }
            }
            _ => Ok(()),
        }
    }

    /// Says who we are (NIP-42): the connection's key, which the relay has seen in the subscription.
    async fn introduce(&mut self, challenge: &str) -> Result<(), Ended> {
        self.challenges += 1;
        if self.challenges > MAX_AGAIN {
            return Err(Ended::Refused);
        }
        let Ok(relay) = RelayUrl::parse(self.url.as_str()) else { return Ok(()) };
        let event = EventBuilder::auth(challenge, relay)
            .custom_created_at(Timestamp::from_secs(self.shared.clock.now().secs()));
        let Ok(event) = event.sign_with_keys(&self.shared.url.keys) else { return Ok(()) };
        self.introduced = Some((event.id, Instant::now()));
        Ok(self.connection.send(ClientMessage::auth(event).as_json()).await?)
    }

    /// The relay says whether it takes an event.
    async fn answered(&mut self, id: EventId, taken: bool, reason: &str) -> Result<(), Ended> {
        if self.introduced.is_some_and(|(ours, _)| ours == id) {
            self.introduced = None;
            self.known |= taken;
            return match self.standing {
                _ if taken => self.again().await,
                SubscriptionState::Refused(_) => Err(Ended::Refused),
                // It wanted to know, and does not insist.
                SubscriptionState::Asked(_) | SubscriptionState::Open => Ok(()),
            };
        }
        let Some(place) = self.offered.iter().position(|request| request.id == id) else { return Ok(()) };
        let Some(request) = self.offered.remove(place).filter(|_| !taken) else { return Ok(()) };
        if reason.starts_with("auth-required") {
            if self.refused.len() < MAX_OFFERED {
                self.refused.push(request);
            }
            // Else it is offered again when the relay knows us, and can be heard.
            if self.known && matches!(self.standing, SubscriptionState::Open) && self.introduced.is_none() {
                self.offer_again().await?;
            }
        } else if !std::mem::replace(&mut self.told.refused, true) {
            // Nothing follows from it: another relay may have taken it, and this one may have passed it on all the same.
            let (relay, reason) = (self.url.host_str(), clean(reason));
            warn!(relay, reason, "the Lightning backend's relay refuses a request");
        }
        Ok(())
    }
}
