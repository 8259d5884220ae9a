//! Relays that drop, delay, double and refuse, and signers that are away.

use std::time::Duration;

use usher_engine::ports::SignerProgress;
use usher_testing::NdkSigner;
use usher_testing::proxy::BreakableProxy;
use usher_testing::relay::{LieOk, Quirks, QuirkyRelay};

use crate::fixture::App;

#[tokio::test]
async fn relays_that_double_delay_lie_or_want_authentication() {
    let keeps_ephemeral = Some(Duration::from_secs(300));
    let latency = Duration::from_millis(30);
    for quirks in [
        Quirks { duplicate_and_delay: Some(Duration::from_millis(150)), ..Quirks::default() },
        Quirks { no_ok_for_ephemeral: true, keeps_ephemeral, latency, ..Quirks::default() },
        Quirks { lie_ok: Some(LieOk::RefuseAndForward), ..Quirks::default() },
        Quirks { require_auth: true, ..Quirks::default() },
    ] {
        let relay = QuirkyRelay::start(quirks).await.unwrap();
        let app = App::new(&[relay.url()]);
        let mut signer = NdkSigner::start(&[relay.url()]).await;
        app.accept(&signer.bunker_url("s3cret")).end_signed_by(&signer.key).await;
        let (signing, address) = app.invite().await;
        signer.open(&address);
        signing.end_signed_by(&signer.key).await;
    }
}

#[tokio::test]
async fn one_dead_relay_beside_a_good_one() {
    let dead = QuirkyRelay::start(Quirks { accept_tcp_only: true, ..Quirks::default() }).await.unwrap();
    let mute = QuirkyRelay::start(Quirks { mute: true, ..Quirks::default() }).await.unwrap();
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let app = App::new(&[dead.url(), mute.url(), good.url()]);
    let mut signer = NdkSigner::start(&[good.url()]).await;
    let (signing, address) = app.invite().await;
    signer.open(&address);
    signing.end_signed_by(&signer.key).await;
}

/// Breaks the connection through the proxy, and lets the next one through.
async fn cut(relay: &QuirkyRelay, proxy: &BreakableProxy) {
    let open = relay.metrics().open_connections;
    proxy.cut();
    relay.wait_for(Duration::from_secs(60), |metrics| metrics.open_connections < open).await.unwrap();
    proxy.restore();
}

#[tokio::test]
async fn connection_that_breaks_before_every_reply() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let proxy = BreakableProxy::start(format!("127.0.0.1:{}", relay.port())).await.unwrap();
    let app = App::new(&[&proxy.ws_url()]);
    let mut signer = NdkSigner::start(&[relay.url()]).await;
    signer.ask_to_confirm("https://signer.example/confirm");
    let (mut signing, address) = app.invite().await;
    cut(&relay, &proxy).await;
    signing.until(|progress| *progress == SignerProgress::Listening).await;
    signer.open(&address);
    signing.until(|progress| matches!(progress, SignerProgress::Confirm(_))).await;
    cut(&relay, &proxy).await;
    signing.until(|progress| *progress == SignerProgress::Listening).await;
    signer.confirm();
    signing.end_signed_by(&signer.key).await;
}

#[tokio::test]
async fn signer_that_is_away_is_asked_again() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let app = App::new(&[relay.url()]);
    let signer = NdkSigner::start(&[relay.url()]).await;
    let session = app.accept(&signer.bunker_url("")).end().await.unwrap().session;
    // Everything that is sent is lost.
    relay.set(|quirks| quirks.lie_ok = Some(LieOk::AcceptAndDrop));
    let mut signing = app.sign(session);
    signing.until(|progress| *progress == SignerProgress::Silent).await;
    relay.set(|quirks| quirks.lie_ok = None);
    signing.end_signed_by(&signer.key).await;
}
