use std::time::Duration;

use nostr::{Event, JsonUtil as _, Keys};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use usher_engine::ports::SystemClock;
use usher_engine::testing::ManualClock;

use super::*;
use crate::identity::Identity;
use crate::relay_address::RelayAddress;
use crate::relay_status::Origin;

struct Line {
    options: RelayOptions,
    metrics: Metrics,
    handle: RelayHandle,
}

impl Line {
    fn new() -> Self {
        let options = RelayOptions::new(Identity::of_main_key(Keys::generate()), Vec::new());
        let address = RelayAddress::parse("wss://relay.example").unwrap();
        let handle = RelayHandle::new(address, Origin::Configured, &options, &CancellationToken::new());
        Self { options, metrics: Metrics::default(), handle }
    }

    fn protocol(&self, now: Instant) -> Protocol<'_> {
        let mut protocol = Protocol::begin(&self.handle, &self.options, &self.metrics, Arc::new(SystemClock), now);
        let request = said(&mut protocol, now);
        assert_eq!(request.len(), 1, "the subscription comes first and alone: {request:?}");
        assert_eq!(request[0][0], "REQ");
        protocol
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

/// All messages that are due now.
fn said(protocol: &mut Protocol<'_>, now: Instant) -> Vec<Value> {
    std::iter::from_fn(|| protocol.next_message(now)).map(|frame| serde_json::from_str(&frame).unwrap()).collect()
}

fn numbers(frames: &[Value]) -> Vec<u64> {
    frames.iter().map(|frame| frame[1].as_u64().unwrap()).collect()
}

fn ok(id: EventId, accepted: bool, text: &str) -> String {
    serde_json::json!(["OK", id, accepted, text]).to_string()
}

fn closed(text: &str) -> String {
    serde_json::json!(["CLOSED", "usher", text]).to_string()
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn subscription_requests_only_accepted_kinds() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = Protocol::begin(&line.handle, &line.options, &line.metrics, Arc::new(SystemClock), now);
    let request = said(&mut protocol, now).remove(0);
    assert_eq!(request[1], "usher");
    let filter = request[2].as_object().unwrap();
    assert_eq!(filter["#p"], serde_json::json!([line.options.identity.main_key.to_hex()]));
    let mut kinds: Vec<_> = filter["kinds"].as_array().unwrap().iter().map(|kind| kind.as_u64().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, kind::FROM_WALLET.map(u64::from));
    let since = filter["since"].as_u64().unwrap();
    let expected = SystemClock.now().secs() - line.options.created_at_tolerance.as_secs();
    assert!(since.abs_diff(expected) < 60);
    assert_eq!(filter.len(), 3);
    assert_eq!(request.as_array().unwrap().len(), 3, "one filter");
}

#[test]
fn subscription_is_renewed_after_the_clock_is_set_back() {
    let line = Line::new();
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let now = Instant::now();
    let mut protocol = Protocol::begin(&line.handle, &line.options, &line.metrics, clock.clone(), now);
    let since = |frames: &[Value]| frames[0][2]["since"].as_u64().unwrap();
    let ahead = since(&said(&mut protocol, now));

    clock.turn(secs(86_400));
    clock.turn_back(secs(86_400 + 5));
    protocol.tick(now);
    assert!(said(&mut protocol, now).is_empty(), "clocks are put right by seconds all the time");

    clock.turn_back(secs(7_200));
    protocol.tick(now);
    let again = said(&mut protocol, now);
    assert_eq!((again.len(), &again[0][0], &again[0][1]), (1, &Value::from("REQ"), &Value::from("usher")), "{again:?}");
    assert_eq!(since(&again), ahead - 7_205);
    protocol.tick(now);
    assert!(said(&mut protocol, now).is_empty(), "once");

    protocol.receive(&closed("error: shutting down"), now);
    clock.turn_back(secs(7_200));
    protocol.tick(now);
    assert!(said(&mut protocol, now).is_empty(), "a relay that closed it is left alone for its time");
}

#[test]
fn sending_does_not_wait_for_ok() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    for number in 0..200 {
        line.queue(number, now);
    }
    assert_eq!(said(&mut protocol, now).len(), 200);
    assert!(!protocol.has_message(now));
    assert_eq!(protocol.tick(now + secs(1)), None, "and nothing is planned");
}

