//! A scripted signer.

use nostr::nips::nip44;
use nostr::{Event, EventBuilder, JsonUtil as _, Keys, Kind, Tag, UnsignedEvent};
use serde_json::{Value, json};
use url::Url;
use usher_protocol::PublicKey;
use usher_testing::relay::QuirkyRelay;
use usher_testing::until;

/// A signer on a relay, whose key is another than its user's.
pub(crate) struct ScriptedSigner<'a> {
    pub(crate) relay: &'a QuirkyRelay,
    pub(crate) keys: Keys,
    pub(crate) user: Keys,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) client: PublicKey,
    pub(crate) params: Vec<String>,
}

impl<'a> ScriptedSigner<'a> {
    pub(crate) fn on(relay: &'a QuirkyRelay) -> Self {
        Self { relay, keys: Keys::generate(), user: Keys::generate() }
    }

    pub(crate) fn user(&self) -> String {
        self.user.public_key().to_hex()
    }

    pub(crate) fn bunker_url(&self) -> String {
        format!("bunker://{}?relay={}&secret=s3cret", self.keys.public_key().to_hex(), self.relay.url())
    }

    /// All requests of this method that the relay has received so far.
    pub(crate) fn requests(&self, method: &str) -> Vec<Request> {
        let ours = self.keys.public_key();
        let events = self.relay.seen().into_iter().filter(|event| event.tags.public_keys().any(|key| *key == ours));
        let request = |event: Event| {
            let text = nip44::decrypt(self.keys.secret_key(), &event.pubkey, &event.content).ok()?;
            let request: Value = serde_json::from_str(&text).unwrap();
            let params = serde_json::from_value(request["params"].clone()).unwrap();
            let id = request["id"].as_str().unwrap().to_owned();
            (request["method"] == method).then_some(Request { id, client: event.pubkey, params })
        };
        events.filter_map(request).collect()
    }

    pub(crate) async fn request(&self, method: &str, count: usize) -> Request {
        until(method, async || self.requests(method).into_iter().nth(count - 1)).await
    }

    pub(crate) fn send_as(&self, author: &Keys, client: &PublicKey, message: &str) {
        let content = nip44::encrypt(author.secret_key(), client, message, nip44::Version::V2).unwrap();
        self.send_raw(author, client, &content);
    }

    pub(crate) fn send_raw(&self, author: &Keys, client: &PublicKey, content: &str) {
        let event = EventBuilder::new(Kind::NostrConnect, content).tag(Tag::public_key(*client));
        self.relay.inject(event.sign_with_keys(author).unwrap());
    }

    pub(crate) fn reply(&self, request: &Request, result: &str) {
        let reply = json!({ "id": request.id, "result": result }).to_string();
        self.send_as(&self.keys, &request.client, &reply);
    }

    /// Accepts a connection whose address was pasted, and returns its user's key. Knows no `switch_relays`.
    pub(crate) async fn accept(&self) -> PublicKey {
        let connect = self.request("connect", 1).await;
        assert_eq!(connect.params[..3], [&*self.keys.public_key().to_hex(), "s3cret", "sign_event:27235"]);
        self.reply(&connect, "ack");
        let user = self.request("get_public_key", 1).await;
        self.reply(&user, &self.user.public_key().to_hex());
        connect.client
    }

    pub(crate) async fn say_and_sign(&self) {
        self.reply(&self.request("get_public_key", 1).await, &self.user.public_key().to_hex());
        self.sign().await;
    }

    pub(crate) async fn sign(&self) {
        let request = self.request("sign_event", 1).await;
        self.reply(&request, &self.signature(&request, &self.user));
    }

    /// What it is asked to sign, signed by `user`.
    pub(crate) fn signature(&self, request: &Request, user: &Keys) -> String {
        let mut unsigned = UnsignedEvent::from_json(&request.params[0]).unwrap();
        unsigned.pubkey = user.public_key();
        unsigned.id = None;
        unsigned.sign_with_keys(user).unwrap().as_json()
    }
}

/// Our key and secret in an address of ours.
pub(crate) fn read_address(address: &str) -> (PublicKey, String) {
    let url = Url::parse(address).unwrap();
    let secret = url.query_pairs().find(|(name, _)| name == "secret").unwrap().1.into_owned();
    (PublicKey::from_hex(url.host_str().unwrap()).unwrap(), secret)
}
