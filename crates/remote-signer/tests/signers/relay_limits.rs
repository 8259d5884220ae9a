//! Addresses of signers make few connections to any one host.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::time::sleep;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::{NdkSigner, TcpServer};

use crate::fixture::App;

const KEY: &str = "b889ff5b1513b641e2a139f661a661364979c5beee91842f8f0ef42ab558e9d4";

/// A server that is no relay. Counts the connections that are open.
struct Victim {
    server: TcpServer,
    open: Arc<AtomicUsize>,
}

impl Victim {
    /// `closes`: whether it closes every connection at once; otherwise it never replies.
    async fn start(closes: bool) -> Self {
        let open = Arc::<AtomicUsize>::default();
        let counting = Arc::clone(&open);
        let server = TcpServer::start(move |mut stream| {
            let open = Arc::clone(&counting);
            async move {
                if !closes {
                    open.fetch_add(1, Ordering::Relaxed);
                    while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
        Self { server: server.await, open }
    }

    /// The address of a signer with three paths of it.
    fn bunker_url(&self, host: &str, n: usize) -> String {
        let relays: String =
            (0..3).map(|path| format!("relay=ws://{host}:{}/{n}/{path}&", self.server.port())).collect();
        format!("bunker://{KEY}?{relays}secret=s")
    }
}

#[tokio::test]
async fn many_addresses_that_name_one_host_connect_to_it_now_and_then() {
    let victim = Victim::start(true).await;
    let app = App::new(&[]);
    let mut signing = Vec::new();
    for n in 0..98 {
        signing.push(app.accept(&victim.bunker_url("127.0.0.1", n)));
        sleep(Duration::from_millis(20)).await;
    }
    sleep(Duration::from_secs(3)).await;
    let had = victim.server.connections();
    // 32, and one more every two seconds; on a slow machine the test takes longer.
    assert!((8..60).contains(&had), "{had} connections");
    assert!(app.signers.connections() <= 8, "{}", app.signers.connections());
}

#[tokio::test]
async fn one_network_address_has_few_connections_whatever_the_names() {
    let victim = Victim::start(false).await;
    let app = App::new(&[]);
    let mut signing = Vec::new();
    for n in 0..4 {
        signing.push(app.accept(&victim.bunker_url("127.0.0.1", n)));
        signing.push(app.accept(&victim.bunker_url("localhost", n)));
    }
    // One that is closed at once may be open for a moment.
    let mut open = usize::MAX;
    for _ in 0..5 {
        sleep(Duration::from_millis(500)).await;
        open = open.min(victim.open.load(Ordering::Relaxed));
    }
    assert!((4..=8).contains(&open), "{open} connections");
}

#[tokio::test]
async fn invented_paths_do_not_keep_users_from_a_relay() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let app = App::new(&[]);
    let signer = NdkSigner::start(&[relay.url()]).await;
    let invented: String = (0..3).map(|n| format!("relay={}/{n}&", relay.url().trim_end_matches('/'))).collect();
    let mut others = Vec::new();
    for n in 0..6 {
        let address = invented.replace('&', &format!("-{n}&"));
        others.push(app.accept(&format!("bunker://{KEY}?{address}secret=s")));
    }
    let address = signer.bunker_url("s3cret");
    app.accept(&address).end_signed_by(&signer.key).await;
}
