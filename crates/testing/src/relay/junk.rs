//! Junk: frames that no relay should send, and events, signed in advance so that signing does not limit a flood.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use nostr::secp256k1::schnorr::Signature;
use nostr::{Event, EventBuilder, Keys, Kind, PublicKey, Tag};
use rand::RngCore as _;
use tokio_tungstenite::tungstenite::Message;
use usher_protocol::envelope;

use super::published::Published;

/// What is wrong with a junk event. Each is of another author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Junk {
    /// Validly signed; the content looks like NIP-44 but is noise.
    GarbageContent,
    /// Validly signed and encrypted to the key; the text is noise.
    GarbageText,
    /// Validly signed and encrypted to the key; the text is an approval of a challenge nobody made.
    UnknownChallenge,
    /// The signature is of another event.
    BadSignature,
    /// The id is another event's.
    WrongId,
}

/// Junk events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct JunkEvents {
    pub(super) events: Arc<[Published]>,
}

impl JunkEvents {
    /// Makes `count` different junk events to `recipient`, cycling through the kinds and the defects.
    ///
    /// Takes 0.1 ms each: make many on a blocking thread. Event kinds are the wallet protocol's, for example
    /// [`usher_protocol::kind::FROM_WALLET`].
    pub fn generate(recipient: PublicKey, kinds: &[u16], wrongs: &[Junk], count: usize) -> Self {
        let turns = kinds.iter().copied().cycle().zip(wrongs.iter().copied().cycle());
        let events = turns.take(count).enumerate().filter_map(|(n, (kind, junk))| make(recipient, kind, junk, n));
        Self { events: events.map(Published::new).collect() }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().map(|published| &published.event)
    }
}

fn make(recipient: PublicKey, kind: u16, junk: Junk, n: usize) -> Option<Event> {
    let author = Keys::generate();
    let sealed = |text: &str| {
        let conversation = envelope::conversation_key(&author, &recipient).ok()?;
        let now = nostr::Timestamp::now().as_secs();
        envelope::seal(&author, &conversation, &[recipient], None, kind, text, now).ok()
    };
    match junk {
        Junk::GarbageText => sealed(&format!("{{\"challenge\": {n}, ]")),
        Junk::UnknownChallenge => sealed(&format!(
            "{{\"challenge\":\"{n:032}\",\"subkey_proof\":null,\"status\":{{\"status\":\"approved\",\
             \"granted_permissions\":[],\"session_token\":\"x\"}}}}"
        )),
        Junk::GarbageContent => noise(&author, recipient, kind),
        Junk::BadSignature => {
            let mut event = noise(&author, recipient, kind)?;
            event.sig = another_signature(&author, recipient, kind)?;
            Some(event)
        }
        Junk::WrongId => {
            let mut event = noise(&author, recipient, kind)?;
            event.id = noise(&author, recipient, kind)?.id;
            Some(event)
        }
    }
}

fn another_signature(author: &Keys, recipient: PublicKey, kind: u16) -> Option<Signature> {
    Some(noise(author, recipient, kind)?.sig)
}

/// A signed event whose content has NIP-44's version byte and length, and noise.
fn noise(author: &Keys, recipient: PublicKey, kind: u16) -> Option<Event> {
    let mut payload = [0_u8; 99 + 160];
    rand::rng().fill_bytes(&mut payload);
    payload[0] = 2;
    EventBuilder::new(Kind::from_u16(kind), BASE64.encode(payload))
        .tag(Tag::public_key(recipient))
        .sign_with_keys(author)
        .ok()
}

/// Bytes of the huge frame: more than any event may have.
const HUGE: usize = 2 << 20;

/// Levels of the deeply nested one: enough to overflow the stack of a parser without a limit.
const DEEP: usize = 200_000;

/// The `n`th frame that no relay should send, over and over; `subscription` is one the client has open.
pub(super) fn frame(n: usize, subscription: &str) -> Message {
    let id = serde_json::Value::from(subscription);
    let zeros = "0".repeat(64);
    let text = match n % 20 {
        0 => "hello".to_owned(),
        1 => String::new(),
        2 => "{".to_owned(),
        3 => "null".to_owned(),
        4 => "[]".to_owned(),
        5 => "[1,2,3]".to_owned(),
        6 => "[\"EVENT\"]".to_owned(),
        7 => format!("[\"EVENT\",{id},{{}}]"),
        8 => format!(
            "[\"EVENT\",{id},{{\"id\":\"{zeros}\",\"pubkey\":\"{zeros}\",\"created_at\":-1,\"kind\":70000,\"tags\":[[]],\"content\":7,\"sig\":\"\"}}]"
        ),
        9 => "[\"EVENT\",\"of nobody\",null]".to_owned(),
        10 => "[\"OK\"]".to_owned(),
        11 => format!("[\"OK\",\"{zeros}\",\"true\",7]"),
        12 => format!("[\"OK\",\"{zeros}\",true,\"\"]"),
        13 => "[\"AUTH\",{\"a\":5}]".to_owned(),
        14 => "[\"NOTICE\"]".to_owned(),
        15 => "[\"SOMETHING\",\"new\",{}]".to_owned(),
        16 => format!("[\"EVENT\",{id},{}{}]", "[".repeat(DEEP), "]".repeat(DEEP)),
        17 => format!("[\"NOTICE\",\"{}\"]", "A".repeat(HUGE)),
        18 => return Message::binary(vec![0xff; 300]),
        _ => "[\"NOTICE\",\"\\ud83d\\u0000\\u001b[2J\"]".to_owned(),
    };
    Message::text(text)
}
