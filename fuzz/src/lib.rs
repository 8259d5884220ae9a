//! What the fuzz targets do with their bytes: one function for each parser of a stranger's bytes.
//!
//! None may panic, and what was read must be written and read back to the same. The tests of the protocol crate
//! (`crates/protocol/src/tests/fuzz_targets.rs`) drive the same functions, so that they run without cargo-fuzz, too.

use std::sync::LazyLock;

use usher_protocol::bolt11::Invoice;
use usher_protocol::calendar::Calendar;
use usher_protocol::envelope::{self, EnvelopeError};
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::jwt;
use usher_protocol::keys;
use usher_protocol::kind::{FROM_SERVICE, FROM_WALLET};
use usher_protocol::lnurl;
use usher_protocol::message::{ServiceMessage, WalletMessage};
use usher_protocol::payee;
use usher_protocol::subkey::{Permission, SubkeyProof};
use usher_protocol::{Event, EventId, Keys, SecretKey};

/// A target: takes any bytes.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Target); 8] = [
    ("wallet_message", wallet_message),
    ("service_message", service_message),
    ("handshake_url", handshake_url),
    ("calendar", calendar),
    ("invoice", invoice),
    ("jwt", jwt),
    ("subkey_proof", subkey_proof),
    ("event", event),
];

/// The first byte chooses the kind, the rest is the JSON text.
pub fn wallet_message(bytes: &[u8]) {
    let Some((kind, text)) = kind_and_text(bytes, &FROM_WALLET) else { return };
    let about = EventId::from_byte_array([7; 32]);
    if let Ok(message) = WalletMessage::parse(kind, Some(about), text) {
        assert_eq!(message.kind(), kind);
        let _ = format!("{message:?}");
        let written = message.to_json();
        let again = WalletMessage::parse(kind, message.about(), &written).expect("what we write, we can read");
        assert_eq!(again.to_json(), written);
    }
}

/// The first byte chooses the kind, the rest is the JSON text.
pub fn service_message(bytes: &[u8]) {
    let Some((kind, text)) = kind_and_text(bytes, &FROM_SERVICE) else { return };
    let about = EventId::from_byte_array([7; 32]);
    if let Ok(message) = ServiceMessage::parse(kind, Some(about), text) {
        assert_eq!(message.kind(), kind);
        let _ = format!("{message:?}");
        let written = message.to_json();
        let again = ServiceMessage::parse(kind, message.about(), &written).expect("what we write, we can read");
        assert_eq!(again.to_json(), written);
    }
}

/// The text of a handshake URL.
pub fn handshake_url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = keys::parse_public_key(text);
    let _ = keys::parse_secret_key(text);
    if let Ok(url) = text.parse::<HandshakeUrl>() {
        let written = url.to_string();
        assert!(written.bytes().all(|byte| byte.is_ascii_graphic()));
        // Encoding makes a text up to nine times as long (a comma in an address: `%252C`), so it may have become too
        // long to be read; nothing else may be wrong with it.
        match written.parse::<HandshakeUrl>() {
            Ok(again) => assert_eq!(again.to_string(), written),
            Err(error) => assert!(written.len() > 512, "{error}"),
        }
    }
}

/// The text of a calendar.
pub fn calendar(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(calendar) = text.parse::<Calendar>() {
        assert_eq!(calendar.to_string().parse(), Ok(calendar.clone()));
        // From the beginning, from any time up to 2242, from where there is nothing more.
        let any = bytes.iter().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into())) >> 31;
        for from in [0, any, u64::MAX] {
            let mut last = from;
            for _ in 0..3 {
                let Some(next) = calendar.next_after(last) else { break };
                assert!(next > last);
                last = next;
            }
        }
        assert_eq!(calendar.expanded().parse(), Ok(calendar));
    }
}

/// The text of a Lightning invoice, or what somebody has copied.
pub fn invoice(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = lnurl::decode(&payee::plain(text));
    if let Ok(invoice) = text.parse::<Invoice>() {
        assert_ne!(invoice.amount(), Some(0));
        let _ = format!("{invoice:?} {:?}", invoice.description());
        assert_eq!(invoice.to_string().parse(), Ok(invoice));
    }
}

/// The text of a JWT. Nothing made up may verify.
pub fn jwt(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // No one issues tokens with this key, so what verifies is a forgery.
    assert!(jwt::verify(text, &OURS.public_key(), 1_732_137_600).is_err());
}

/// The JSON text of a subkey proof. Nothing made up may count.
pub fn subkey_proof(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(proof) = SubkeyProof::parse(text) {
        let _ = format!("{proof:?}");
        let now = proof.metadata.valid_from;
        for permission in [Permission::Auth, Permission::Payment] {
            assert!(proof.verify(&OURS.public_key(), permission, now).is_err());
        }
    }
}

/// A whole event as relays send it: JSON text. Also takes the bytes for the content of an event that is properly signed.
pub fn event(bytes: &[u8]) {
    if let Ok(event) = serde_json::from_slice::<Event>(bytes) {
        let _ = envelope::verify(&event);
        let _ = envelope::replies_to(&event);
        if let Ok(conversation) = envelope::conversation_key(&OURS, &event.pubkey) {
            let _ = envelope::open(&conversation, &event);
        }
    }
    if let (Ok(text), Some(mut event)) = (std::str::from_utf8(bytes), ANY_EVENT.clone()) {
        event.content = text.to_owned();
        if let Ok(conversation) = envelope::conversation_key(&OURS, &event.pubkey) {
            let opened = envelope::open(&conversation, &event);
            assert!(matches!(opened, Err(EnvelopeError::Undecryptable | EnvelopeError::TooLong)) || is_sealed(text));
        }
    }
}

static OURS: LazyLock<Keys> = LazyLock::new(|| Keys::new(SecretKey::from_slice(&[0x11; 32]).expect("a secret key")));

static ANY_EVENT: LazyLock<Option<Event>> = LazyLock::new(|| {
    let conversation = envelope::conversation_key(&OURS, &OURS.public_key()).ok()?;
    envelope::seal(&OURS, &conversation, &[], None, 27010, "{}", 1).ok()
});

/// Whether the content was properly sealed: the corpus may hold what this program sealed itself.
fn is_sealed(content: &str) -> bool {
    ANY_EVENT.as_ref().is_some_and(|event| event.content == content)
}

fn kind_and_text<'a>(bytes: &'a [u8], kinds: &[u16]) -> Option<(u16, &'a str)> {
    let (choice, text) = bytes.split_first()?;
    let kind = *kinds.get(usize::from(*choice) % kinds.len())?;
    Some((kind, std::str::from_utf8(text).ok()?))
}
