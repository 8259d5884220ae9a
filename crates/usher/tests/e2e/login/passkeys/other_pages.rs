//! A user with a passkey on the other pages: they hold no wallet that the service could reach.

use serde_json::json;
use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;

use super::{BEGIN, Fixture, NEW};
use crate::harness::{LONG, now};
use crate::login::on_the_page::state_is;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_logs_in_at_a_reusable_login_pays_and_passes_an_age_check() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let network = LightningNetwork::new();
    let shop = network.open_account("shop", 1_000_000);
    let wallet = NwcService::start(&shop, &[relay.url()]).await;
    wallet.ready(LONG).await.expect("the wallet listens");
    let mut fixture = Fixture::start_with(true, |builder| {
        let builder = builder.set("WALLET__LN_BACKEND", "nwc").set("WALLET__NETWORK", "regtest");
        builder.set("WALLET__NWC__URL", wallet.url())
    })
    .await;
    let api = fixture.usher.api();
    let door = super::start(&api, json!({ "static_token": "door" })).await;
    let mut known: Option<String> = None;
    for round in 0..2 {
        fixture.browser.open(&door.page_url).await;
        fixture.browser.until(&state_is("waiting")).await;
        fixture.press(BEGIN).await;
        if known.is_none() {
            fixture.press(NEW).await;
            fixture.press("#passkey-save:not([hidden]) [data-passkey=go-on]").await;
        }
        fixture.browser.until(&state_is("approved")).await;
        let event = api.at_least(&door.stream, 2 * round + 2).await.pop().unwrap();
        assert_eq!((event.status(), &event.data["method"]), ("approved", &json!("passkey")));
        let main_key = known.get_or_insert_with(|| event.main_key().to_owned());
        assert_eq!(event.main_key(), main_key);
    }

    // Nobody answers for them over Nostr; they pay on the page.
    let main_key = known.unwrap();
    let payment = json!({
        "main_key": main_key, "subkeys": [], "description": "Tea", "amount": 21_000, "currency": "millisats",
        "expires_at": now() + 600,
    });
    let payment = api.post("/payments/single", &payment).await.unwrap();
    fixture.browser.open(payment["page_url"].as_str().unwrap()).await;
    fixture.browser.until(&state_is("waiting")).await;
    let invoice = fixture.browser.evaluate("document.getElementById('invoice').value").await;
    network.open_account("payer", 1_000_000).pay(invoice.as_str().unwrap(), None).unwrap();
    fixture.browser.until(&state_is("paid")).await;

    let session = api.post("/verification/sessions", &json!({})).await.unwrap();
    fixture.browser.open(session["session_url"].as_str().unwrap()).await;
    fixture.browser.until(&state_is("open")).await;
    let path = format!("/verification/sessions/{}/decision", session["stream_id"].as_str().unwrap());
    api.post(&path, &json!({ "decision": "approve" })).await.unwrap();
    // Without a mint there is no proof; the check itself is passed.
    fixture.browser.until(&state_is("not-issued")).await;

    // Later requests reach no passkey.
    fixture.usher.set("AUTH__CHALLENGE_TTL_SECONDS", 2);
    fixture.usher.restart().await;
    let asked = json!({ "main_key": main_key, "subkeys": [] });
    let asked = fixture.usher.api().post("/authenticate-key", &asked).await.unwrap();
    let outcome = fixture.usher.api().outcome(asked["stream_id"].as_str().unwrap()).await;
    assert_eq!(outcome.status(), "timeout");
}
