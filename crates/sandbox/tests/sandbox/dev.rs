//! The environment of `usher dev`: relay, wallet and Lightning accounts.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::json;
use usher_protocol::message::PaymentStatus;
use usher_sandbox::dev::{DevEnvironment, DevError};
use usher_sandbox::lightning::Method;
use usher_sandbox::wallet::{PaymentSource, Policy, Wallet, WalletFile};

use crate::lightning::App;
use crate::raw_client::LONG;
use crate::scripted_service::{Service, is_approved};

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

#[tokio::test]
async fn login_works_and_the_user_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let network = DevEnvironment::start(folder.path(), loopback(0)).await.unwrap();
    let mut service = Service::start(network.relay_url()).await;
    let wallet = network.wallet(Policy::auto_approve()).await.unwrap();
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    service.challenge(&wallet.public_key(), "c").await;
    assert!(is_approved(&service.next_response().await.1));
    let key = wallet.public_key();
    wallet.stop().await;

    let port: u16 = network.relay_url().rsplit(':').next().unwrap().parse().unwrap();
    assert!(matches!(DevEnvironment::start(folder.path(), loopback(port)).await, Err(DevError::Relay { .. })));
    network.stop().await;
    let again = DevEnvironment::start(folder.path(), loopback(0)).await.unwrap();
    let file = WalletFile::load(again.wallet_file()).unwrap();
    assert_eq!(file.identity.public_key(), key);
    assert_eq!(file.relays, [again.relay_url()]);
}

#[tokio::test]
async fn lightning_state_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let network = DevEnvironment::start(folder.path(), loopback(0)).await.unwrap();
    let mut app = App::connect(&network.nwc_url()).await;
    let made = app.result(Method::MakeInvoice, json!({"amount": 5_000_000})).await;
    let invoice = made["invoice"].as_str().unwrap().to_owned();
    let before = network.user_account().balance();
    let port: u16 = network.relay_url().rsplit(':').next().unwrap().parse().unwrap();
    let url = network.nwc_url();
    network.stop().await;
    drop(network);

    let network = DevEnvironment::start(folder.path(), loopback(port)).await.unwrap();
    assert_eq!((network.nwc_url(), network.user_account().balance()), (url, before));
    // Another terminal: the wallet of the file, which pays by its connection.
    let file = WalletFile::load(network.wallet_file()).unwrap();
    let wallet = Wallet::start(file.options(Policy::silent())).await;
    assert!(matches!(wallet.payment_source(), Some(PaymentSource::Nwc(_))));
    assert_eq!(wallet.payment_source().unwrap().balance().await.unwrap(), before);
    let mut service = Service::start(network.relay_url()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let key = wallet.public_key();
    service.send(&key, &[key], &crate::payments::payment("p", 5_000_000, &invoice, None)).await;
    let request = wallet.next_request(LONG).await.unwrap();
    let paid = wallet.fulfil(&request).await.unwrap().paid.unwrap();
    assert_eq!(paid.fees_paid, 5_000);
    // A second payment of a paid invoice returns the first.
    assert_eq!(wallet.fulfil(&request).await.unwrap().paid.unwrap().preimage, paid.preimage);
    assert_eq!(crate::payments::next_answer(&mut service).await.1.status, PaymentStatus::Approved);
    assert_eq!(network.user_account().balance(), before - 5_005_000);
    let mut app = App::connect(&network.nwc_url()).await;
    assert_eq!(app.result(Method::LookupInvoice, json!({"invoice": invoice})).await["state"], "settled");
    assert!(network.lightning().totals().add_up());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join("lightning.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}
