//! Compares what a signer signed with the request.

use nostr::{Event, JsonUtil as _};
use serde_json::json;
use usher_engine::ports::{RemoteSignerError, WantedEvent};
use usher_protocol::{PublicKey, envelope};

/// For signers that set the time themselves: how far it may be from now, either way, in seconds.
const MAX_CLOCK_SKEW: u64 = 60;

/// The JSON text of the event to sign, dated `created_at` (Unix seconds).
pub(crate) fn unsigned(wanted: &WantedEvent, author: &PublicKey, created_at: u64) -> String {
    let WantedEvent { kind, content, tags } = wanted;
    json!({ "pubkey": author.to_hex(), "kind": kind, "content": content, "tags": tags, "created_at": created_at })
        .to_string()
}

/// The event in a signer's reply, if it matches the request.
pub(crate) fn check(
    reply: &str,
    wanted: &WantedEvent,
    author: &PublicKey,
    asked_at: u64,
    now: u64,
) -> Result<Event, RemoteSignerError> {
    let event = Event::from_json(reply).map_err(|_| RemoteSignerError::Invalid("no event"))?;
    let created_at = event.created_at.as_secs();
    let is_wanted = event.kind.as_u16() == wanted.kind
        && event.content == wanted.content
        && event.tags.iter().map(nostr::Tag::as_slice).eq(wanted.tags.iter().map(Vec::as_slice))
        && (created_at == asked_at || created_at.abs_diff(now) <= MAX_CLOCK_SKEW);
    if !is_wanted {
        return Err(RemoteSignerError::Invalid("another event"));
    }
    if event.pubkey != *author {
        return Err(RemoteSignerError::Invalid("an event of another user"));
    }
    envelope::verify(&event).map_err(|_| RemoteSignerError::Invalid("a forged event"))?;
    Ok(event)
}

#[cfg(test)]
mod tests {
    use nostr::{EventBuilder, Keys, Kind, Tag, Timestamp};

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn wanted() -> WantedEvent {
        let tags = vec![vec!["u".to_owned(), "https://a.b/c".to_owned()], vec!["method".to_owned(), "POST".to_owned()]];
        WantedEvent { kind: 27_235, content: String::new(), tags }
    }

    fn builder(wanted: &WantedEvent) -> EventBuilder {
        EventBuilder::new(Kind::from_u16(wanted.kind), &wanted.content)
            .tags(wanted.tags.iter().map(|tag| Tag::parse(tag).unwrap()))
            .custom_created_at(Timestamp::from_secs(NOW))
    }

    #[test]
    fn exactly_what_was_asked_for_is_accepted() {
        let (user, wanted) = (Keys::generate(), wanted());
        let check = |event: &Event| check(&event.as_json(), &wanted, &user.public_key(), NOW, NOW + 500);
        let good = builder(&wanted).sign_with_keys(&user).unwrap();
        assert_eq!(check(&good), Ok(good.clone()));
        let at = |secs| builder(&wanted).custom_created_at(Timestamp::from_secs(secs)).sign_with_keys(&user).unwrap();
        assert!(check(&at(NOW + 490)).is_ok(), "the signer sets the time");
        for secs in [NOW + 1, NOW - 1, NOW + 600] {
            assert_eq!(check(&at(secs)), Err(RemoteSignerError::Invalid("another event")));
        }
        for other in [
            WantedEvent { kind: 1, ..wanted.clone() },
            WantedEvent { content: "x".to_owned(), ..wanted.clone() },
            WantedEvent { tags: wanted.tags[..1].to_vec(), ..wanted.clone() },
            WantedEvent { tags: [wanted.tags.clone(), vec![vec!["t".to_owned()]]].concat(), ..wanted.clone() },
        ] {
            let other = builder(&other).sign_with_keys(&user).unwrap();
            assert_eq!(check(&other), Err(RemoteSignerError::Invalid("another event")));
        }
        let another = builder(&wanted).sign_with_keys(&Keys::generate()).unwrap();
        assert_eq!(check(&another), Err(RemoteSignerError::Invalid("an event of another user")));
        let mut forged = good.clone();
        forged.sig = another.sig;
        assert_eq!(check(&forged), Err(RemoteSignerError::Invalid("a forged event")));
        let mut forged = good;
        forged.id = another.id;
        assert_eq!(check(&forged), Err(RemoteSignerError::Invalid("a forged event")));
    }

    #[test]
    fn asked_for_text_is_an_event_without_signature() {
        let author = Keys::generate().public_key();
        let text = unsigned(&wanted(), &author, NOW);
        let unsigned = nostr::UnsignedEvent::from_json(&text).unwrap();
        assert_eq!((unsigned.pubkey, unsigned.created_at.as_secs()), (author, NOW));
    }
}
