use std::time::Duration;

use nostr::{Event, JsonUtil as _, Keys};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use usher_engine::ports::SystemClock;
use usher_nostr_connection::Protocol;

use super::*;
use crate::relay_address::RelayAddress;
use crate::relay_status::Origin;

struct Line {
    options: RelayOptions,
    metrics: Metrics,
    handle: RelayHandle,
}

/// What a session has, but for the connection.
struct Exchange<'a> {
    protocol: Protocol<Outgoing>,
    publisher: Publisher<'a>,
}

impl Line {
    fn new() -> Self {
        let options = RelayOptions::new(Identity::of_main_key(Keys::generate()), Vec::new());
        let address = RelayAddress::parse("wss://relay.example").unwrap();
        let handle = RelayHandle::new(address, Origin::Configured, &options, &CancellationToken::new());
        Self { options, metrics: Metrics::default(), handle }
    }

    fn connect(&self, now: Instant) -> Exchange<'_> {
        let protocol = Protocol::new(session_options(&self.handle, &self.options, Arc::new(SystemClock)), now);
        Exchange { protocol, publisher: Publisher::new(&self.handle, &self.options, &self.metrics, now) }
    }

    fn exchange(&self, now: Instant) -> Exchange<'_> {
        let mut exchange = self.connect(now);
        let request = exchange.said(now);
        assert!(request.len() == 1 && request[0][0] == "REQ", "the subscription comes first and alone: {request:?}");
        exchange
    }

    fn queue(&self, number: u8, now: Instant) -> EventId {
        let id = EventId::from_byte_array([number; 32]);
        let frame = format!(r#"["EVENT",{number}]"#).into();
        self.handle.queue.push(Outgoing { id, user: None, frame, made: now, attempts: 0 });
        id
    }

    fn refusal(&self) -> Option<String> {
        self.handle.status().refusal
    }
}

impl Exchange<'_> {
    fn receive<'t>(&mut self, text: &'t str, now: Instant) -> Result<Option<&'t RawValue>, Refusal> {
        let received = self.protocol.receive(text, now);
        self.publisher.handle(received, &mut self.protocol, now)
    }

    fn tick(&mut self, now: Instant) -> Option<Instant> {
        let (due, _) = self.protocol.tick(now);
        due.into_iter().chain(self.publisher.tick(&mut self.protocol, now)).min()
    }

    fn has_message(&mut self, now: Instant) -> bool {
        !self.protocol.first().is_empty() || (self.protocol.may_publish(now) && self.publisher.has_next(now))
    }

    fn next_message(&mut self, now: Instant) -> Option<Utf8Bytes> {
        if let Some(message) = self.protocol.first().pop_front() {
            return Some(message);
        }
        self.publisher.next(&mut self.protocol, now)
    }

    /// All messages that are due now.
    fn said(&mut self, now: Instant) -> Vec<Value> {
        std::iter::from_fn(|| self.next_message(now)).map(|frame| serde_json::from_str(&frame).unwrap()).collect()
    }

    fn end(self, now: Instant) {
        self.publisher.end(self.protocol.lost(now));
    }
}

fn numbers(frames: &[Value]) -> Vec<u64> {
    frames.iter().map(|frame| frame[1].as_u64().unwrap()).collect()
}

