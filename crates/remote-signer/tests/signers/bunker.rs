//! The user pastes the address of their signer (`bunker://`).

use usher_engine::ports::{InvalidSignerAddress, RemoteSigner as _, RemoteSignerError, SignerProgress};
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::NdkSigner;

use crate::fixture::App;

#[tokio::test]
async fn refused_connection_is_reported() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let app = App::new(&[]);
    let mut signer = NdkSigner::start(&[relay.url()]).await;
    signer.refuse("connect");
    let refused = app.accept(&signer.bunker_url("s3cret")).end().await;
    assert_eq!(refused.err(), Some(RemoteSignerError::ConnectionRefused("Not authorized".to_owned())));
}

#[tokio::test]
async fn users_relays_must_be_on_the_public_internet() {
    let app = App::with(&[], |options| options.allow_private = false);
    let key = "b889ff5b1513b641e2a139f661a661364979c5beee91842f8f0ef42ab558e9d4";
    let refused = app.signers.accept(&format!("bunker://{key}?relay=ws://127.0.0.1:7777"));
    assert_eq!(refused, Err(InvalidSignerAddress::NoRelay));
    // A name is only known when it is resolved: then nothing is connected to, however long it is waited for.
    let relay = EmbeddedRelay::start().await.unwrap();
    let signer = NdkSigner::start(&[relay.url()]).await;
    let mut signing = app.accept(&format!("bunker://{}?relay=ws://localhost:{}", signer.key, relay.port()));
    signing.until(|progress| *progress == SignerProgress::Silent).await;
    assert!(signer.asked().is_empty());
}
