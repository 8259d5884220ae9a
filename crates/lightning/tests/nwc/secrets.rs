//! Nothing that this crate shows or logs is secret.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use nostr::nips::nip44::v2::ConversationKey;
use nostr::{Keys, ToBech32 as _};
use parking_lot::Mutex;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use usher_engine::ports::Lightning as _;
use usher_lightning::nwc::{Announcement, Answer, ConnectionUrl, NoSense, NotAConnectionUrl, Notice, NwcOptions};
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::{Conduct, Method};

use crate::client::Client;
use crate::puppet::Puppet;
use crate::stage::Stage;

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

#[test]
fn secrets_would_be_found() {
    let (app, wallet) = (Keys::generate(), Keys::generate());
    let found = std::panic::catch_unwind(|| {
        shows_none(&format!("x{}y", app.secret_key().to_secret_hex()), &secrets(&app, &wallet));
    });
    assert!(found.is_err());
}

#[tokio::test]
async fn public_types() {
    let puppet = Puppet::start().await;
    let mut secrets = secrets(&puppet.app, &puppet.wallet);
    let preimage = Preimage::from_bytes([0xab; 32]);
    secrets.push(preimage.to_hex());
    let url: ConnectionUrl = puppet.url().parse().unwrap();
    let client = Client::start(&puppet.url());
    let answer = json!({"result_type": "pay_invoice", "result": {"preimage": preimage.to_hex()}}).to_string();
    let answer = Answer::parse(&answer).unwrap();
    let fields = json!({"payment_hash": preimage.payment_hash().to_string(), "preimage": preimage.to_hex()});
    let notices = ["payment_received", "payment_sent"].map(|kind| {
        let text = json!({"notification_type": kind, "notification": fields}).to_string();
        Notice::parse(&text).unwrap().unwrap()
    });
    for shown in [
        format!("{url:?} {:?} {:?}", NwcOptions::new(url.clone()), client.wallet),
        format!("{url:#?} {:#?} {:#?}", NwcOptions::new(url.clone()), client.wallet),
        format!("{answer:?} {notices:?} {:?}", answer.paid()),
        format!("{answer:#?} {notices:#?} {:#?}", answer.paid()),
        format!("{NotAConnectionUrl} {NotAConnectionUrl:?} {NoSense} {NoSense:?}"),
        format!("{:?}", Announcement::read("pay_invoice", None, None)),
    ] {
        shows_none(&shown, &secrets);
        // Nor who talks to whom.
        shows_none(&shown, &[puppet.wallet.public_key().to_hex(), puppet.app.public_key().to_hex()]);
    }
    // A mistake in it is no reason to show it.
    let hex = puppet.app.secret_key().to_secret_hex();
    for wrong in [puppet.url().replace("nostr+", "nostr-"), puppet.url().replace(&hex, &hex[1..])] {
        let error = wrong.parse::<ConnectionUrl>().unwrap_err();
        shows_none(&format!("{error} {error:?}"), &[hex[1..].to_owned()]);
    }
}

/// What this crate logged, down to the finest.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn logs() {
    let log = Log::default();
    // For the whole program: what is set for one thread alone does not hear of what another has logged first. So lines of other
    // tests are among those that are looked at.
    tracing_subscriber::fmt().with_env_filter("usher_lightning=trace").with_writer(log.clone()).with_ansi(false).init();
    let mut stage = Stage::set().await;
    let keys = stage.service.keys().clone();
    let mut secrets = secrets(&keys.app, &keys.wallet);
    secrets.push(stage.service.url());
    let bill = stage.bill(1_000);
    let paid = stage.pay(&bill, 60).await.unwrap();
    secrets.push(paid.preimage.to_hex());
    let made = stage.client.invoice(1_000).await;
    let settled = stage.user.pay(made.as_str(), None).unwrap();
    secrets.push(settled.preimage.to_hex());
    stage.client.sent().await;
    stage.client.settled().await;
    stage.service.notify("payment_received", &json!({"preimage": settled.preimage.to_hex()}));
    stage.service.set(|behaviour| behaviour.on(Method::PayInvoice, Conduct::Garble));
    assert!(stage.pay(&stage.bill(1_000), 60).await.is_err());
    // The relay's address may be a secret, too: an access token, for one.
    let token = "f1e2d3c4b5a69788";
    let url = stage.service.keys().url(&[format!("{}/{token}?token={token}", stage.relay.url())]);
    secrets.push(token.to_owned());
    let other = Client::start(&url);
    other.until(true).await;
    stage.relay.set(|quirks| quirks.refuse_events = true);
    let hash = bill.payment_hash();
    let impatient = tokio::time::timeout(Duration::from_millis(300), other.wallet.look_up_payment(hash, None)).await;
    assert!(impatient.is_err());
    stage.relay.stop().await;
    stage.client.until(false).await;
    other.until(false).await;
    let shown = String::from_utf8(log.0.lock().clone()).unwrap();
    for said in ["connected to the wallet's relay", "makes no sense", "refuses a request", "relay is down"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    shows_none(&shown, &secrets);
}
