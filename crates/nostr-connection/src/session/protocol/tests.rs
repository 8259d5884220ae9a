use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nostr::{Event, Filter, JsonUtil as _, Keys, Kind};
use serde_json::Value;

use super::*;
use crate::session::options::SessionTiming;

const PATIENT: OnRefusal = OnRefusal::RetryAfter(secs(300));

/// A session without a connection.
struct Line {
    protocol: Protocol<u8>,
    now: Instant,
    /// The machine's clock.
    clock: Arc<AtomicU64>,
}

impl Line {
    /// After the first request.
    fn begun(on_refusal: OnRefusal, confirm_within: Option<Duration>) -> Self {
        let (now, clock) = (Instant::now(), Arc::new(AtomicU64::new(1_800_000_000)));
        let shown = Arc::clone(&clock);
        let options = SessionOptions {
            relay: "wss://relay.example".to_owned(),
            keys: Keys::generate(),
            unix_time: Box::new(move || shown.load(Ordering::Relaxed)),
            filters: Box::new(|_| vec![Filter::new().kind(Kind::TextNote)]),
            subscription: "usher",
            timing: SessionTiming { confirm_within, on_refusal, ..SessionTiming::default() },
        };
        let mut line = Self { protocol: Protocol::new(options, now), now, clock };
        assert_eq!(line.said(), [json!(["REQ", "usher", {"kinds": [1]}])], "the subscription comes first and alone");
        line
    }

    /// What a message of the relay means.
    fn hears(&mut self, message: &Value) -> String {
        match self.protocol.receive(&message.to_string(), self.now) {
            Received::Event(_) => "event".to_owned(),
            Received::Acknowledged { verdict, sent, .. } => format!("{verdict:?} {:?}", sent.map(|(event, _)| event)),
            Received::Authenticated { accepted, .. } => format!("authenticated {accepted}"),
            Received::Closed(text) => format!("closed {text}"),
            other => format!("{other:?}").split(['(', ' ']).next().unwrap().to_owned(),
        }
    }

    fn closed(&mut self, id: &str, text: &str) -> String {
        self.hears(&json!(["CLOSED", id, text]))
    }

    fn eose(&mut self, id: &str) -> String {
        self.hears(&json!(["EOSE", id]))
    }

    fn ok(&mut self, id: EventId, accepted: bool, text: &str) -> String {
        self.hears(&json!(["OK", id, accepted, text]))
    }

    fn challenged(&mut self, challenge: &str) -> Event {
        self.hears(&json!(["AUTH", challenge]));
        let said = self.said();
        assert_eq!((said.len(), &said[0][0]), (1, &json!("AUTH")));
        Event::from_json(said[0][1].to_string()).unwrap()
    }

    /// When something is due next.
    fn due(&mut self) -> Option<Duration> {
        self.protocol.tick(self.now).0.map(|due| due - self.now)
    }

    /// All messages that are sent now.
    fn said(&mut self) -> Vec<Value> {
        self.protocol.first().drain(..).map(|message| serde_json::from_str(&message).unwrap()).collect()
    }

    /// After `pause`, what is sent, without filters.
    fn says_after(&mut self, pause: Duration) -> Vec<String> {
        self.now += pause;
        self.protocol.tick(self.now);
        let head = |message: &Value| format!("{} {}", message[0].as_str().unwrap(), message[1].as_str().unwrap_or("…"));
        self.said().iter().map(head).collect()
    }
}

