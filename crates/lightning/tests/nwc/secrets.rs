//! Nothing that this crate shows or logs is secret.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use nostr::nips::nip44::v2::ConversationKey;
use nostr::{Keys, ToBech32 as _};
use parking_lot::Mutex;
use serde_json::json;
use usher_engine::ports::Lightning as _;
use usher_lightning::nwc::{
    Announcement, ConnectionUri, InvalidConnectionUri, InvalidResponse, Notification, NwcOptions, Response,
};
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::Method;
use usher_testing::lightning::CallBehaviour;

use crate::fixture::{BackendHandle, Fixture};
use crate::scripted_wallet::ScriptedWallet;

/// The secrets of a connection, in every form in which they might be shown.
fn secrets(app: &Keys, wallet: &Keys) -> Vec<String> {
    let secret = app.secret_key();
    let conversation = ConversationKey::derive(secret, &wallet.public_key()).unwrap();
    let bytes = |bytes: &[u8]| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        [hex.to_uppercase(), hex, format!("{bytes:?}")]
    };
    let mut all = vec![secret.to_bech32().unwrap()];
    all.extend(bytes(&secret.to_secret_bytes()));
    all.extend(bytes(conversation.as_bytes()));
    all
}

#[track_caller]
fn shows_none(shown: &str, secrets: &[String]) {
    for secret in secrets {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn public_types() {
    let scripted = ScriptedWallet::start().await;
    let mut secrets = secrets(&scripted.app, &scripted.wallet);
    let preimage = Preimage::from_bytes([0xab; 32]);
    secrets.push(preimage.to_hex());
    let url: ConnectionUri = scripted.url().parse().unwrap();
    let client = BackendHandle::start(&scripted.url());
    let answer = json!({"result_type": "pay_invoice", "result": {"preimage": preimage.to_hex()}}).to_string();
    let answer = Response::parse(&answer).unwrap();
    let fields = json!({"payment_hash": preimage.payment_hash().to_string(), "preimage": preimage.to_hex()});
    let notifications = ["payment_received", "payment_sent"].map(|kind| {
        let text = json!({"notification_type": kind, "notification": fields}).to_string();
        Notification::parse(&text).unwrap().unwrap()
    });
    for shown in [
        format!("{url:?} {:?} {:?}", NwcOptions::new(url.clone()), client.backend),
        format!("{url:#?} {:#?} {:#?}", NwcOptions::new(url.clone()), client.backend),
        format!("{answer:?} {notifications:?} {:?}", answer.paid()),
        format!("{answer:#?} {notifications:#?} {:#?}", answer.paid()),
        format!("{InvalidConnectionUri} {InvalidConnectionUri:?} {InvalidResponse} {InvalidResponse:?}"),
        format!("{:?}", Announcement::read("pay_invoice", None, None)),
    ] {
        shows_none(&shown, &secrets);
        // Nor who communicates with whom.
        shows_none(&shown, &[scripted.wallet.public_key().to_hex(), scripted.app.public_key().to_hex()]);
    }
    // A typo in it is no reason to show it.
    let hex = scripted.app.secret_key().to_secret_hex();
    for wrong in [scripted.url().replace("nostr+", "nostr-"), scripted.url().replace(&hex, &hex[1..])] {
        let error = wrong.parse::<ConnectionUri>().unwrap_err();
        shows_none(&format!("{error} {error:?}"), &[hex[1..].to_owned()]);
    }
}

/// Everything this crate logged, at the finest level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs() {
    let log = Log::default();
    // For the whole program: a subscriber for one thread misses what another thread logged first. So lines of other
    // tests are checked too.
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_env_filter("usher_lightning=trace").with_ansi(false);
    subscriber.with_writer(move || writer.clone()).init();
    let mut fixture = Fixture::set().await;
    let keys = fixture.service.keys().clone();
    let mut secrets = secrets(&keys.app, &keys.wallet);
    secrets.push(fixture.service.url());
    let invoice = fixture.external_invoice(1_000);
    let paid = fixture.pay(&invoice, 60).await.unwrap();
    secrets.push(paid.preimage.to_hex());
    let made = fixture.client.invoice(1_000).await;
    let settled = fixture.user.pay(made.as_str(), None).unwrap();
    secrets.push(settled.preimage.to_hex());
    fixture.client.sent().await;
    fixture.client.settled().await;
    fixture.service.notify("payment_received", &json!({"preimage": settled.preimage.to_hex()}));
    fixture.service.set(|behaviour| behaviour.on(Method::PayInvoice, CallBehaviour::Garble));
    assert!(fixture.pay(&fixture.external_invoice(1_000), 60).await.is_err());
    // The relay's URL may be a secret too: an access token, for example.
    let token = "f1e2d3c4b5a69788";
    let url = fixture.service.keys().url(&[format!("{}/{token}?token={token}", fixture.relay.url())]);
    secrets.push(token.to_owned());
    let other = BackendHandle::start(&url);
    other.until(true).await;
    fixture.relay.set(|quirks| quirks.refuse_events = true);
    let hash = invoice.payment_hash();
    let impatient = tokio::time::timeout(Duration::from_millis(300), other.backend.look_up_payment(hash, None)).await;
    assert!(impatient.is_err());
    fixture.relay.stop().await;
    fixture.client.until(false).await;
    other.until(false).await;
    let shown = String::from_utf8(log.0.lock().clone()).unwrap();
    for said in
        ["connected to the Lightning backend's relay", "invalid notification", "refuses a request", "relay is down"]
    {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    shows_none(&shown, &secrets);
}
