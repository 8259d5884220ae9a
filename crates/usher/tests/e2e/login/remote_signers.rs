//! `POST /login` in a real browser with a remote signer (NIP-46) of another implementation (npm `@nostr-dev-kit/ndk`) and
//! across crashes.

use std::time::Duration;

use serde_json::json;
use usher_sandbox::relay::EmbeddedRelay;
use usher_test_tools::{Browser, NdkSigner};

use super::on_the_page::{Login, is_for_everybody, start, state_is};
use crate::harness::{Builder, TestUsher};

/// A service whose users may have signers on this machine, a signer there, and a browser that shows a login's page.
pub(super) async fn everybody() -> (EmbeddedRelay, TestUsher, NdkSigner, Browser, Login) {
    everybody_with(TestUsher::builder()).await
}

pub(super) async fn everybody_with(builder: Builder) -> (EmbeddedRelay, TestUsher, NdkSigner, Browser, Login) {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = builder.relays(&[relay.url()]).set("NOSTR__ALLOW_PRIVATE_RELAYS", true);
    let usher = builder.set("PROFILE__DISPLAY_NAME", "Bar Seven").start().await;
    let signer = NdkSigner::start(&[relay.url()]).await;
    let login = start(&usher.api(), json!({})).await;
    let mut browser = Browser::start().await;
    browser.be_a_phone().await;
    browser.open(&login.page_url).await;
    (relay, usher, signer, browser, login)
}

const USE_A_SIGNER: &str = "a[href$='/signer']";
const SHOW_A_CODE: &str = "form:not(:has(input)) button";
const ADDRESS: &str = "#signer-address";

/// It may be among the other ways.
pub(super) async fn use_a_signer(browser: &mut Browser) {
    browser.until(&format!("document.querySelector({USE_A_SIGNER:?}) !== null")).await;
    let others = "document.getElementById('other-ways')";
    if browser.evaluate(&format!("{others}?.contains(document.querySelector({USE_A_SIGNER:?})) ?? false")).await == true
    {
        browser.click("#other-ways summary").await;
    }
    browser.click(USE_A_SIGNER).await;
}

pub(super) async fn name_signer(browser: &mut Browser, address: &str) {
    use_a_signer(browser).await;
    browser.click(ADDRESS).await;
    browser.type_text(address).await;
    browser.press("Enter").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_opens_our_address_in_their_signer_and_crashes_do_not_matter() {
    let (_relay, mut usher, mut signer, mut browser, login) = everybody().await;
    let api = usher.api();
    browser.until(&state_is("waiting")).await;
    is_for_everybody(&mut browser).await;
    use_a_signer(&mut browser).await;
    browser.until(&format!("document.querySelector('{ADDRESS}') !== null")).await;
    is_for_everybody(&mut browser).await;
    browser.click(SHOW_A_CODE).await;
    browser.until(&state_is("waiting-signer-listening")).await;
    is_for_everybody(&mut browser).await;
    let link = "document.querySelector('a[href^=\"nostrconnect://\"]')?.href ?? ''";
    let address = browser.evaluate(link).await.as_str().unwrap().to_owned();
    assert!(address.contains("name=Bar%20Seven&url=http"), "{address}");

    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());

    // The address is still good after a crash.
    usher.restart().await;
    while !api.events(&login.stream).await.1 {
        // What the signer sends before the service listens again is lost: its user scans again.
        signer.open(&address);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    browser.until(&state_is("approved")).await;
    is_for_everybody(&mut browser).await;
    let event = api.finished(&login.stream).await.pop().unwrap();
    assert_eq!((event.status(), event.main_key()), ("approved", signer.key.as_str()));
    assert_eq!(event.data["method"], "signer");
    let secret = address.split("secret=").nth(1).unwrap().split('&').next().unwrap();
    let log = usher.log();
    assert!(!log.contains(secret) && !log.contains(login.page_url.rsplit('/').next().unwrap()), "secrets in the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_pastes_the_address_of_their_signer_and_confirms_on_its_page() {
    let (_relay, mut usher, mut signer, mut browser, login) = everybody().await;
    let api = usher.api();
    signer.ask_to_confirm("https://signer.example/confirm?x=1");
    name_signer(&mut browser, &signer.bunker_url("s3cret")).await;
    for asked in 1..=2 {
        signer.until_confirmations_asked(asked).await;
        browser.until(&state_is("waiting-signer-confirming")).await;
        is_for_everybody(&mut browser).await;
        let link = browser.evaluate("document.querySelector('a[target=_blank]').href").await;
        assert_eq!(link, json!("https://signer.example/confirm?x=1"));
        // The signer is asked again in the same session: it is not connected to twice.
        usher.restart().await;
    }
    signer.until_confirmations_asked(3).await;
    signer.confirm();
    browser.until(&state_is("approved")).await;
    let events = api.finished(&login.stream).await;
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["KeyHandshake", "StatusUpdate"]);
    assert_eq!((events[1].main_key(), &events[1].data["method"]), (signer.key.as_str(), &json!("signer")));
    let connections = signer.asked().iter().filter(|method| *method == "connect").count();
    assert_eq!(connections, 1, "{:?}", signer.asked());
    assert!(!usher.log().contains("s3cret"), "the address stays out of the log");
}
