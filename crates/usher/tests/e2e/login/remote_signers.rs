//! Logins with a remote signer (NIP-46) of another implementation (npm `@nostr-dev-kit/ndk`), in a real browser and across crashes.

use std::time::Duration;

use serde_json::json;
use usher_protocol::PublicKey;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::{Browser, NdkSigner};

use super::on_the_page::{Login, start};
use crate::harness::{TestUsher, files_below, has, is_for_everybody, state_is, text};

/// A service whose users may have signers on this machine, a signer there, and a browser that shows a login's page.
async fn everybody() -> (EmbeddedRelay, TestUsher, NdkSigner, Browser, Login) {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("NOSTR__ALLOW_PRIVATE_RELAYS", true);
    let builder = builder.set("AUTH__CHALLENGE_TTL_SECONDS", 45);
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
async fn use_a_signer(browser: &mut Browser) {
    browser.until(&has(USE_A_SIGNER)).await;
    let others = "document.getElementById('other-ways')";
    if browser.evaluate(&format!("{others}?.contains(document.querySelector({USE_A_SIGNER:?})) ?? false")).await == true
    {
        browser.click("#other-ways summary").await;
    }
    browser.click(USE_A_SIGNER).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_opens_our_address_in_their_signer_and_crashes_do_not_matter() {
    let (_relay, mut usher, mut signer, mut browser, login) = everybody().await;
    let api = usher.api();
    browser.until(&state_is("waiting")).await;
    is_for_everybody(&mut browser).await;
    use_a_signer(&mut browser).await;
    browser.until(&has(ADDRESS)).await;
    is_for_everybody(&mut browser).await;
    browser.click(SHOW_A_CODE).await;
    browser.until(&state_is("waiting-signer-listening")).await;
    is_for_everybody(&mut browser).await;
    let link = "document.querySelector('a[href^=\"nostrconnect://\"]')?.href ?? ''";
    let address = text(&mut browser, link).await;
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

/// `POST /authenticate-key` asks the signer that the user has named at an earlier login.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_signer_of_an_earlier_login_is_asked_again_across_crashes() {
    let (_relay, mut usher, mut signer, mut browser, login) = everybody().await;
    let api = usher.api();
    use_a_signer(&mut browser).await;
    browser.click(ADDRESS).await;
    browser.type_text(&signer.bunker_url("s3cret")).await;
    browser.press("Enter").await;
    browser.until(&state_is("approved")).await;
    let event = api.finished(&login.stream).await.pop().unwrap();
    assert_eq!((event.status(), event.main_key()), ("approved", signer.key.as_str()));
    let user = PublicKey::from_hex(&signer.key).unwrap();
    // What a wallet's approval looks like to the app.
    let approved = json!({ "status": "approved", "main_key": user.to_hex(), "granted_permissions": [] });
    usher.restart().await;
    assert_eq!(api.outcome(&api.authenticate(&user, &[]).await).await.data, approved);

    // A crash while the signer's user thinks about it.
    signer.ask_to_confirm("https://signer.example/confirm");
    let stream = api.authenticate(&user, &[]).await;
    signer.until_confirmations_asked(1).await;
    usher.restart().await;
    signer.until_confirmations_asked(2).await;
    signer.confirm();
    assert_eq!(api.outcome(&stream).await.data, approved);
    let connections = signer.asked_with_repetitions().iter().filter(|asked| *asked == "connect").count();
    assert_eq!(connections, 1, "it is the same session");

    // Nothing of the session is readable.
    for (file, content) in files_below(usher.data_dir().parent().unwrap()) {
        for text in ["s3cret", "client_key", "signer_relays"] {
            assert!(!content.windows(text.len()).any(|found| found == text.as_bytes()), "{text} in {file}");
        }
    }

    // Without the signer it is as with a wallet that is away.
    drop(signer);
    assert_eq!(api.outcome(&api.authenticate(&user, &[]).await).await.status(), "timeout");
}
