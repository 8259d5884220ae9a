//! Direct messages to people (NIP-17), over the operator's relays: text for a person, as any client shows it. The
//! service's messages to wallets have another form (`usher_protocol::envelope`).
//!
//! Each is sent over connections of its own, and waits for the relays' acknowledgements.

use std::time::Duration;

use futures_util::future::join_all;
use nostr::nips::nip44;
use nostr::secp256k1::rand::Rng as _;
use nostr::secp256k1::rand::rngs::OsRng;
use nostr::{Event, EventBuilder, Filter, JsonUtil as _, Keys, Kind, PublicKey, Tag, Timestamp};
use tokio::time::timeout;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{
    DialOptions, Interest, Prefix, Received, Session, SessionOptions, SessionTiming, Step, Timing, Verdict, WriteGate,
    dial, event_message, printable,
};

use crate::relay_address::RelayAddress;

/// Time limit of each relay.
const TIMEOUT: Duration = Duration::from_secs(15);

const MAX_MESSAGE_BYTES: usize = 512 * 1024;

/// By how many seconds at most the dates of seal and wrap are too early (NIP-59).
const MAX_TWEAK: u64 = 2 * 24 * 60 * 60;

/// Why a direct message was not sent. Contains no path of a relay's URL, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum DirectMessageError {
    /// The message is empty or too long, or cannot be signed.
    #[error("the message cannot be encrypted")]
    Unencryptable,
    /// No relay accepted it.
    #[error("no relay accepted it: {0}")]
    NotAccepted(String),
}

/// Sends `text` from the owner of `keys` to `recipient` at `now` (Unix seconds), and returns when each relay has
/// responded or timed out and at least one accepted it. Nothing is written once `gate` is closed.
pub async fn send_direct_message(
    keys: &Keys,
    recipient: PublicKey,
    text: &str,
    relays: &[RelayAddress],
    now: u64,
    gate: Option<&WriteGate>,
) -> Result<(), DirectMessageError> {
    let event = gift_wrap(keys, recipient, text, now).ok_or(DirectMessageError::Unencryptable)?;
    let event = &event;
    let sent = join_all(relays.iter().map(|relay| async move {
        let sent = timeout(TIMEOUT, publish(event, keys, relay, now, gate)).await;
        let sent = sent.unwrap_or_else(|_elapsed| Err(format!("no response within {} s", TIMEOUT.as_secs())));
        sent.map_err(|reason| format!("{}: {reason}", relay.host()))
    }))
    .await;
    if sent.iter().any(Result::is_ok) {
        return Ok(());
    }
    let reasons: Vec<String> = sent.into_iter().filter_map(Result::err).collect();
    Err(DirectMessageError::NotAccepted(reasons.join("; ")))
}

/// The message, sealed by the sender and wrapped by a key that nobody knows (NIP-59).
fn gift_wrap(keys: &Keys, recipient: PublicKey, text: &str, now: u64) -> Option<Event> {
    let encrypted =
        |keys: &Keys, text: &str| nip44::encrypt(keys.secret_key(), &recipient, text, nip44::Version::V2).ok();
    let dated = || Timestamp::from_secs(now.saturating_sub(OsRng.gen_range(0..MAX_TWEAK)));
    let mut rumor = EventBuilder::new(Kind::PrivateDirectMessage, text)
        .tag(Tag::public_key(recipient))
        .allow_self_tagging()
        .custom_created_at(Timestamp::from_secs(now))
        .build(keys.public_key());
    rumor.ensure_id();
    let seal = EventBuilder::new(Kind::Seal, encrypted(keys, &rumor.as_json())?)
        .custom_created_at(dated())
        .sign_with_keys(keys)
        .ok()?;
    let nobody = Keys::generate();
    EventBuilder::new(Kind::GiftWrap, encrypted(&nobody, &seal.as_json())?)
        .tag(Tag::public_key(recipient))
        .custom_created_at(dated())
        .sign_with_keys(&nobody)
        .ok()
}