fn ok(id: EventId, accepted: bool, text: &str) -> String {
    serde_json::json!(["OK", id, accepted, text]).to_string()
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn subscription_requests_only_accepted_kinds() {
    let (line, now) = (Line::new(), Instant::now());
    let mut exchange = line.connect(now);
    let request = exchange.said(now).remove(0);
    assert_eq!(request[1], "usher");
    let filter = request[2].as_object().unwrap();
    assert_eq!(filter["#p"], serde_json::json!([line.options.identity.main_key.to_hex()]));
    let mut kinds: Vec<_> = filter["kinds"].as_array().unwrap().iter().map(|kind| kind.as_u64().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, kind::FROM_WALLET.map(u64::from));
    let since = filter["since"].as_u64().unwrap();
    let expected = SystemClock.now().secs() - CREATED_AT_TOLERANCE.as_secs();
    assert!(since.abs_diff(expected) < 60);
    assert_eq!(filter.len(), 3);
    assert_eq!(request.as_array().unwrap().len(), 3, "one filter");
}

#[test]
fn sending_does_not_wait_for_ok() {
    let (line, now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    for number in 0..200 {
        line.queue(number, now);
    }
    assert_eq!(exchange.said(now).len(), 200);
    assert!(!exchange.has_message(now));
    assert_eq!(exchange.tick(now + secs(1)), None, "and nothing is planned");
}

#[test]
fn events_that_need_authentication_are_sent_after_it() {
    let (line, now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    let _ = exchange.receive(r#"["EOSE","usher"]"#, now);
    let first = line.queue(1, now);
    exchange.said(now);
    let _ = exchange.receive(&ok(first, false, "auth-required: who are you?"), now);
    line.queue(2, now);
    assert!(exchange.said(now).is_empty(), "held back");
    let _ = exchange.receive(r#"["AUTH","c"]"#, now);
    let frames = exchange.said(now);
    let answer = Event::from_json(frames[0][1].to_string()).unwrap();
    let _ = exchange.receive(&ok(answer.id, true, ""), now);
    let frames = exchange.said(now);
    assert_eq!(frames[0][0], "REQ");
    assert_eq!(numbers(&frames[1..]), [1, 2]);
    // Told the same again although it accepted our authentication: nothing more can be done.
    let _ = exchange.receive(&ok(first, false, "auth-required: who are you?"), now);
    assert!(exchange.said(now).is_empty());
    assert_eq!(line.metrics.rejected.get(), 1);
}

#[test]
fn missing_challenge_does_not_block_events_forever() {
    let (line, mut now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    let id = line.queue(1, now);
    let mut sent = 0;
    for _ in 0..10 {
        sent += exchange.said(now).len();
        let _ = exchange.receive(&ok(id, false, "auth-required: who are you?"), now);
        now += secs(5);
        exchange.tick(now);
    }
    assert_eq!(sent, usize::from(MAX_ATTEMPTS));
    assert_eq!(line.metrics.dropped.get(), 1);
}

#[test]
fn rate_limited_events_are_sent_again_while_fresh() {
    let (line, mut now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    let id = line.queue(1, now);
    let made = now;
    let mut sent = Vec::new();
    while now < made + secs(200) {
        if !exchange.said(now).is_empty() {
            sent.push(now - made);
            let _ = exchange.receive(&ok(id, false, "rate-limited: slow down"), now);
        }
        now += Duration::from_millis(100);
    }
    assert!((4..10).contains(&sent.len()), "{sent:?}");
    assert!(sent.iter().all(|at| *at <= secs(60)), "{sent:?}");
    assert_eq!(line.metrics.dropped.get(), 1);
    assert_eq!(line.metrics.rate_limited.get(), sent.len() as u64);
}

#[test]
fn a_notice_about_a_rate_limit_slows_us_down() {
    let (line, now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    let _ = exchange.receive(r#"["NOTICE","ERROR: rate limited, slow down"]"#, now);
    line.queue(1, now);
    assert!(!exchange.has_message(now));
    let due = exchange.tick(now).unwrap();
    assert_eq!(due, now + secs(1));
    assert!(exchange.has_message(due));
}

#[test]
fn a_refused_event_is_shown_and_not_repeated() {
    let (line, now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    let id = line.queue(1, now);
    exchange.said(now);
    let _ = exchange.receive(&ok(id, false, "blocked: no"), now);
    assert!(exchange.said(now).is_empty());
    assert_eq!(line.refusal().unwrap(), "events: blocked: no");
    assert_eq!(line.metrics.rejected.get(), 1);
    let id = line.queue(2, now);
    exchange.said(now);
    let _ = exchange.receive(&ok(id, true, ""), now);
    assert_eq!(line.refusal(), None);
}

#[test]
fn possibly_lost_events_are_resent_after_a_reconnection() {
    let (line, now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    let old = line.queue(1, now);
    exchange.said(now);
    let later = now + secs(11);
    let accepted = line.queue(2, later);
    line.queue(3, later);
    exchange.said(later);
    let _ = exchange.receive(&ok(accepted, true, ""), later);
    exchange.end(later);
    let mut exchange = line.connect(later);
    let frames = exchange.said(later);
    assert_eq!(numbers(&frames[1..]), [3], "not {old}, which is long gone, nor what was accepted");
    exchange.end(later);
    let mut exchange = line.connect(later);
    assert_eq!(exchange.said(later).len(), 1, "only the REQ: not a third time");
}

#[test]
fn refused_subscription_is_shown_until_it_is_served() {
    let (line, now) = (Line::new(), Instant::now());
    let mut exchange = line.exchange(now);
    let _ = exchange.receive(r#"["EOSE","usher"]"#, now);
    assert!(line.handle.status().subscribed);
    let _ = exchange.receive(r#"["CLOSED","usher","error: shutting down"]"#, now);
    assert!(!line.handle.status().subscribed);
    assert_eq!(line.refusal().unwrap(), "subscription: error: shutting down");
    let due = exchange.tick(now).unwrap();
    exchange.tick(due);
    assert_eq!(exchange.said(due)[0][0], "REQ");
    let _ = exchange.receive(r#"["EOSE","usher2"]"#, due);
    assert!(line.handle.status().subscribed);
    assert_eq!(line.refusal(), None);
}
