//! The service, Lightning network and relay of the payment tests.

use serde_json::{Value, json};
use usher_faults::lightning::FaultyNwcService;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{Account, LightningNetwork};
use usher_sandbox::wallet::{Identity, Policy, Request, RequestContent, Wallet, WalletOptions};

use crate::harness::{Api, CallError, Event, LONG, TestUsher, User, introduce};

/// A service with a Lightning wallet, and the network it is in.
pub(super) struct Fixture {
    pub(super) relay: QuirkyRelay,
    pub(super) network: LightningNetwork,
    /// The service's account.
    pub(super) shop: Account,
    /// The service's wallet.
    pub(super) wallet: FaultyNwcService,
    pub(super) usher: TestUsher,
}

impl Fixture {
    /// What the service has at the beginning, in millisats.
    pub(super) const SHOP: u64 = 1_000_000;
    /// What each user has.
    pub(super) const USER: u64 = 500_000;

    pub(super) async fn open() -> Self {
        Self::open_with(|builder| builder).await
    }

    pub(super) async fn open_with(set: impl FnOnce(crate::harness::Builder) -> crate::harness::Builder) -> Self {
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let network = LightningNetwork::new();
        let shop = network.open_account("shop", Self::SHOP);
        let wallet = FaultyNwcService::start(&shop, &[relay.url()]).await;
        wallet.ready(LONG).await.expect("the wallet listens");
        let before = relay.metrics().reqs;
        let builder = TestUsher::builder()
            .relays(&[relay.url()])
            .set("WALLET__LN_BACKEND", "nwc")
            .set("WALLET__NETWORK", "regtest")
            .set("WALLET__NWC__URL", wallet.url());
        let usher = set(builder).start().await;
        let fixture = Self { relay, network, shop, wallet, usher };
        fixture.subscribed(before).await;
        fixture
    }

    /// Waits until the service listens for users and for its wallet.
    async fn subscribed(&self, before: u64) {
        self.relay.wait_for(LONG, |metrics| metrics.reqs >= before + 2).await.expect("the service subscribes");
    }

    pub(super) fn api(&self) -> Api {
        self.usher.api()
    }

    /// The interface with an API key.
    pub(super) fn api_with(&self, secret: &str) -> Api {
        Api { token: secret.to_owned(), ..self.api() }
    }

    /// Kills the service and starts it again.
    pub(super) async fn crash(&mut self) {
        let before = self.relay.metrics().reqs;
        self.usher.restart().await;
        self.subscribed(before).await;
    }

    /// A user with money, whom the service knows.
    pub(super) async fn user(&self, policy: Policy) -> Wallet {
        let identity = Identity::generate();
        let account = self.network.open_account(&identity.public_key().to_hex(), Self::USER);
        let wallet = Wallet::start(WalletOptions::new(identity).policy(policy).paying_from(&account)).await;
        let api = self.api();
        let handshake = api.handshake(json!({})).await;
        introduce(&api, &wallet, &handshake, User::Once).await;
        wallet
    }

    /// Asks a user for a payment; the stream.
    pub(super) async fn ask(&self, user: &Wallet, amount: u64) -> String {
        self.ask_until(user, amount, 120).await
    }

    /// As [`ask`](Self::ask), for so many seconds.
    pub(super) async fn ask_until(&self, user: &Wallet, amount: u64, secs: u64) -> String {
        let body = json!({
            "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Coffee", "amount": amount,
            "currency": "millisats", "request_id": "order-1", "expires_at": now() + secs,
        });
        self.start("/payments/single", &body).await
    }

    /// Starts an operation; the stream.
    pub(super) async fn start(&self, path: &str, body: &Value) -> String {
        let answer = self.api().post(path, body).await.expect("it starts");
        answer["stream_id"].as_str().expect("a stream").to_owned()
    }

    pub(super) async fn refused(&self, path: &str, body: &Value) -> (u16, Value) {
        refused(&self.api(), path, body).await
    }

    pub(super) async fn refused_get(&self, path: &str) -> (u16, Value) {
        problem(self.api().get(path).await)
    }

    /// The events of a stream that is over, once there are so many: money may come later.
    pub(super) async fn later(&self, stream: &str, count: usize) -> Vec<Event> {
        let deadline = tokio::time::Instant::now() + LONG;
        loop {
            let (events, done) = self.api().events(stream).await;
            if events.len() >= count {
                assert!(done);
                return events;
            }
            assert!(tokio::time::Instant::now() < deadline, "what was waited for did not come: {events:?}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// The invoice that a user is asked to pay.
    pub(super) fn invoice_of(&self, request: &Request) -> Invoice {
        match &request.content {
            RequestContent::Payment(asked) => asked.invoice.parse().expect("an invoice"),
            other => panic!("{other:?}"),
        }
    }
}

pub(super) async fn refused(api: &Api, path: &str, body: &Value) -> (u16, Value) {
    problem(api.post(path, body).await)
}

fn problem(answer: Result<Value, CallError>) -> (u16, Value) {
    match answer {
        Err(CallError::Status(status, problem)) => (status, problem),
        other => panic!("should have been refused: {other:?}"),
    }
}

pub(super) fn statuses(events: &[Event]) -> Vec<&str> {
    events.iter().map(Event::status).collect()
}

/// Whether it is a payment as it should be. The word of the user's wallet may come later than the money, or be lost in a
/// crash; the money may not.
pub(super) fn approved_and_paid(events: &[Event]) -> bool {
    let told = statuses(events);
    told == ["user_approved", "paid"] || told == ["paid"]
}

/// Unix seconds.
pub(super) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs()
}
