//! The service, Lightning network and relay of the payment tests.

use std::time::Duration;

use serde_json::{Value, json};
use usher_protocol::Keys;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork};
use usher_sandbox::wallet::{Identity, Policy, Request, RequestContent, Wallet, WalletOptions};
use usher_testing::Browser;
use usher_testing::lightning::FaultyNwcService;
use usher_testing::relay::{Quirks, QuirkyRelay};

use crate::harness::{Api, Builder, Event, LONG, TestUsher, User, introduce, now, refusal, statuses, text, until};

/// A service with a Lightning wallet, and the network it is in.
pub(crate) struct Fixture {
    pub(super) relay: QuirkyRelay,
    pub(super) network: LightningNetwork,
    /// The service's account.
    pub(super) shop: Account,
    pub(super) wallet: FaultyNwcService,
    pub(crate) usher: TestUsher,
}

impl Fixture {
    /// What the service has at the beginning, in millisats.
    pub(super) const SHOP: u64 = 1_000_000;
    pub(super) const USER: u64 = 500_000;

    pub(super) async fn open() -> Self {
        Self::open_with(|builder| builder).await
    }

    /// With a name, and an app to which its pages lead: nobody listens there, only where the browser goes counts.
    pub(super) async fn with_pages() -> Self {
        Self::open_with(|builder| builder.set("PAGES__RETURN_URLS", APP).set("PROFILE__DISPLAY_NAME", "Bar Seven"))
            .await
    }

    pub(crate) async fn open_with(set: impl FnOnce(Builder) -> Builder) -> Self {
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let network = LightningNetwork::new();
        let shop = network.open_account("shop", Self::SHOP);
        let wallet = FaultyNwcService::start(&shop, &[relay.url()]).await;
        wallet.ready(LONG).await.expect("the wallet listens");
        let before = relay.metrics().reqs;
        let usher = set(TestUsher::builder().relays(&[relay.url()]).nwc(wallet.url())).start().await;
        let fixture = Self { relay, network, shop, wallet, usher };
        fixture.subscribed(before).await;
        fixture
    }

    /// Waits until the service listens for users and for its wallet.
    async fn subscribed(&self, before: u64) {
        self.relay.wait_for(LONG, |metrics| metrics.reqs >= before + 2).await.expect("the service subscribes");
    }

    pub(crate) fn api(&self) -> Api {
        self.usher.api()
    }

    pub(super) async fn api_with(&self, key: Value) -> Api {
        let created = self.api().post("/keys", &key).await.unwrap();
        self.api().with_token(created["secret"].as_str().unwrap())
    }

    /// Somebody whom the service pays.
    pub(super) fn payee(&self) -> Account {
        self.network.open_account("payee", 0)
    }

    /// Somebody without a wallet that the service knows pays an invoice.
    pub(crate) fn somebody_pays(&self, invoice: &str) {
        self.network.open_account(&Keys::generate().public_key().to_hex(), 100_000_000).pay(invoice, None).unwrap();
    }

    /// Has the service pay an invoice; the stream.
    pub(super) async fn pay(&self, invoice: &Invoice) -> String {
        self.api().start("/invoices/pay", &json!({"invoice": invoice.as_str()})).await
    }

    /// Each of these payments by the service has ended, and each invoice is paid once.
    pub(super) async fn are_paid_once(&self, payments: &[(String, Invoice)]) {
        for (stream, invoice) in payments {
            let events = self.api().finished(stream).await;
            assert_eq!(statuses(&events).last(), Some(&"paid"), "{events:?}");
            assert_eq!(self.network.executed(invoice.payment_hash()), 1);
        }
        assert!(self.network.totals().add_up());
    }

    /// From the next start on, which is now, the service stands still at this fail point.
    pub(super) async fn crash_to_stand_at(&mut self, point: &str) {
        self.usher.stand_still_at(Some(point));
        self.crash().await;
    }

    /// Kills the service at its fail point. Usually it has reached it by then; if it has not, it is killed before it.
    pub(super) async fn killed_there(&mut self) {
        tokio::time::sleep(Duration::from_millis(400)).await;
        self.usher.stand_still_at(None);
        self.crash().await;
    }

    /// Kills the service and starts it again.
    pub(crate) async fn crash(&mut self) {
        let before = self.relay.metrics().reqs;
        self.usher.restart().await;
        self.subscribed(before).await;
    }

    /// A user with money, whom the service knows.
    pub(crate) async fn user(&self, policy: Policy) -> Wallet {
        let identity = Identity::generate();
        let account = self.network.open_account(&identity.public_key().to_hex(), Self::USER);
        let wallet = Wallet::start(WalletOptions::new(identity).policy(policy).paying_from(&account)).await;
        let api = self.api();
        let handshake = api.handshake(json!({})).await;
        introduce(&api, &wallet, &handshake, User::Once).await;
        wallet
    }

    /// Asks a user for a payment; the stream.
    pub(crate) async fn ask(&self, user: &Wallet, amount: u64) -> String {
        let body = json!({
            "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Coffee", "amount": amount,
            "currency": "millisats", "request_id": "order-1", "expires_at": now() + 120,
        });
        self.api().start("/payments/single", &body).await
    }

    /// Posts a page's form, as a browser without JavaScript does: status and text, 0 without a response.
    pub(super) async fn post_form(&self, page: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.api().http.post(page).header("content-type", "application/x-www-form-urlencoded");
        let Ok(response) = request.body(form).send().await else { return (0, String::new()) };
        (response.status().as_u16(), response.text().await.unwrap_or_default())
    }

    pub(super) async fn refused(&self, path: &str, body: &Value) -> (u16, Value) {
        refusal(self.api().post(path, body).await)
    }

    /// The events of a stream that is over, once there are so many: money may come later.
    pub(super) async fn later(&self, stream: &str, count: usize) -> Vec<Event> {
        until("money", async || {
            let (events, done) = self.api().events(stream).await;
            (events.len() >= count && done).then_some(events)
        })
        .await
    }

    /// The invoice that a user is asked to pay.
    pub(crate) fn invoice_of(&self, request: &Request) -> Invoice {
        match &request.content {
            RequestContent::Payment(asked) => asked.invoice.parse().expect("an invoice"),
            other => panic!("{other:?}"),
        }
    }
}

/// The app of [`Fixture::with_pages`].
pub(super) const APP: &str = "http://127.0.0.1:9/app";

pub(super) fn invoice(payee: &Account, amount: u64) -> Invoice {
    payee.make_invoice(&InvoiceTerms::of(amount)).unwrap()
}

/// The invoice that a payment's page shows.
pub(super) async fn invoice_on(browser: &mut Browser) -> String {
    browser.until("!!document.getElementById('invoice')?.value").await;
    text(browser, "document.getElementById('invoice').value").await
}

/// Whether it is a payment as it should be. The word of the user's wallet may come later than the money, or be lost in a
/// crash; the money may not.
pub(super) fn approved_and_paid(events: &[Event]) -> bool {
    let told = statuses(events);
    told == ["user_approved", "paid"] || told == ["paid"]
}
