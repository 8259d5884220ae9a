//! A user who has logged in with a passkey, agreed to give an app their key and paid is erased: by the command, with a crash in
//! the middle, until the database does not contain their key any more.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use usher_faults::lightning::FaultyNwcService;
use usher_protocol::PublicKey;
use usher_sandbox::lightning::{Account, LightningNetwork};
use usher_sandbox::relay::EmbeddedRelay;
use usher_test_tools::Browser;

use crate::harness::{CallError, LONG, TestUsher};
use crate::openid_provider::Fixture;

/// Asks the user for a payment; the stream, and the invoice that its page shows.
async fn ask(usher: &TestUsher, user: &str, browser: &mut Browser) -> (String, String) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let body = json!({
        "main_key": user, "subkeys": [], "description": "Coffee", "amount": 5_000, "currency": "millisats",
        "expires_at": now + 600,
    });
    let started = usher.api().post("/payments/single", &body).await.unwrap();
    browser.open(started["page_url"].as_str().unwrap()).await;
    browser.until("!!document.getElementById('invoice')?.value").await;
    let invoice = browser.evaluate("document.getElementById('invoice').value").await;
    (started["stream_id"].as_str().unwrap().to_owned(), invoice.as_str().unwrap().to_owned())
}

async fn pay(usher: &TestUsher, payer: &Account, (stream, invoice): &(String, String)) {
    payer.pay(invoice, None).unwrap();
    assert_eq!(usher.api().at_least(stream, 1).await.last().unwrap().status(), "paid");
}

/// What was erased and kept.
async fn erase(usher: &TestUsher, user: &str) -> Value {
    let erased = usher.api().delete(&format!("/users/{user}")).await.unwrap();
    assert_eq!((&erased["main_key"], &erased["next"]), (&json!(user), &json!(null)));
    erased
}

/// How often the files of the database have the key: as text, and as bytes.
fn occurrences(usher: &TestUsher, user: &str) -> (usize, usize) {
    let key = PublicKey::from_hex(user).unwrap();
    let (mut text, mut bytes) = (0, 0);
    for file in std::fs::read_dir(usher.data_dir()).unwrap().map(|file| file.unwrap().path()) {
        if file.file_name().unwrap().to_string_lossy().starts_with("usher.db") {
            let content = std::fs::read(&file).unwrap();
            text += content.windows(64).filter(|found| *found == user.as_bytes()).count();
            bytes += content.windows(32).filter(|found| *found == key.as_bytes()).count();
        }
    }
    (text, bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_user_stays_but_what_the_answer_names() {
    let mut fixture = Fixture::start_for_passkeys().await;
    fixture.browser.add_authenticator(true).await;
    fixture.begin_with_passkey().await;
    fixture.make_passkey().await;
    fixture.agree().await;
    fixture.browser.until("document.querySelector('#done, #failed') !== null").await;
    let result = fixture.app.result();
    let user = result["claims"]["sub"].as_str().unwrap().to_owned();

    let relay = EmbeddedRelay::start().await.unwrap();
    let network = LightningNetwork::new();
    let shop = network.open_account("shop", 1_000_000);
    let payer = network.open_account("somebody", 1_000_000);
    let wallet = FaultyNwcService::start(&shop, &[relay.url()]).await;
    wallet.ready(LONG).await.expect("the wallet listens");
    fixture.usher.set("AUTH__CHALLENGE_TTL_SECONDS", 15);
    fixture.usher.set("WALLET__LN_BACKEND", "nwc");
    fixture.usher.set("WALLET__NETWORK", "regtest");
    fixture.usher.set("WALLET__NWC__URL", wallet.url());
    fixture.usher.restart().await;
    let mut browser = Browser::start().await;
    let paid = ask(&fixture.usher, &user, &mut browser).await;
    pay(&fixture.usher, &payer, &paid).await;
    let open = ask(&fixture.usher, &user, &mut browser).await;
    let authentication = fixture.usher.api().authenticate(&PublicKey::from_hex(&user).unwrap(), &[]).await;
    let (text, bytes) = occurrences(&fixture.usher, &user);
    assert!(text > 0 && bytes > 0);

    let mut expected: Vec<_> = [("authentication", &authentication), ("single_payment", &open.0)]
        .map(|(kind, stream)| format!("open {kind} {stream} -"))
        .to_vec();
    expected.sort();
    let kept = fixture.command(&["users", "erase", &user]);
    let mut kept: Vec<_> = kept.lines().map(str::to_owned).collect();
    kept.sort();
    assert_eq!(kept, expected);
    match fixture.usher.api().try_events(&paid.0, 0, 0).await {
        Err(CallError::Status(404, problem)) => assert_eq!(problem["code"], "stream_not_found"),
        other => panic!("{other:?}"),
    }
    let refreshed = fixture.app.ask(&json!({ "refresh": result["tokens"]["refresh_token"] }));
    assert_eq!(refreshed["error"], "invalid_grant", "{refreshed}");
    assert_eq!(fixture.command(&["oidc", "consents"]), "");
    let again = erase(&fixture.usher, &user).await;
    let nothing = json!({
        "streams": 0, "passkeys": 0, "remote_signers": 0, "relays": 0, "oidc_consents": 0, "oidc_records": 0,
    });
    assert_eq!((&again["erased"], again["kept"].as_array().unwrap().len()), (&nothing, 2));

    // The payment goes on. Its end, and that of the authentication, are erased in spite of crashes.
    pay(&fixture.usher, &payer, &open).await;
    fixture.usher.api().finished(&authentication).await;
    for pause in [0, 1, 5] {
        let (api, path) = (fixture.usher.api(), format!("/users/{user}"));
        let erasing = tokio::spawn(async move { api.delete(&path).await });
        tokio::time::sleep(Duration::from_millis(pause)).await;
        fixture.usher.kill();
        drop(erasing.await.unwrap());
        fixture.usher.restart().await;
    }
    let deadline = tokio::time::Instant::now() + LONG;
    while erase(&fixture.usher, &user).await["kept"] != json!([]) {
        assert!(tokio::time::Instant::now() < deadline, "something stays open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for stream in [&open.0, &authentication] {
        assert!(matches!(fixture.usher.api().try_events(stream, 0, 0).await, Err(CallError::Status(404, _))));
    }
    let books = fixture.usher.api().get("/payments").await.unwrap();
    let booked: Vec<_> = books["payments"].as_array().unwrap().iter().map(|payment| &payment["stream_id"]).collect();
    assert_eq!(booked.len(), 2, "{books}");
    assert!(fixture.usher.stop().await.success());
    assert_eq!(occurrences(&fixture.usher, &user), (0, 0));
}
