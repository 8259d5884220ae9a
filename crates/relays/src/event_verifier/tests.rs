use nostr::JsonUtil as _;
use usher_engine::UnixMillis;
use usher_protocol::Keys;
use usher_protocol::message::KeyHandshake;
use usher_testing::ports::ManualClock;

use super::*;

/// 2026-01-01.
const NOW: u64 = 1_767_225_600;

struct LookupContext {
    service: Keys,
    main: Keys,
    wallet: Keys,
    metrics: Arc<Metrics>,
    event_verifier: EventVerifier,
}

impl LookupContext {
    fn new() -> Self {
        let service = Keys::generate();
        Self::with(service.clone(), service)
    }

    fn on_a_subkey() -> Self {
        Self::with(Keys::generate(), Keys::generate())
    }

    fn with(service: Keys, main: Keys) -> Self {
        let identity = Identity { keys: service.clone(), main_key: main.public_key(), subkey_proof: None };
        let options = RelayOptions::new(identity, Vec::new());
        let metrics = Arc::new(Metrics::default());
        let conversation_keys = Arc::new(ConversationKeys::new(service.clone(), 10));
        let event_verifier = EventVerifier::new(
            &options,
            Arc::new(ManualClock::at(UnixMillis::from_secs(NOW))),
            conversation_keys,
            Arc::clone(&metrics),
        );
        Self { service, main, wallet: Keys::generate(), metrics, event_verifier }
    }

    fn seal(&self, to: &Keys, tagged: &Keys, kind: u16, text: &str, created_at: u64) -> Event {
        let conversation = envelope::conversation_key(&self.wallet, &to.public_key()).unwrap();
        envelope::seal(&self.wallet, &conversation, &[tagged.public_key()], None, kind, text, created_at).unwrap()
    }