#[test]
fn a_closed_subscription_is_requested_again_with_growing_pauses() {
    let line = Line::new();
    let mut now = Instant::now();
    let mut protocol = line.protocol(now);
    protocol.receive(r#"["EOSE","usher"]"#, now);
    assert!(line.handle.status().subscribed);
    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        protocol.receive(&closed("error: shutting down"), now);
        assert!(!line.handle.status().subscribed);
        assert_eq!(line.refusal().unwrap(), "subscription: error: shutting down");
        assert!(said(&mut protocol, now).is_empty());
        let due = protocol.tick(now).unwrap();
        longest = longest.max(due - now);
        now = due;
        protocol.tick(now);
        assert_eq!(said(&mut protocol, now)[0][0], "REQ");
        protocol.receive(r#"["EOSE","usher"]"#, now);
        assert_eq!(line.refusal(), None);
    }
    assert!(longest >= secs(30) && longest <= secs(60), "{longest:?}");
    // A relay that closed it long ago is subscribed to again soon.
    now += secs(31);
    protocol.tick(now);
    protocol.receive(&closed("error: again"), now);
    assert!(protocol.tick(now).unwrap() - now <= secs(1));
}

#[test]
fn repeated_closed_message_is_ignored() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    protocol.receive(&closed("error: one"), now);
    let due = protocol.tick(now).unwrap();
    for _ in 0..1000 {
        protocol.receive(&closed("restricted: two"), now);
    }
    assert_eq!(protocol.tick(now), Some(due));
}

#[test]
fn a_restriction_is_shown_and_retried_slowly() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    protocol.receive(&closed("restricted: members only"), now);
    assert_eq!(line.refusal().unwrap(), "subscription: restricted: members only");
    assert_eq!(protocol.tick(now), Some(now + secs(300)));
    protocol.tick(now + secs(300));
    assert_eq!(said(&mut protocol, now + secs(300))[0][0], "REQ");
}

