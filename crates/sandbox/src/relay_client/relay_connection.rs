use std::time::Duration;

use nostr::{Event, EventId, Filter, JsonUtil as _, Keys};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use url::Url;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{
    Connection, DialOptions, EndReason, Interest, OnRefusal, Received, Session, SessionOptions, SessionTiming, Step,
    Timing, Utf8Bytes, Verdict, dial, event_message,
};

use crate::clock::system_clock;

const MAX_MESSAGE_BYTES: usize = 5 * 1024 * 1024;

const RECONNECT: Duration = Duration::from_millis(500);

/// How long to wait before subscribing again after the relay closed the subscription, or refuses it.
const RESUBSCRIBE: Duration = Duration::from_secs(1);

/// How long to retry sending an event to a relay that is disconnected or rate-limits us.
const TIMEOUT: Duration = Duration::from_secs(30);

const RETRY: Duration = Duration::from_millis(500);

/// How long to wait for the relay to acknowledge an event.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);

const CLOSING: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Down,
    /// Connected; the subscription is on its way.
    Up,
    Listening,
}

/// An event as a relay sent it, each time it did. Its id and signature are verified.
#[derive(Debug)]
pub(crate) struct RelayEvent {
    pub(crate) relay: usize,
    pub(crate) event: Event,
}

#[derive(Clone, Debug)]
pub(super) struct RelayHandle {
    pub(super) url: Url,
    pub(super) state: watch::Receiver<State>,
    pub(super) outgoing: mpsc::UnboundedSender<Outgoing>,
}

#[derive(Debug)]
pub(super) struct Outgoing {
    id: EventId,
    message: Utf8Bytes,
    report: Reporter,
}

/// Reports what the relay says about an event; `None` when the connection broke before.
type Reporter = oneshot::Sender<Option<Verdict>>;

pub(super) struct RelayTask {
    pub(super) index: usize,
    pub(super) url: Url,
    pub(super) keys: Keys,
    pub(super) filter: Filter,
    pub(super) heard: mpsc::Sender<RelayEvent>,
    pub(super) state: watch::Sender<State>,
    pub(super) outgoing: mpsc::UnboundedReceiver<Outgoing>,
    pub(super) greeting: watch::Receiver<Option<Event>>,
    pub(super) stop: CancellationToken,
}

impl RelayTask {
    pub(super) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            let ended = self.connect_once().await;
            tracing::debug!(relay = %self.url, reason = %ended, "a relay is disconnected");
            self.state.send_replace(State::Down);
            while let Ok(outgoing) = self.outgoing.try_recv() {
                lost(outgoing.report);
            }
            self.stop.run_until_cancelled(sleep(RECONNECT)).await;
        }
    }

    async fn connect_once(&mut self) -> EndReason {
        let timing = Timing::default();
        let options = DialOptions::new(AddressSource::Operator, &timing, MAX_MESSAGE_BYTES);
        match self.stop.run_until_cancelled(dial(&self.url, &options, |_| true)).await {
            Some(Ok(connection)) => self.serve(connection).await,
            Some(Err(error)) => error.into(),
            None => EndReason::ByUs,
        }
    }

    async fn serve(&mut self, connection: Connection) -> EndReason {
        let mut session = Session::new(connection, self.session_options());
        self.state.send_replace(State::Up);
        self.greet(&mut session);
        let mut next = None;
        let ended = loop {
            tokio::select! {
                step = session.next(Interest { read: true, write: next.is_some() }) => match step {
                    Ok(Step::Text(text)) => self.read(&mut session, &text).await,
                    Ok(Step::Writable) => if let Some(Outgoing { id, message, report }) = next.take()
                        && let Err(error) = session.publish(id, message, report)
                    {
                        break error.into();
                    },
                    Ok(Step::Subscribed | Step::Binary(_)) => {}
                    Err(ended) => break ended,
                },
                Some(outgoing) = self.outgoing.recv(), if next.is_none() => next = Some(outgoing),
                Ok(()) = self.greeting.changed() => self.greet(&mut session),
                () = self.stop.cancelled() => break EndReason::ByUs,
            }
        };
        if matches!(ended, EndReason::ByUs) {
            // Whatever the result: the connection ends either way.
            let _ = timeout(CLOSING, session.connection().send_close()).await;
        }
        session.lost().into_iter().chain(next.map(|outgoing| outgoing.report)).for_each(lost);
        ended
    }

    fn session_options(&self) -> SessionOptions {
        let (clock, filter) = (system_clock(), self.filter.clone());
        SessionOptions {
            relay: self.url.as_str().to_owned(),
            keys: self.keys.clone(),
            unix_time: Box::new(move || clock.now()),
            filters: Box::new(move |_| vec![filter.clone()]),
            subscription: "sandbox",
            timing: SessionTiming {
                auth_within: RESUBSCRIBE,
                acknowledge_within: 2 * ACKNOWLEDGED,
                resubscribe_longest: RESUBSCRIBE,
                on_refusal: OnRefusal::RetryAfter(RESUBSCRIBE),
                ..SessionTiming::default()
            },
        }
    }

    async fn read(&mut self, session: &mut Session<Reporter>, text: &str) {
        match session.receive(text) {
            Received::Event(event) => {
                let Ok(event) = Event::from_json(event.get()) else { return };
                if !event.is_expired() && event.verify().is_ok() {
                    // A full queue delays only this relay; the queue is drained by a task that never waits.
                    let _ = self.heard.send(RelayEvent { relay: self.index, event }).await;
                }
            }
            Received::Subscribed => {
                self.state.send_replace(State::Listening);
            }
            Received::Closed(_) => {
                self.state.send_replace(State::Up);
            }
            Received::Authenticated { accepted: true, .. } => self.greet(session),
            Received::Acknowledged { verdict, text, sent: Some((report, _)), .. } => {
                if verdict == Verdict::Refused {
                    tracing::debug!(relay = %self.url, reason = %text, "the relay refused an event");
                }
                // Who waited may have given up.
                let _ = report.send(Some(verdict));
            }
            _ => {}
        }
    }

    fn greet(&mut self, session: &mut Session<Reporter>) {
        if let Some(event) = &*self.greeting.borrow_and_update() {
            session.protocol().first().push_back(event_message(event));
        }
    }
}

fn lost(report: Reporter) {
    // Who waited may have given up.
    let _ = report.send(None);
}

/// What became of an event on one relay, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Delivery {
    Taken,
    /// It was sent; the relay did not reply.
    Unconfirmed,
    Failed,
}

impl RelayHandle {
    /// Sends an event as soon as the relay is connected; retries if the relay limits the rate.
    pub(super) async fn deliver(mut self, id: EventId, message: &Utf8Bytes) -> Delivery {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if !matches!(timeout_at(deadline, self.state.wait_for(|state| *state >= State::Up)).await, Ok(Ok(_))) {
                return Delivery::Failed;
            }
            let (report, reported) = oneshot::channel();
            if self.outgoing.send(Outgoing { id, message: message.clone(), report }).is_err() {
                return Delivery::Failed;
            }
            match timeout(ACKNOWLEDGED, reported).await {
                Ok(Ok(Some(Verdict::Accepted))) => return Delivery::Taken,
                Ok(Ok(Some(Verdict::Refused))) => return Delivery::Failed,
                Ok(Ok(None | Some(Verdict::RateLimited | Verdict::AuthRequired))) => {}
                // Too long ago, or too many since.
                Ok(Err(_)) | Err(_) => return Delivery::Unconfirmed,
            }
            if Instant::now() + RETRY >= deadline {
                return Delivery::Failed;
            }
            sleep(RETRY).await;
        }
    }
}
