//! The envelope: test vectors, and invalid envelopes that are refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use usher_protocol::envelope::{self, Contents, EnvelopeError};
use usher_protocol::message::WalletMessage;
use usher_protocol::{Event, EventId, Keys, SecretKey};

use crate::tests::wire_samples::{about, sample};

fn keys(last: u8) -> Keys {
    let mut bytes = [0; 32];
    bytes[31] = last;
    Keys::new(SecretKey::from_slice(&bytes).unwrap())
}

fn sealed(plaintext: &str) -> Event {
    let conversation = envelope::conversation_key(&keys(1), &keys(2).public_key()).unwrap();
    envelope::seal(&keys(1), &conversation, &[keys(2).public_key()], None, 27010, plaintext, 1_732_137_600).unwrap()
}

fn opened(event: &Event) -> Result<String, EnvelopeError> {
    envelope::open(&envelope::conversation_key(&keys(2), &keys(1).public_key()).unwrap(), event)
}

fn signed(content: String) -> Event {
    nostr::EventBuilder::new(nostr::Kind::from_u16(27010), content).sign_with_keys(&keys(1)).unwrap()
}

/// The published test vector of NIP-44 with the secret keys 1 and 2, nonce 1 and the plaintext `a`.
#[test]
fn nip44_test_vector_decrypts() {
    let conversation = envelope::conversation_key(&keys(2), &keys(1).public_key()).unwrap();
    let key = "c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d";
    assert_eq!(hex::encode(conversation.as_bytes()), key);
    let payload = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlCWZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb";
    assert_eq!(opened(&signed(payload.to_owned())).unwrap(), "a");
}

#[test]
fn only_the_recipient_can_open_a_sealed_message() {
    let event = sealed("hello");
    assert!(envelope::verify(&event).is_ok());
    assert_eq!(opened(&event).unwrap(), "hello");
    assert_eq!(event.pubkey, keys(1).public_key());
    assert_eq!(event.created_at.as_secs(), 1_732_137_600);
    let other = envelope::conversation_key(&keys(3), &keys(1).public_key()).unwrap();
    assert!(matches!(envelope::open(&other, &event), Err(EnvelopeError::Undecryptable)));
    // Each sealing is another ciphertext, and another event.
    assert_ne!(sealed("hello").content, event.content);
}

#[test]
fn repeatable_sealing_is_deterministic_and_distinct_per_message() {
    let conversation = |to| envelope::conversation_key(&keys(1), &keys(to).public_key()).unwrap();
    let seal = |contents: &Contents<'_>| envelope::seal_repeatable(&keys(1), &conversation(2), contents).unwrap();
    let (two, three) = ([keys(2).public_key()], [keys(2).public_key(), keys(3).public_key()]);
    let contents = Contents { participants: &two, kind: 27000, plaintext: "hello", created_at: 1_732_137_600 };
    let event = seal(&contents);
    assert_eq!(seal(&contents), event);
    assert_eq!(nostr::JsonUtil::as_json(&seal(&contents)), nostr::JsonUtil::as_json(&event), "the signature, too");
    assert!(envelope::verify(&event).is_ok());
    assert_eq!(opened(&event).unwrap(), "hello");
    let others = [
        Contents { participants: &three, ..contents },
        Contents { kind: 28000, ..contents },
        Contents { plaintext: "hellp", ..contents },
        Contents { created_at: 1_732_137_601, ..contents },
    ];
    let nonce = |event: &Event| BASE64.decode(&event.content).unwrap()[1..33].to_vec();
    let mut nonces: Vec<_> = others.iter().map(|contents| nonce(&seal(contents))).collect();
    nonces.push(nonce(&envelope::seal_repeatable(&keys(1), &conversation(3), &contents).unwrap()));
    nonces.push(nonce(&event));
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), others.len() + 2, "no nonce is used for two messages or two recipients");
}

#[test]
fn tags_name_all_participants_and_the_referenced_event() {
    let conversation = envelope::conversation_key(&keys(1), &keys(2).public_key()).unwrap();
    let participants = [keys(2).public_key(), keys(3).public_key(), keys(1).public_key()];
    let event = envelope::seal(&keys(1), &conversation, &participants, Some(about()), 30000, &sample("30000-proof"), 1)
        .unwrap();
    let tags: Vec<Vec<String>> = event.tags.iter().map(|tag| tag.as_slice().to_vec()).collect();
    let p = |key: &Keys| vec!["p".to_owned(), key.public_key().to_hex()];
    let of = |name: &str| vec![name.to_owned(), about().to_hex()];
    let expected = [p(&keys(2)), p(&keys(3)), p(&keys(1)), of("e"), of("d")];
    assert_eq!(tags, expected, "kind 30000 is addressable by its `d` tag");
    assert_eq!(envelope::replies_to(&event), Some(about()));
    let message = WalletMessage::from_event(&event, &sample("30000-proof")).unwrap();
    assert_eq!(message.about(), Some(about()));
}

