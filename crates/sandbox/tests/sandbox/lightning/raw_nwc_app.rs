//! An app: NIP-47 from the other side, with the crate `nostr` and a raw WebSocket, without the sandbox's code.

use nostr::nips::{nip04, nip44};
use nostr::{Event, EventBuilder, EventId, JsonUtil, Keys, Kind, PublicKey, SecretKey, Tag, TagKind, Timestamp};
use serde_json::{Value, json};
use usher_sandbox::lightning::Method;

use crate::raw_client::Raw;

pub(crate) struct App {
    pub(crate) keys: Keys,
    pub(crate) wallet: PublicKey,
    pub(crate) raw: Raw,
    pub(crate) nip04: bool,
}

impl App {
    /// Connects to the first relay of a connection string.
    pub(crate) async fn connect(url: &str) -> Self {
        let url: url::Url = url.parse().unwrap();
        assert_eq!(url.scheme(), "nostr+walletconnect");
        let value = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
        let keys = Keys::new(SecretKey::from_hex(&value("secret")).unwrap());
        let wallet = PublicKey::from_hex(url.host_str().unwrap()).unwrap();
        let mut raw = Raw::connect(&value("relay")).await;
        let kinds = [13194, 23195, 23196, 23197];
        raw.send(json!(["REQ", "s", {"authors": [wallet.to_hex()], "kinds": kinds}])).await;
        Self { keys, wallet, raw, nip04: false }
    }

    pub(crate) fn request(&self, method: &str, params: &Value, expiration: Option<u64>) -> Event {
        let text = json!({"method": method, "params": params}).to_string();
        let (content, tag) = if self.nip04 {
            (nip04::encrypt(self.keys.secret_key(), &self.wallet, text).unwrap(), None)
        } else {
            let version = nip44::Version::V2;
            let content = nip44::encrypt(self.keys.secret_key(), &self.wallet, text, version).unwrap();
            (content, Some(Tag::custom(TagKind::custom("encryption"), ["nip44_v2"])))
        };
        let expiration = expiration.map(|at| Tag::expiration(Timestamp::from_secs(at)));
        EventBuilder::new(Kind::from_u16(23194), content)
            .tag(Tag::public_key(self.wallet))
            .tags(tag)
            .tags(expiration)
            .sign_with_keys(&self.keys)
            .unwrap()
    }

    /// Asks, without waiting.
    pub(crate) async fn ask(&mut self, method: Method, params: Value) -> EventId {
        let event = self.request(method.as_str(), &params, None);
        self.raw.publish(&event).await;
        event.id
    }

    /// Asks and waits for the answer.
    pub(crate) async fn call(&mut self, method: Method, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer_to(id).await
    }

    /// As [`call`](Self::call); the result.
    pub(crate) async fn result(&mut self, method: Method, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert_eq!(answer["result_type"], method.as_str());
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// As [`call`](Self::call); the error's code.
    pub(crate) async fn refused(&mut self, method: Method, params: Value) -> String {
        let answer = self.call(method, params).await;
        assert!(answer["result"].is_null(), "{answer}");
        answer["error"]["code"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn answer_to(&mut self, id: EventId) -> Value {
        loop {
            let event = self.next_of(23195).await;
            if event.tags.event_ids().any(|about| *about == id) {
                return self.open(&event);
            }
        }
    }

    /// The next event of the wallet of this kind.
    pub(crate) async fn next_of(&mut self, kind: u16) -> Event {
        loop {
            let message: Value = self.raw.next_of("EVENT").await;
            let event = Event::from_json(message[2].to_string()).unwrap();
            event.verify().unwrap();
            assert_eq!(event.pubkey, self.wallet);
            if event.kind.as_u16() == kind {
                return event;
            }
        }
    }

    /// Whether the relay has what the wallet announced, by asking for it alone.
    pub(crate) async fn next_info(&mut self) -> bool {
        self.raw.send(json!(["REQ", "i", {"authors": [self.wallet.to_hex()], "kinds": [13194]}])).await;
        self.next_of(13194).await.content.contains("pay_invoice")
    }

    pub(crate) fn open(&self, event: &Event) -> Value {
        serde_json::from_str(&self.text(event)).unwrap()
    }

    pub(crate) fn text(&self, event: &Event) -> String {
        let secret = self.keys.secret_key();
        if event.content.contains("?iv=") {
            return nip04::decrypt(secret, &self.wallet, &event.content).unwrap();
        }
        nip44::decrypt(secret, &self.wallet, &event.content).unwrap()
    }
}
