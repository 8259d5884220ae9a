//! The name of a service, as its profile says it (Nostr kind 0).
//!
//! A service signs its profile with the key that it sends requests with. It may choose any name, so the key is shown
//! beside it, and services whose handshake URL the user never opened are not looked up.

use std::num::NonZeroUsize;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{SinkExt as _, StreamExt as _};
use lru::LruCache;
use nostr::JsonUtil as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{Connector, connect_async_tls_with_config};
use usher_protocol::text::clean;
use usher_protocol::{Event, PublicKey};

use super::{KnownService, Request};

/// How long a look-up may take: the user waits for it.
const WITHIN: Duration = Duration::from_secs(2);

/// How long a name is remembered, or that there is none.
const FRESH: Duration = Duration::from_secs(60);

const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(999);

const MAX_RELAYS: usize = 4;

/// Messages that are read from a relay: it may greet, or ask for authentication.
const MAX_MESSAGES: usize = 8;

/// Largest message that is read from a relay, in bytes.
const MAX_BYTES: usize = 128 * 1024;

/// Longest name, in characters; a longer one is cut.
const MAX_CHARS: usize = 64;

#[derive(Debug)]
pub(super) struct ServiceNames(Mutex<LruCache<PublicKey, (Instant, Option<String>)>>);

impl Default for ServiceNames {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED)))
    }
}

impl ServiceNames {
    /// The name in the profile of one of these services, which has sent the request.
    pub(super) async fn find(&self, services: Vec<KnownService>, request: &Request) -> Option<String> {
        let main_key = request.service?;
        let key = request.from;
        let known = self.0.lock().get(&key).filter(|(at, _)| at.elapsed() < FRESH).map(|(_, name)| name.clone());
        if let Some(known) = known {
            return known;
        }
        let relays = services.into_iter().find(|service| service.main_key == main_key)?.relays;
        let asked = relays.iter().take(MAX_RELAYS).map(|relay| timeout(WITHIN, profile(relay, key)));
        let profiles = join_all(asked).await.into_iter().filter_map(|profile| profile.ok().flatten());
        let name = profiles.max_by_key(|profile| profile.created_at).and_then(|profile| name(&profile.content));
        self.0.lock().put(key, (Instant::now(), name.clone()));
        name
    }
}

async fn profile(relay: &str, key: PublicKey) -> Option<Event> {
    let config = WebSocketConfig::default().max_message_size(Some(MAX_BYTES)).max_frame_size(Some(MAX_BYTES));
    let tls = Connector::Rustls(usher_http_client::tls_config(Vec::new()).ok()?.into());
    let (mut socket, _) = connect_async_tls_with_config(relay, Some(config), true, Some(tls)).await.ok()?;
    let wanted = json!(["REQ", "profile", {"kinds": [0], "authors": [key.to_hex()], "limit": 1}]);
    socket.send(Message::text(wanted.to_string())).await.ok()?;
    for _ in 0..MAX_MESSAGES {
        let Message::Text(text) = socket.next().await?.ok()? else { continue };
        let message: Vec<Value> = serde_json::from_str(&text).ok()?;
        match message.first().and_then(Value::as_str) {
            Some("EVENT") => {
                let event = Event::from_json(message.get(2)?.to_string()).ok();
                if let Some(event) = event.filter(|event| is_profile(event, &key)) {
                    return Some(event);
                }
            }
            Some("EOSE" | "CLOSED") => return None,
            _ => {}
        }
    }
    None
}

/// Whether the event is the profile that was asked for: relays may send anything.
fn is_profile(event: &Event, key: &PublicKey) -> bool {
    event.kind.as_u16() == 0 && event.pubkey == *key && event.verify().is_ok()
}

/// The name in a profile, without what could make it look like something else.
fn name(content: &str) -> Option<String> {
    let profile: Value = serde_json::from_str(content).ok()?;
    ["display_name", "name"].into_iter().find_map(|field| {
        let name = clean(profile.get(field)?.as_str()?, MAX_CHARS).replace('"', "'");
        (!name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use nostr::EventBuilder;
    use usher_protocol::Keys;

    use super::*;

    #[test]
    fn only_a_profile_that_its_owner_signed_is_taken() {
        let (owner, other) = (Keys::generate(), Keys::generate());
        let of = |kind: u16, keys: &Keys| EventBuilder::new(kind.into(), "{}").sign_with_keys(keys).unwrap();
        let key = owner.public_key();
        assert!(is_profile(&of(0, &owner), &key));
        assert!(!is_profile(&of(1, &owner), &key));
        assert!(!is_profile(&of(0, &other), &key));
        let mut changed = of(0, &owner);
        changed.content = r#"{"name":"Bank"}"#.to_owned();
        assert!(!is_profile(&changed, &key));
    }

    #[test]
    fn display_name_comes_first_and_nothing_dangerous_is_left() {
        let of = |profile: Value| name(&profile.to_string());
        assert_eq!(of(json!({"name": "shop", "display_name": "Corner Shop"})).as_deref(), Some("Corner Shop"));
        assert_eq!(of(json!({"name": "shop", "display_name": " \u{7} "})).as_deref(), Some("shop"));
        assert_eq!(of(json!({"name": "shop", "display_name": 7})).as_deref(), Some("shop"));
        assert_eq!(
            of(json!({"name": "Bank\" (npub1x)\u{1b}[2J\u{202e}\nrequest"})).as_deref(),
            Some("Bank' (npub1x)[2J request")
        );
        assert_eq!(of(json!({"name": "x".repeat(1000)})).unwrap().chars().count(), MAX_CHARS);
        for nothing in [json!({}), json!({"name": ""}), json!([]), json!("shop"), json!(null)] {
            assert_eq!(of(nothing), None);
        }
        assert_eq!(name("{"), None);
    }
}