async fn publish(
    event: &Event,
    keys: &Keys,
    relay: &RelayAddress,
    now: u64,
    gate: Option<&WriteGate>,
) -> Result<(), String> {
    let timing = Timing::default();
    let options = DialOptions { gate, ..DialOptions::new(AddressSource::Operator, &timing, MAX_MESSAGE_BYTES) };
    let connection = dial(relay.url(), &options, |_| true).await.map_err(|error| error.to_string())?;
    // A session has a subscription. This one finds nothing that matters.
    let author = keys.public_key();
    let options = SessionOptions {
        relay: relay.as_str().to_owned(),
        keys: keys.clone(),
        unix_time: Box::new(move || now),
        filters: Box::new(move |_| vec![Filter::new().kind(Kind::RelayList).author(author).limit(1)]),
        subscription: "notice",
        timing: SessionTiming::default(),
    };
    let mut session = Session::new(connection, options);
    let mut is_sent = false;
    loop {
        let step = session.next(Interest { read: true, write: !is_sent }).await.map_err(|error| error.to_string())?;
        match step {
            Step::Writable => {
                session.publish(event.id, event_message(event), ()).map_err(|error| error.to_string())?;
                is_sent = true;
            }
            Step::Text(text) => match session.receive(&text) {
                Received::Acknowledged { id, verdict: Verdict::Accepted, .. } if id == event.id => {
                    // Best effort: the connection is dropped either way.
                    let _ = session.connection().send_close().await;
                    return Ok(());
                }
                // It is sent again after the authentication.
                Received::Acknowledged { text, .. } if Prefix::of(&text) == Prefix::AuthRequired => {}
                Received::Acknowledged { id, text, .. } if id == event.id => return Err(printable(&text)),
                Received::Authenticated { accepted: true, .. } => is_sent = false,
                Received::Authenticated { text, .. } => return Err(printable(&text)),
                _ => {}
            },
            Step::Binary(_) | Step::Subscribed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use usher_engine::ports::{Clock as _, SystemClock};
    use usher_testing::relay::{Quirks, QuirkyRelay};

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn opened(event: &Event, recipient: &Keys) -> Event {
        Event::from_json(nip44::decrypt(recipient.secret_key(), &event.pubkey, &event.content).unwrap()).unwrap()
    }

    #[test]
    fn only_the_recipient_reads_it_and_sees_from_whom_it_is() {
        let (sender, recipient) = (Keys::generate(), Keys::generate());
        let event = gift_wrap(&sender, recipient.public_key(), "relay away", NOW).unwrap();
        assert_eq!(event.kind, Kind::GiftWrap);
        assert_eq!(event.tags.public_keys().collect::<Vec<_>>(), [&recipient.public_key()]);
        assert!(event.pubkey != sender.public_key() && event.created_at.as_secs() <= NOW);
        let seal = opened(&event, &recipient);
        seal.verify().unwrap();
        assert_eq!((seal.kind, seal.pubkey, seal.tags.len()), (Kind::Seal, sender.public_key(), 0));
        let rumor = nip44::decrypt(recipient.secret_key(), &seal.pubkey, &seal.content).unwrap();
        let rumor = nostr::UnsignedEvent::from_json(rumor).unwrap();
        assert_eq!(
            (rumor.kind, rumor.pubkey, &*rumor.content),
            (Kind::PrivateDirectMessage, seal.pubkey, "relay away")
        );
        assert_eq!(rumor.created_at.as_secs(), NOW);
    }

    #[tokio::test]
    async fn one_relay_that_accepts_it_is_enough_and_one_may_want_authentication() {
        let (sender, recipient) = (Keys::generate(), Keys::generate());
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        relay.set(|quirks| quirks.require_auth = true);
        let gone = QuirkyRelay::start(Quirks::default()).await.unwrap();
        gone.stop().await;
        let [works, gone] = [relay.url(), gone.url()].map(|url| RelayAddress::parse(url).unwrap());
        let now = SystemClock.now().secs();
        let send = async |relays: &[RelayAddress]| {
            send_direct_message(&sender, recipient.public_key(), "hello", relays, now, None).await
        };
        send(&[gone.clone(), works]).await.unwrap();
        assert!(relay.seen().iter().any(|event| event.kind == Kind::GiftWrap));
        let error = send(&[gone]).await.unwrap_err().to_string();
        assert!(error.starts_with("no relay accepted it: 127.0.0.1: "), "{error}");
    }
}
