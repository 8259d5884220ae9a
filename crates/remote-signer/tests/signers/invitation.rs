//! The user opens our address (`nostrconnect://`) in their signer.

use usher_engine::ports::{RemoteSigner as _, RemoteSignerError, SignerSession};
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::NdkSigner;
use usher_testing::relay::{Quirks, QuirkyRelay};

use crate::fixture::App;

#[tokio::test]
async fn user_opens_the_address_and_the_session_is_kept() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let app = App::new(&[relay.url()]);
    let mut signer = NdkSigner::start(&[relay.url()]).await;
    let (mut signing, address) = app.invite().await;
    assert!(address.contains("perms=sign_event%3A27235") && address.contains("name=Caf%C3%A9"), "{address}");
    signer.open(&address);
    signing.connected().await;
    let session = signing.end_signed_by(&signer.key).await;
    assert_eq!(signer.asked(), ["switch_relays", "sign_event"], "and the public key, which needs no permission");
    assert_eq!(app.signers.address(&session), None, "its signer is known");

    // Later, and in another process.
    let later = App::new(&[relay.url()]);
    let again = later.sign(session).end_signed_by(&signer.key).await;
    // Several at once.
    let signings: Vec<_> = (0..20).map(|_| later.sign(again.clone())).collect();
    for signing in signings {
        signing.end_signed_by(&signer.key).await;
    }
}

#[tokio::test]
async fn refused_signature_is_reported() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let app = App::new(&[relay.url()]);
    let mut signer = NdkSigner::start(&[relay.url()]).await;
    signer.refuse("sign_event");
    let (signing, address) = app.invite().await;
    signer.open(&address);
    let mut refused = signing.end().await;
    // It may be its user, who does not want to sign this time.
    for _ in 0..2 {
        let Err(RemoteSignerError::SignatureRefused { reason, session: Some(session) }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(reason, "Not authorized");
        refused = app.sign(session).end().await;
    }
    let last = RemoteSignerError::SignatureRefused { reason: "Not authorized".to_owned(), session: None };
    assert_eq!(refused.err(), Some(last), "it does not know us any more");
}

#[tokio::test]
async fn relays_are_shared_and_left_when_nobody_waits() {
    let relay = QuirkyRelay::start(Quirks { max_subscriptions: Some(2), ..Quirks::default() }).await.unwrap();
    let app = App::new(&[relay.url()]);
    let mut signings = Vec::new();
    for _ in 0..30 {
        signings.push(app.invite().await);
    }
    assert_eq!((app.signers.connections(), relay.metrics().open_connections), (1, 1));
    for (signing, _) in signings {
        signing.crash().await;
    }
    relay.wait_for(std::time::Duration::from_secs(60), |metrics| metrics.open_connections == 0).await.unwrap();
    assert_eq!(app.signers.connections(), 0);
}

#[tokio::test]
async fn damaged_session_and_missing_relays_are_errors() {
    let app = App::new(&[]);
    assert_eq!(app.signers.invite().err(), Some(RemoteSignerError::Unreachable));
    let damaged = SignerSession("{}".to_owned());
    assert_eq!(app.signers.address(&damaged), None);
    assert_eq!(app.sign(damaged).end().await.err(), Some(RemoteSignerError::Unusable));
}