    fn handshake(&self, token: &str) -> Event {
        self.seal(&self.service, &self.service, kind::KEY_HANDSHAKE, &format!(r#"{{"token":"{token}"}}"#), NOW)
    }

    fn verify(&self, event: &Event) -> Verdict {
        self.examine_text(&event.as_json())
    }

    fn examine_text(&self, text: &str) -> Verdict {
        self.verify_at("wss://a.example", text)
    }

    fn verify_at(&self, relay: &str, text: &str) -> Verdict {
        self.event_verifier.verify(serde_json::from_str(text).unwrap(), Some(&relay.into()))
    }

    #[track_caller]
    fn refuses(&self, text: &str, reason: Refusal) {
        let before = self.metrics.refused_for(reason);
        let verdict = self.examine_text(text);
        assert!(matches!(verdict, Verdict::Refused(why) if why == reason), "{verdict:?}");
        assert_eq!(self.metrics.refused_for(reason), before + 1, "{:?}", self.metrics);
    }

    #[track_caller]
    fn takes(&self, event: &Event) {
        let Verdict::Message(inbound) = self.verify(event) else { panic!("refused: {:?}", self.metrics) };
        assert_eq!((inbound.event_id, inbound.author), (event.id, event.pubkey));
    }
}

#[test]
fn message_is_accepted_once() {
    let context = LookupContext::new();
    let event = context.handshake("abcd");
    let Verdict::Message(inbound) = context.verify(&event) else { panic!("refused") };
    assert!(matches!(&inbound.message, WalletMessage::KeyHandshake(KeyHandshake { token, .. }) if token == "abcd"));
    assert!(matches!(context.verify(&event), Verdict::Known));
    assert_eq!(context.metrics.duplicates.get(), 1);
    assert_eq!(context.metrics.verified.get(), 1, "the second time costs no signature check");
}

#[test]
fn simultaneous_copies_of_one_event_are_accepted_once() {
    let context = LookupContext::new();
    for round in 0..20 {
        let text = context.handshake(&format!("token{round}")).as_json();
        let barrier = std::sync::Barrier::new(4);
        let taken = std::thread::scope(|scope| {
            let verify = || {
                barrier.wait();
                matches!(context.examine_text(&text), Verdict::Message(_))
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(verify)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|taken| *taken).count()
        });
        assert_eq!(taken, 1);
    }
}

#[test]
fn handshake_is_forwarded_once_per_relay_and_a_reply_once() {
    let context = LookupContext::new();
    let handshake = context.handshake("abcd").as_json();
    let via = |verdict| match verdict {
        Verdict::Message(inbound) => Some((inbound.via.relay.map(|relay| relay.to_string()), inbound.via.copy)),
        _ => None,
    };
    for round in 0..3 {
        for (relay, copy) in [("wss://a.example", false), ("wss://b.example", true)] {
            let expected = (round == 0).then(|| (Some(relay.to_owned()), copy));
            assert_eq!(via(context.verify_at(relay, &handshake)), expected, "{relay}, the {round}th time");
        }
        let of_user = context.event_verifier.verify(serde_json::from_str(&handshake).unwrap(), None);
        assert_eq!(via(of_user), (round == 0).then_some((None, true)), "relays of users are one");
    }
    assert_eq!(context.metrics.verified.get(), 3, "each relay's claim is checked, once");
    // A relay cannot change its content.
    let mut forged: Event = serde_json::from_str(&handshake).unwrap();
    forged.content = context.handshake("efgh").content;
    assert!(matches!(context.verify_at("wss://c.example", &forged.as_json()), Verdict::Refused(Refusal::Forged)));
    assert!(via(context.verify_at("wss://c.example", &handshake)).is_some(), "nor spoil it by trying to");

    let text = r#"{"challenge":"c","subkey_proof":null,"status":{"status":"declined","reason":null}}"#;
    let answer = context.seal(&context.service, &context.service, kind::AUTH_RESPONSE, text, NOW).as_json();
    assert!(via(context.verify_at("wss://a.example", &answer)).is_some());
    assert!(matches!(context.verify_at("wss://b.example", &answer), Verdict::Known));
}

#[test]
fn forgeries_are_refused_and_do_not_block_the_genuine_event() {
    let context = LookupContext::new();
    let genuine = context.handshake("abcd");
    let other = context.handshake("efgh");

    type Forgery<'a> = (&'static str, &'a dyn Fn(&mut Event));
    let forgeries: [Forgery<'_>; 7] = [
        ("content", &|event| event.content.clone_from(&other.content)),
        ("signature", &|event| event.sig = other.sig),
        ("author", &|event| event.pubkey = Keys::generate().public_key()),
        ("time", &|event| event.created_at = (NOW - 1).into()),
        ("kind", &|event| event.kind = nostr::Kind::from_u16(kind::AUTH_RESPONSE)),
        ("tag", &|event| event.tags.push(nostr::Tag::public_key(Keys::generate().public_key()))),
        // A genuine event under another's id.
        ("id", &|event| (event.pubkey, event.content, event.sig) = (other.pubkey, other.content.clone(), other.sig)),
    ];
    for (what, forge) in forgeries {
        let mut forged = genuine.clone();
        forge(&mut forged);
        assert_eq!(forged.id, genuine.id, "{what}");
        context.refuses(&forged.as_json(), Refusal::Forged);
    }

    assert_eq!(context.metrics.verified.get(), 0);
    context.takes(&genuine);
    context.takes(&other);
}

#[test]
fn events_for_others_are_refused_without_verifying_the_signature() {
    let context = LookupContext::new();
    let outsider = Keys::generate();
    let text = r#"{"token":"abcd"}"#;
    let ours = &context.service;
    context.refuses(&context.seal(ours, ours, kind::AUTH_CHALLENGE, text, NOW).as_json(), Refusal::NotAsked);
    context.refuses(&context.seal(ours, ours, 1, text, NOW).as_json(), Refusal::NotAsked);
    context.refuses(&context.seal(ours, &outsider, kind::KEY_HANDSHAKE, text, NOW).as_json(), Refusal::NotAsked);
    for created_at in [NOW - 15 * 60 - 1, NOW + 15 * 60 + 1, 0, u64::MAX >> 1] {
        context.refuses(&context.seal(ours, ours, kind::KEY_HANDSHAKE, text, created_at).as_json(), Refusal::OutOfTime);
    }
    ["{}", "[]", "1"].iter().for_each(|text| context.refuses(text, Refusal::Malformed));
    let genuine = context.handshake("abcd").as_json();
    for (part, other) in
        [("\"sig\"", "\"gis\""), ("\"tags\":[", "\"tags\":[[],"), ("{\"id\"", "{\"kind\":27010,\"id\"")]
    {
        context.refuses(&genuine.replace(part, other), Refusal::Malformed);
    }
    let mut clear = context.handshake("abcd");
    clear.content = "hello".into();
    context.refuses(&clear.as_json(), Refusal::Undecryptable);
    clear.content = "A".repeat(MAX_CONTENT_BYTES + 1);
    context.refuses(&clear.as_json(), Refusal::TooLong);
    assert_eq!(context.metrics.verified.get(), 0);
    for created_at in [NOW - 15 * 60, NOW + 15 * 60] {
        context.takes(&context.seal(ours, ours, kind::KEY_HANDSHAKE, text, created_at));
    }
}

#[test]
fn our_own_events_are_ignored() {
    let mut context = LookupContext::new();
    context.wallet = context.service.clone();
    assert!(matches!(context.verify(&context.handshake("abcd")), Verdict::Known));
    assert_eq!(context.metrics.own.get(), 1);
}

#[test]
fn unreadable_events_are_refused_once() {
    let context = LookupContext::new();
    let outsider = Keys::generate();
    let text = r#"{"token":"abcd"}"#;
    let for_another = context.seal(&outsider, &context.service, kind::KEY_HANDSHAKE, text, NOW);
    context.refuses(&for_another.as_json(), Refusal::Undecryptable);
    assert!(matches!(context.verify(&for_another), Verdict::Known), "verified, so it need not be checked again");
    let nonsense = context.seal(&context.service, &context.service, kind::KEY_HANDSHAKE, "nonsense", NOW);
    context.refuses(&nonsense.as_json(), Refusal::NotUnderstood);
    assert!(matches!(context.verify(&nonsense), Verdict::Known));
}

#[test]
fn events_for_the_main_key_are_detected_on_a_subkey() {
    let context = LookupContext::on_a_subkey();
    let text = r#"{"token":"abcd"}"#;
    let for_main = context.seal(&context.main, &context.main, kind::KEY_HANDSHAKE, text, NOW);
    let Verdict::SealedToMainKey { author, event } = context.verify(&for_main) else { panic!("not noticed") };
    assert_eq!((author, event), (context.wallet.public_key(), for_main.id));
    assert!(matches!(context.verify(&for_main), Verdict::Known), "one answer to one event");
    assert!(context.event_verifier.seen_events.is_junk(&for_main.id), "anybody can make these");

    // Tagged with the main key and readable by us.
    let readable = context.seal(&context.service, &context.main, kind::KEY_HANDSHAKE, text, NOW);
    context.takes(&readable);
    assert!(!context.event_verifier.seen_events.is_junk(&readable.id));
    // Tagged with our subkey and not readable: a mistake, not an author who does not know the subkey.
    let mistake = context.seal(&context.main, &context.service, kind::KEY_HANDSHAKE, text, NOW);
    context.refuses(&mistake.as_json(), Refusal::Undecryptable);
    // A proof is not answered with a proof.
    let proof = context.seal(&context.main, &context.main, kind::SUBKEY_PROOF, text, NOW);
    context.refuses(&proof.as_json(), Refusal::Undecryptable);
}

#[test]
fn the_shortcut_for_nip44_agrees_with_base64() {
    use std::iter::once;
    // All pairs of first characters: only those that decode to a first byte of 2 pass.
    let alphabet = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(once('+')).chain(once('/'));
    let alphabet: Vec<_> = alphabet.collect();
    for (high, first) in alphabet.iter().enumerate() {
        for (low, second) in alphabet.iter().enumerate() {
            let byte = (high << 2) | (low >> 4);
            assert_eq!(looks_like_nip44_v2(&format!("\"{first}{second}rest\"")), byte == 2, "{first}{second}");
        }
    }
    assert!(!looks_like_nip44_v2("\"A"));
    assert!(!looks_like_nip44_v2("null"));
}