fn id(number: u8) -> EventId {
    EventId::from_byte_array([number; 32])
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const AUTH_REQUIRED: &str = "auth-required: who are you?";

#[test]
fn subscription_is_renewed_after_the_clock_is_set_back() {
    let mut line = Line::begun(PATIENT, None);
    line.eose("usher");
    let start = line.clock.load(Ordering::Relaxed);
    // Clocks are put right by seconds all the time.
    for (time, renewed) in
        [(start + 86_400, vec![]), (start - 5, vec![]), (start - 7_205, vec!["REQ usher2"]), (start - 7_205, vec![])]
    {
        line.clock.store(time, Ordering::Relaxed);
        assert_eq!(line.says_after(secs(0)), renewed);
    }
    line.closed("usher2", "error: shutting down");
    line.clock.store(start - 20_000, Ordering::Relaxed);
    assert!(line.says_after(secs(0)).is_empty(), "a relay that closed it is left alone for its time");
}

#[test]
fn a_closed_subscription_is_requested_again_with_growing_pauses() {
    let mut line = Line::begun(PATIENT, None);
    let (mut longest, mut id) = (Duration::ZERO, "usher".to_owned());
    for number in 2..12 {
        assert_eq!(line.eose(&id), "Subscribed");
        assert!(line.protocol.is_open());
        assert_eq!(line.closed(&id, "error: shutting down"), "closed error: shutting down");
        assert!(!line.protocol.is_open() && line.said().is_empty());
        let pause = line.due().unwrap();
        longest = longest.max(pause);
        id = format!("usher{number}");
        assert_eq!(line.says_after(pause), [format!("REQ {id}")]);
    }
    assert!(longest >= secs(30) && longest <= secs(60), "{longest:?}");
    // A relay that closed it long ago is subscribed to again soon.
    line.says_after(secs(31));
    line.closed(&id, "error: again");
    assert!(line.due().unwrap() <= secs(1));
}

#[test]
fn messages_about_earlier_and_other_subscriptions_change_nothing() {
    let mut line = Line::begun(PATIENT, None);
    line.closed("usher", "error: one");
    let pause = line.due().unwrap();
    for _ in 0..1000 {
        assert_eq!(line.closed("usher", "restricted: two"), "Handled");
    }
    assert_eq!(line.due(), Some(pause));
    assert_eq!(line.says_after(pause), ["REQ usher2"]);
    assert_eq!((line.eose("usher"), line.closed("usher", "restricted: three")), ("Handled".into(), "Handled".into()));
    for other in
        [json!(["CLOSED", "other", ""]), json!(["EOSE", "usher3"]), json!(["EOSE", "usherx"]), json!(["COUNT"])]
    {
        assert_eq!(line.hears(&other), "Other", "{other}");
    }
    assert_eq!(line.hears(&json!(["EVENT", "other", {}])), "Other");
    assert_eq!(line.hears(&json!(["EVENT", "usher2", {}])), "event");
    assert_eq!(line.hears(&json!("garbage")), "Invalid");
    assert_eq!((line.due(), line.said().len(), line.protocol.is_open()), (None, 0, false));
}

#[test]
fn changed_filters_take_the_place_of_the_open_subscription_without_a_gap() {
    let mut line = Line::begun(PATIENT, None);
    line.protocol.renew();
    assert!(line.says_after(secs(0)).is_empty(), "not before the first is open");
    line.eose("usher");
    assert_eq!(line.says_after(secs(0)), ["REQ usher2"]);
    assert!(line.protocol.is_open(), "the first one still is");
    assert_eq!(line.hears(&json!(["EVENT", "usher", {}])), "event");
    line.eose("usher2");
    assert_eq!(line.says_after(secs(0)), ["CLOSE usher"]);
    assert!(line.says_after(secs(0)).is_empty(), "once");
}

#[test]
fn unconfirmed_subscription_is_assumed_to_be_open() {
    let mut line = Line::begun(PATIENT, Some(secs(2)));
    assert_eq!((line.due(), line.protocol.is_open()), (Some(secs(2)), false));
    line.says_after(secs(2));
    assert_eq!((line.due(), line.protocol.is_open()), (None, true));
}

#[test]
fn a_relay_that_does_not_serve_us_is_asked_again_or_left() {
    for (on_refusal, is_left) in [(PATIENT, false), (OnRefusal::End, true)] {
        let begun = || Line::begun(on_refusal, None);
        let mut restricted = begun();
        restricted.closed("usher", "restricted: members only");
        let mut refused = begun();
        refused.closed("usher", AUTH_REQUIRED);
        let response = refused.challenged("c").id;
        assert_eq!(refused.ok(response, false, "restricted: not you"), "authenticated false");
        for mut line in [restricted, refused] {
            assert_eq!(line.protocol.is_refused(), is_left);
            assert_eq!(line.due(), (!is_left).then_some(secs(300)));
            assert_eq!(line.says_after(secs(300)).len(), usize::from(!is_left));
        }
        let mut unchallenged = begun();
        unchallenged.closed("usher", AUTH_REQUIRED);
        assert_eq!(unchallenged.due(), Some(secs(5)));
        assert_eq!(unchallenged.says_after(secs(5)).len(), usize::from(!is_left));
        assert_eq!(unchallenged.protocol.is_refused(), is_left);
    }
}

#[test]
fn authentication_names_the_dialed_address() {
    let mut line = Line::begun(PATIENT, None);
    line.closed("usher", AUTH_REQUIRED);
    assert!(line.said().is_empty());
    let event = line.challenged("chal\"lenge");
    event.verify().unwrap();
    assert_eq!((event.kind, event.pubkey), (Kind::Authentication, line.protocol.options.keys.public_key()));
    let tags: Vec<_> = event.tags.iter().map(|tag| tag.as_slice().to_vec()).collect();
    assert_eq!(tags, [["relay", "wss://relay.example"], ["challenge", "chal\"lenge"]]);
    assert_eq!(line.ok(event.id, true, ""), "authenticated true");
    assert_eq!(line.says_after(secs(0)), ["REQ usher2"]);
    assert_eq!(line.ok(event.id, true, ""), "Accepted None", "an OK said again changes nothing");
    // Another acceptance renews one that the relay has not confirmed.
    let again = line.challenged("d").id;
    line.ok(again, true, "");
    assert_eq!(line.says_after(secs(0)), ["CLOSE usher2", "REQ usher3"]);
}

#[test]
fn unacknowledged_authentication_is_followed_by_a_subscription() {
    for on_refusal in [PATIENT, OnRefusal::End] {
        let mut line = Line::begun(on_refusal, None);
        line.challenged("c");
        line.closed("usher", AUTH_REQUIRED);
        assert_eq!(line.says_after(secs(5)), ["REQ usher2"]);
    }
}

#[test]
fn number_of_challenges_is_limited() {
    for (on_refusal, is_left) in [(PATIENT, false), (OnRefusal::End, true)] {
        let mut line = Line::begun(on_refusal, None);
        for challenges in 1..=1000 {
            line.hears(&json!(["AUTH", "c"]));
            assert_eq!(line.protocol.is_refused(), is_left && challenges > 10);
        }
        line.now += secs(3600);
        line.hears(&json!(["AUTH", "x".repeat(5000)]));
        assert_eq!(line.said().len(), 6, "signatures");
    }
}

#[test]
fn events_are_held_back_until_the_relay_knows_us() {
    let mut line = Line::begun(PATIENT, None);
    line.protocol.sent(id(1), 100, 1, line.now);
    assert_eq!(line.ok(id(1), false, AUTH_REQUIRED), "AuthRequired Some(1)");
    assert!(!line.protocol.may_publish(line.now));
    assert_eq!(line.due(), Some(secs(5)), "not for ever");
    assert!(line.protocol.may_publish(line.now + secs(5)));
    let response = line.challenged("c").id;
    line.ok(response, true, "");
    assert!(line.protocol.may_publish(line.now));
    // Told the same again although it accepted our authentication: nothing more can be done.
    line.protocol.sent(id(1), 100, 1, line.now);
    assert_eq!(line.ok(id(1), false, AUTH_REQUIRED), "Refused Some(1)");
    assert_eq!(line.ok(id(1), false, AUTH_REQUIRED), "Refused None", "once");
    for (accepted, text, verdict) in [
        (true, "rate-limited: but taken", "Accepted None"),
        (false, "duplicate: have it", "Accepted None"),
        (false, "rate-limited: slow down", "RateLimited None"),
        (false, "blocked: no", "Refused None"),
    ] {
        assert_eq!(line.ok(id(1), accepted, text), verdict);
    }
}

#[test]
fn unacknowledged_events_are_bounded_and_forgotten_after_a_while() {
    let mut line = Line::begun(PATIENT, None);
    line.protocol.sent(id(7), 100, 7, line.now);
    let later = line.now + secs(11);
    (0..10_000).for_each(|number| line.protocol.sent(id((number % 200) as u8), 100, 0, later));
    line.ok(id(0), true, "");
    assert_eq!(line.protocol.lost(later).len(), 511);
}

mod whatever_a_relay_says {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Hears(Value),
        Sends(u8),
        Renews,
        Waits(u64),
        Says,
    }

    fn message() -> impl Strategy<Value = Value> {
        let prefixes = &["", "error", "rate-limited", "auth-required", "restricted", "blocked", "duplicate"];
        let reason = prop::sample::select(&prefixes[..]).prop_map(|prefix| format!("{prefix}: x"));
        let subscription = prop::sample::select(&["usher", "usher2", "usher3", "usher4", "other"][..]);
        prop_oneof![
            (0u8..5, any::<bool>(), reason.clone()).prop_map(|(n, accepted, why)| json!(["OK", id(n), accepted, why])),
            (subscription.clone(), reason.clone()).prop_map(|(id, reason)| json!(["CLOSED", id, reason])),
            reason.prop_map(|reason| json!(["NOTICE", reason])),
            "[a-z]{0,3}".prop_map(|challenge| json!(["AUTH", challenge])),
            subscription.clone().prop_map(|id| json!(["EOSE", id])),
            subscription.prop_map(|id| json!(["EVENT", id, {}])),
            "\\PC{0,40}".prop_map(Value::from),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => message().prop_map(Step::Hears),
            1 => (0u8..5).prop_map(Step::Sends),
            1 => Just(Step::Renews),
            1 => (0u64..100_000).prop_map(Step::Waits),
            2 => Just(Step::Says),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn random_relay_messages_cause_bounded_work(steps in prop::collection::vec(step(), 1..200), ends: bool) {
            let mut line = Line::begun(if ends { OnRefusal::End } else { PATIENT }, None);
            let start = line.now;
            let (mut asked, mut signed, mut causes) = (0u64, 0u64, 0u64);
            for step in steps {
                match step {
                    Step::Hears(message) => {
                        causes += u64::from(message[0] == "OK");
                        line.hears(&message);
                    }
                    Step::Sends(number) => line.protocol.sent(id(number), 100, number, line.now),
                    Step::Renews => {
                        causes += 1;
                        line.protocol.renew();
                    }
                    Step::Waits(millis) => line.now += Duration::from_millis(millis),
                    Step::Says => {
                        let due = line.due();
                        prop_assert!(due != Some(Duration::ZERO), "a time that is past would be waited for in a loop");
                        for message in line.said() {
                            asked += u64::from(message[0] == "REQ");
                            signed += u64::from(message[0] == "AUTH");
                        }
                    }
                }
                prop_assert!(line.protocol.first.len() <= 32);
            }
            let passed = line.now - start;
            let minutes = passed.as_secs() / 60 + 2;
            prop_assert!(signed <= 6 * minutes, "{signed} signatures in {minutes} min");
            // Once for each pause (the first is half a second), for each authentication, and for each change.
            prop_assert!(asked <= passed.as_millis() as u64 / 500 + signed + causes + 2, "{asked} times");
            // Whatever happened, the relay is subscribed to again by itself, or serves us, or is left.
            let due = line.due();
            prop_assert!(line.protocol.is_served() || line.protocol.is_refused() || due.is_some());
        }
    }
}