#[test]
fn messages_of_unknown_subscriptions_are_ignored() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    assert!(matches!(protocol.receive(r#"["CLOSED","other","error: x"]"#, now), Received::NotAsked));
    assert!(matches!(protocol.receive(r#"["EVENT","other",{}]"#, now), Received::NotAsked));
    assert!(matches!(protocol.receive(&ok(EventId::all_zeros(), false, "rate-limited: x"), now), Received::Protocol));
    assert!(matches!(protocol.receive(r#"["EVENT","usher",{}]"#, now), Received::Event(_)));
    assert!(matches!(protocol.receive("garbage", now), Received::Invalid));
    assert_eq!(protocol.tick(now), None);
    assert!(said(&mut protocol, now).is_empty());
}

#[test]
fn authentication_names_the_dialed_address() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    protocol.receive(&closed("auth-required: who are you?"), now);
    assert!(said(&mut protocol, now).is_empty());
    protocol.receive(r#"["AUTH","chal\"lenge"]"#, now);
    let frames = said(&mut protocol, now);
    assert_eq!((frames.len(), &frames[0][0]), (1, &Value::from("AUTH")));
    let event = Event::from_json(frames[0][1].to_string()).unwrap();
    event.verify().unwrap();
    assert_eq!(event.kind, Kind::Authentication);
    assert_eq!(event.pubkey, line.options.identity.main_key);
    let tags: Vec<_> = event.tags.iter().map(|tag| tag.as_slice().to_vec()).collect();
    assert_eq!(tags, [["relay", "wss://relay.example"], ["challenge", "chal\"lenge"]]);

    protocol.receive(&ok(event.id, true, ""), now);
    assert_eq!(said(&mut protocol, now)[0][0], "REQ");
    for _ in 0..100 {
        protocol.receive(&ok(event.id, true, ""), now);
    }
    assert!(said(&mut protocol, now).is_empty(), "an OK said again changes nothing");
}

#[test]
fn unacknowledged_authentication_is_followed_by_a_subscription() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    protocol.receive(r#"["AUTH","c"]"#, now);
    assert_eq!(said(&mut protocol, now).len(), 1);
    protocol.receive(&closed("auth-required: who are you?"), now);
    let due = protocol.tick(now).unwrap();
    assert!(due - now <= secs(5));
    protocol.tick(due);
    assert_eq!(said(&mut protocol, due)[0][0], "REQ");
}

#[test]
fn refused_authentication_is_retried_slowly() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    protocol.receive(&closed("auth-required: who are you?"), now);
    protocol.receive(r#"["AUTH","c"]"#, now);
    let answer = Event::from_json(said(&mut protocol, now)[0][1].to_string()).unwrap();
    protocol.receive(&ok(answer.id, false, "restricted: not you"), now);
    assert_eq!(protocol.tick(now), Some(now + secs(300)));
    assert!(line.refusal().is_some());
}

#[test]
fn number_of_signed_challenges_is_limited() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    for number in 0..1000 {
        protocol.receive(&format!(r#"["AUTH","{number}"]"#), now);
    }
    protocol.receive(&format!(r#"["AUTH","{}"]"#, "x".repeat(5000)), now + secs(3600));
    assert_eq!(said(&mut protocol, now).len(), 6);
}

#[test]
fn events_that_need_authentication_are_sent_after_it() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    let first = line.queue(1, now);
    said(&mut protocol, now);
    protocol.receive(&ok(first, false, "auth-required: who are you?"), now);
    line.queue(2, now);
    assert!(said(&mut protocol, now).is_empty(), "held back");
    protocol.receive(r#"["AUTH","c"]"#, now);
    let frames = said(&mut protocol, now);
    let answer = Event::from_json(frames[0][1].to_string()).unwrap();
    protocol.receive(&ok(answer.id, true, ""), now);
    let frames = said(&mut protocol, now);
    assert_eq!(frames[0][0], "REQ");
    assert_eq!(numbers(&frames[1..]), [1, 2]);
    // Told the same again although it accepted our authentication: nothing more can be done.
    protocol.receive(&ok(first, false, "auth-required: who are you?"), now);
    assert!(said(&mut protocol, now).is_empty());
    assert_eq!(line.metrics.values().rejected, 1);
}

#[test]
fn missing_challenge_does_not_block_events_forever() {
    let line = Line::new();
    let mut now = Instant::now();
    let mut protocol = line.protocol(now);
    let id = line.queue(1, now);
    let mut sent = 0;
    for _ in 0..10 {
        sent += said(&mut protocol, now).len();
        protocol.receive(&ok(id, false, "auth-required: who are you?"), now);
        now += secs(5);
        protocol.tick(now);
    }
    assert_eq!(sent, usize::from(MAX_ATTEMPTS));
    assert_eq!(line.metrics.values().dropped, 1);
}

#[test]
fn rate_limited_events_are_sent_again_while_fresh() {
    let line = Line::new();
    let mut now = Instant::now();
    let mut protocol = line.protocol(now);
    let id = line.queue(1, now);
    let made = now;
    let mut sent = Vec::new();
    while now < made + secs(200) {
        if !said(&mut protocol, now).is_empty() {
            sent.push(now - made);
            protocol.receive(&ok(id, false, "rate-limited: slow down"), now);
        }
        now += Duration::from_millis(100);
    }
    assert!((4..10).contains(&sent.len()), "{sent:?}");
    assert!(sent.iter().all(|at| *at <= secs(60)), "{sent:?}");
    assert_eq!(line.metrics.values().dropped, 1);
    assert_eq!(line.metrics.values().rate_limited, sent.len() as u64);
}

#[test]
fn a_notice_about_a_rate_limit_slows_us_down() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    protocol.receive(r#"["NOTICE","ERROR: rate limited, slow down"]"#, now);
    line.queue(1, now);
    assert!(!protocol.has_message(now));
    let due = protocol.tick(now).unwrap();
    assert_eq!(due, now + secs(1));
    assert!(protocol.has_message(due));
}

#[test]
fn a_refused_event_is_shown_and_not_repeated() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    let id = line.queue(1, now);
    said(&mut protocol, now);
    protocol.receive(&ok(id, false, "blocked: no"), now);
    assert!(said(&mut protocol, now).is_empty());
    assert_eq!(line.refusal().unwrap(), "events: blocked: no");
    assert_eq!(line.metrics.values().rejected, 1);
    let id = line.queue(2, now);
    said(&mut protocol, now);
    protocol.receive(&ok(id, true, ""), now);
    assert_eq!(line.refusal(), None);
}

#[test]
fn possibly_lost_events_are_resent_after_a_reconnection() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    let old = line.queue(1, now);
    said(&mut protocol, now);
    let later = now + secs(11);
    let accepted = line.queue(2, later);
    line.queue(3, later);
    said(&mut protocol, later);
    protocol.receive(&ok(accepted, true, ""), later);
    protocol.end(later);
    let mut protocol = line.talk_after(later);
    let frames = said(&mut protocol, later);
    assert_eq!(numbers(&frames[1..]), [3], "not {old}, which is long gone, nor what was accepted");
    protocol.end(later);
    let mut protocol = line.talk_after(later);
    assert_eq!(said(&mut protocol, later).len(), 1, "only the REQ: not a third time");
}

impl Line {
    fn talk_after(&self, now: Instant) -> Protocol<'_> {
        Protocol::begin(&self.handle, &self.options, &self.metrics, Arc::new(SystemClock), now)
    }
}

#[test]
fn unacknowledged_events_are_bounded() {
    let line = Line::new();
    let now = Instant::now();
    let mut protocol = line.protocol(now);
    for _ in 0..50 {
        for number in 0..200 {
            line.queue(number, now);
        }
        said(&mut protocol, now);
    }
    protocol.end(now);
    assert_eq!(line.handle.queue.len(), 512);
}

mod whatever_a_relay_says {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Hears(String),
        Queues(u8),
        Waits(u64),
        Says,
    }

    fn text() -> impl Strategy<Value = String> {
        let reason = prop::sample::select(vec![
            "",
            "error: x",
            "rate-limited: x",
            "auth-required: x",
            "restricted: x",
            "blocked: x",
            "duplicate: x",
        ]);
        let id = (0u8..5).prop_map(|number| EventId::from_byte_array([number; 32]));
        prop_oneof![
            (id, any::<bool>(), reason.clone()).prop_map(|(id, accepted, reason)| ok(id, accepted, reason)),
            reason.clone().prop_map(closed),
            reason.prop_map(|reason| serde_json::json!(["NOTICE", reason]).to_string()),
            "[a-z]{0,3}".prop_map(|challenge| serde_json::json!(["AUTH", challenge]).to_string()),
            Just(r#"["EOSE","usher"]"#.to_owned()),
            Just(r#"["EVENT","usher",{}]"#.to_owned()),
            "\\PC{0,40}",
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => text().prop_map(Step::Hears),
            1 => (0u8..5).prop_map(Step::Queues),
            1 => (0u64..100_000).prop_map(Step::Waits),
            2 => Just(Step::Says),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn random_relay_messages_cause_bounded_work(steps in prop::collection::vec(step(), 1..200)) {
            let line = Line::new();
            let mut now = Instant::now();
            let start = now;
            let mut protocol = line.protocol(now);
            let (mut asked, mut signed, mut heard_oks) = (0u64, 0u64, 0u64);
            for step in steps {
                match step {
                    Step::Hears(text) => {
                        heard_oks += u64::from(text.starts_with("[\"OK\""));
                        protocol.receive(&text, now);
                    }
                    Step::Queues(number) => {
                        line.queue(number, now);
                    }
                    Step::Waits(millis) => now += Duration::from_millis(millis),
                    Step::Says => {
                        let due = protocol.tick(now);
                        prop_assert!(due.is_none_or(|due| due > now), "a time that is past would be waited for in a loop");
                        for frame in said(&mut protocol, now) {
                            asked += u64::from(frame[0] == "REQ");
                            signed += u64::from(frame[0] == "AUTH");
                        }
                        prop_assert!(!protocol.has_message(now));
                    }
                }
                prop_assert!(protocol.first.len() <= 16);
            }
            let minutes = (now - start).as_secs() / 60 + 1;
            prop_assert!(signed <= 6 * (minutes + 1), "{signed} signatures in {minutes} min");
            // Once for each pause (the first is half a second), and once for each authentication.
            prop_assert!(asked <= (now - start).as_millis() as u64 / 500 + signed + heard_oks + 2, "{asked} times");
            // Whatever happened, the relay is subscribed to again by itself, or serves us.
            let due = protocol.tick(now);
            prop_assert!(protocol.subscription == Subscription::Open || due.is_some());
        }
    }
}
