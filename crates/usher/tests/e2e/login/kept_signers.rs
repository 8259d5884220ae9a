//! `POST /authenticate-key` for a user who has logged in with a remote signer (npm `@nostr-dev-kit/ndk`): the same signer is
//! asked, also after crashes.

use serde_json::{Value, json};
use usher_protocol::PublicKey;
use usher_sandbox::relay::EmbeddedRelay;
use usher_test_tools::NdkSigner;

use super::on_the_page::state_is;
use super::remote_signers::{everybody_with, name_signer};
use crate::harness::TestUsher;

/// A service, and a user who has logged in there with this signer.
async fn logged_in() -> (EmbeddedRelay, TestUsher, NdkSigner, PublicKey) {
    let builder = TestUsher::builder().set("AUTH__CHALLENGE_TTL_SECONDS", 45);
    let (relay, usher, signer, mut browser, login) = everybody_with(builder).await;
    name_signer(&mut browser, &signer.bunker_url("s3cret")).await;
    browser.until(&state_is("approved")).await;
    let event = usher.api().finished(&login.stream).await.pop().unwrap();
    assert_eq!((event.status(), event.main_key()), ("approved", signer.key.as_str()));
    let user = PublicKey::from_hex(&signer.key).unwrap();
    (relay, usher, signer, user)
}

fn times_asked(signer: &NdkSigner, method: &str) -> usize {
    signer.asked_with_repetitions().iter().filter(|asked| *asked == method).count()
}

/// What a wallet's approval looks like to the app.
fn approved(user: &PublicKey) -> Value {
    json!({ "status": "approved", "main_key": user.to_hex(), "granted_permissions": [] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_signer_of_an_earlier_login_is_asked_again_across_crashes() {
    let (_relay, mut usher, mut signer, user) = logged_in().await;
    let api = usher.api();
    usher.restart().await;
    let event = api.outcome(&api.authenticate(&user, &[]).await).await;
    assert_eq!((event.kind.as_str(), &event.data), ("StatusUpdate", &approved(&user)));
    assert_eq!(times_asked(&signer, "connect"), 1, "it is the same session");

    // A crash while the signer's user thinks about it.
    signer.ask_to_confirm("https://signer.example/confirm");
    let stream = api.authenticate(&user, &[]).await;
    signer.until_confirmations_asked(1).await;
    usher.restart().await;
    signer.until_confirmations_asked(2).await;
    signer.confirm();
    let events = api.finished(&stream).await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].data, approved(&user));
    assert_eq!(times_asked(&signer, "connect"), 1);

    // Nothing of the session is readable.
    assert!(!usher.log().contains("s3cret"), "the secret of the signer's address is in the log");
    for file in
        std::fs::read_dir(usher.data_dir()).unwrap().map(|file| file.unwrap().path()).filter(|file| file.is_file())
    {
        let content = std::fs::read(&file).unwrap();
        for text in ["s3cret", "client_key", "signer_relays"] {
            assert!(!content.windows(text.len()).any(|found| found == text.as_bytes()), "{text} in {}", file.display());
        }
    }

    // Without the signer it is as with a wallet that is away.
    drop(signer);
    assert_eq!(api.outcome(&api.authenticate(&user, &[]).await).await.status(), "timeout");
}
