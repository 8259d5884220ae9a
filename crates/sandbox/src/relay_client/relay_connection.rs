//! The connection to one relay.

use std::time::Duration;

use nostr_sdk::pool::RelayNotification;
use nostr_sdk::pool::relay::Error as RelayError;
use nostr_sdk::{ClientMessage, Event, Filter, Relay, RelayMessage, RelayStatus, SubscriptionId};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// How long to wait before subscribing again after the relay closed the subscription.
const RESUBSCRIBE: Duration = Duration::from_secs(1);

/// How long to retry sending an event to a relay that is disconnected or rate-limits us.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait between two tries.
const RETRY: Duration = Duration::from_millis(500);

/// How things stand with a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Down,
    /// Connected; the subscription is on its way.
    Up,
    /// The relay confirmed the subscription.
    Listening,
}

/// An event as a relay sent it, each time it did.
#[derive(Debug)]
pub(crate) struct RelayEvent {
    /// Which relay.
    pub(crate) relay: usize,
    pub(crate) event: Event,
}

/// A relay.
#[derive(Clone, Debug)]
pub(super) struct RelayHandle {
    pub(super) relay: Relay,
    pub(super) state: watch::Receiver<State>,
}

/// Keeps the subscription to one relay alive and hands over what it sends.
///
/// Not left to `nostr-sdk`, which drops a subscription for good when the relay closes it, and does not renew it after
/// a reconnection within the same second.
pub(super) struct SubscriptionTask {
    pub(super) index: usize,
    pub(super) relay: Relay,
    pub(super) filter: Filter,
    pub(super) heard: mpsc::Sender<RelayEvent>,
    pub(super) state: watch::Sender<State>,
    pub(super) greeting: watch::Receiver<Option<Event>>,
}

impl SubscriptionTask {
    pub(super) async fn run(mut self, mut notifications: broadcast::Receiver<RelayNotification>) {
        let mut again: Option<Instant> = None;
        loop {
            let notification = tokio::select! {
                notification = notifications.recv() => notification,
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {
                    again = None;
                    self.subscribe();
                    continue;
                }
                Ok(()) = self.greeting.changed() => {
                    self.greet();
                    continue;
                }
            };
            match notification {
                Ok(RelayNotification::RelayStatus { status }) => {
                    if status == RelayStatus::Connected {
                        self.subscribe();
                        self.greet();
                        self.state.send_replace(State::Up);
                    } else {
                        self.state.send_replace(State::Down);
                    }
                }
                Ok(RelayNotification::Authenticated) => {
                    self.subscribe();
                    self.greet();
                }
                Ok(RelayNotification::Message { message }) => again = self.message(message).await.or(again),
                Ok(RelayNotification::Event { .. } | RelayNotification::AuthenticationFailed) => {}
                Ok(RelayNotification::Shutdown) => {
                    self.state.send_replace(State::Down);
                }
                Err(broadcast::error::RecvError::Lagged(lost)) => {
                    tracing::warn!(relay = %self.relay.url(), lost, "events of a relay were lost: it sends faster than they are read");
                    // A status may be among what was lost.
                    self.subscribe();
                }
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    /// Handles a message; returns when to subscribe again, if necessary.
    async fn message(&self, message: RelayMessage<'static>) -> Option<Instant> {
        match message {
            RelayMessage::Event { event, .. } => {
                // A full queue delays only this relay; the queue is drained by a task that never waits.
                let _ = self.heard.send(RelayEvent { relay: self.index, event: event.into_owned() }).await;
                None
            }
            RelayMessage::EndOfStoredEvents(_) => {
                self.state.send_replace(State::Listening);
                None
            }
            // Authentication is under way; the subscription is renewed after it.
            RelayMessage::Closed { message, .. } if message.starts_with("auth-required:") => None,
            RelayMessage::Closed { .. } => {
                self.state.send_if_modified(|state| {
                    let was_listening = *state == State::Listening;
                    *state = (*state).min(State::Up);
                    was_listening
                });
                Some(Instant::now() + RESUBSCRIBE)
            }
            _ => None,
        }
    }

    /// Sends the greeting. If the relay is disconnected, it is sent on the next connection.
    fn greet(&mut self) {
        let greeting = self.greeting.borrow_and_update().clone();
        if let Some(event) = greeting.filter(|_| self.relay.status() == RelayStatus::Connected)
            && let Err(error) = self.relay.send_msg(ClientMessage::event(event))
        {
            tracing::debug!(relay = %self.relay.url(), %error, "the announcement could not be sent to a relay");
        }
    }

    fn subscribe(&self) {
        let request = ClientMessage::req(SubscriptionId::new("sandbox"), self.filter.clone());
        if let Err(error) = self.relay.send_msg(request) {
            tracing::debug!(relay = %self.relay.url(), %error, "subscribing at a relay failed");
        }
    }
}

/// What became of an event on one relay, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Delivery {
    /// The relay sent OK.
    Taken,
    /// It was sent; the relay did not reply.
    Unconfirmed,
    /// The relay refused it or was away for too long.
    Failed,
}

impl RelayHandle {
    /// Sends an event as soon as the relay is connected; retries if the relay limits the rate.
    pub(super) async fn deliver(mut self, event: &Event) -> Delivery {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if !matches!(timeout_at(deadline, self.state.wait_for(|state| *state >= State::Up)).await, Ok(Ok(_))) {
                return Delivery::Failed;
            }
            match self.relay.send_event(event).await {
                Ok(_) => return Delivery::Taken,
                Err(RelayError::Timeout | RelayError::PrematureExit) => return Delivery::Unconfirmed,
                Err(RelayError::RelayMessage(reason)) if !is_temporary(&reason) => {
                    tracing::debug!(relay = %self.relay.url(), reason, "the relay refused an event");
                    return Delivery::Failed;
                }
                Err(error) => tracing::debug!(relay = %self.relay.url(), %error, "sending failed; retrying"),
            }
            if Instant::now() + RETRY >= deadline {
                return Delivery::Failed;
            }
            sleep(RETRY).await;
        }
    }
}

fn is_temporary(reason: &str) -> bool {
    reason.starts_with("rate-limited:") || reason.starts_with("auth-required:")
}