#[test]
fn first_valid_reference_tag_is_used() {
    let tagged = |tags: &[&[&str]]| {
        let tags = tags.iter().map(|tag| nostr::Tag::parse(tag.iter().copied()).unwrap());
        let event =
            nostr::EventBuilder::new(nostr::Kind::from_u16(30000), "").tags(tags).sign_with_keys(&keys(1)).unwrap();
        envelope::replies_to(&event)
    };
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    assert_eq!(tagged(&[]), None);
    assert_eq!(tagged(&[&["e"], &["e", ""], &["e", "xyz"], &["E", &two], &["p", &two]]), None);
    let several = tagged(&[&["e", "xyz"], &["e", &one, "wss://relay", "reply"], &["e", &two]]);
    assert_eq!(several, EventId::from_hex(&one).ok());
}

#[test]
fn forged_events_are_detected() {
    let good = sealed("hello");
    let mut changed = vec![good.clone(); 6];
    changed[0].content = sealed("hullo").content;
    changed[1].pubkey = keys(3).public_key();
    changed[2].created_at = nostr::Timestamp::from_secs(1);
    changed[3].tags = nostr::Tags::new();
    changed[4].sig = sealed("hello").sig;
    changed[5].id = about();
    for event in changed {
        assert!(matches!(envelope::verify(&event), Err(EnvelopeError::Forged)), "{event:?}");
    }
    // A right id under a wrong signature.
    let mut resigned = good.clone();
    resigned.pubkey = keys(3).public_key();
    resigned.id =
        EventId::new(&resigned.pubkey, &resigned.created_at, &resigned.kind, &resigned.tags, &resigned.content);
    assert!(matches!(envelope::verify(&resigned), Err(EnvelopeError::Forged)));
}

#[test]
fn invalid_payloads_are_refused() {
    let good = BASE64.decode(sealed("hello").content).unwrap();
    let of_version = |version: u8| BASE64.encode([&[version], &good[1..]].concat());
    let mut contents = ["", "#", "hello", "AgAA"].map(str::to_owned).to_vec();
    contents.extend([0, 1, 3].map(of_version));
    contents.extend([format!("{}=", BASE64.encode(&good)), BASE64.encode(&good[..good.len() - 1])]);
    // NIP-04's form.
    contents.push(format!("{}?iv={}", BASE64.encode([1; 32]), BASE64.encode([2; 16])));
    for content in contents {
        assert!(matches!(opened(&signed(content.clone())), Err(EnvelopeError::Undecryptable)), "{content}");
    }
    for byte in 0..good.len() {
        let mut payload = good.clone();
        payload[byte] ^= 1;
        assert!(matches!(opened(&signed(BASE64.encode(payload))), Err(EnvelopeError::Undecryptable)), "byte {byte}");
    }
}

#[test]
fn sizes_are_bounded() {
    let longest = "x".repeat(envelope::MAX_PLAINTEXT_BYTES);
    let event = sealed(&longest);
    assert!(event.content.len() <= envelope::MAX_CONTENT_BYTES);
    assert_eq!(opened(&event).unwrap(), longest);
    let conversation = envelope::conversation_key(&keys(1), &keys(2).public_key()).unwrap();
    for bad in [String::new(), "x".repeat(envelope::MAX_PLAINTEXT_BYTES + 1), "x".repeat(70_000)] {
        let refused = envelope::seal(&keys(1), &conversation, &[], None, 27010, &bad, 1);
        assert!(matches!(refused, Err(EnvelopeError::Unencryptable)));
    }
    for bytes in [envelope::MAX_CONTENT_BYTES + 4, 1 << 20] {
        assert!(matches!(opened(&signed("A".repeat(bytes))), Err(EnvelopeError::TooLong)));
    }
}

#[test]
fn non_utf8_plaintext_is_refused() {
    let conversation = envelope::conversation_key(&keys(1), &keys(2).public_key()).unwrap();
    let payload = nostr::nips::nip44::v2::encrypt_to_bytes(&conversation, &[0xff, 0xfe]).unwrap();
    assert!(matches!(opened(&signed(BASE64.encode(payload))), Err(EnvelopeError::NotText)));
}

#[test]
fn invalid_public_key_gives_no_conversation_key() {
    let nowhere = usher_protocol::PublicKey::from_byte_array([0xff; 32]);
    assert!(matches!(envelope::conversation_key(&keys(1), &nowhere), Err(EnvelopeError::Undecryptable)));
}
