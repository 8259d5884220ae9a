//! The small world of `usher dev`.

use serde_json::json;
use usher_protocol::message::PaymentStatus;
use usher_sandbox::dev::{DevError, DevWorld};
use usher_sandbox::lightning::Method;
use usher_sandbox::wallet::{Policy, Purse, Wallet, WalletFile};

use crate::lightning::App;
use crate::raw::LONG;
use crate::service::{Service, is_approved};

#[tokio::test]
async fn a_login_in_the_small_world_and_the_same_user_again() {
    let folder = tempfile::tempdir().unwrap();
    let world = DevWorld::start(folder.path(), 0).await.unwrap();
    let mut service = Service::start(world.relay_url()).await;
    let wallet = world.wallet(Policy::auto_approve()).await.unwrap();
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    service.challenge(&wallet.public_key(), "c").await;
    assert!(is_approved(&service.next_response().await.1));
    let key = wallet.public_key();
    wallet.stop().await;

    let port: u16 = world.relay_url().rsplit(':').next().unwrap().parse().unwrap();
    assert!(matches!(DevWorld::start(folder.path(), port).await, Err(DevError::Relay { .. })));
    world.stop().await;
    let again = DevWorld::start(folder.path(), 0).await.unwrap();
    let file = WalletFile::load(again.wallet_file()).unwrap();
    assert_eq!(file.identity.public_key(), key);
    assert_eq!(file.relays, [again.relay_url()]);
}

#[tokio::test]
async fn lightning_in_the_small_world_and_after_it_began_anew() {
    let folder = tempfile::tempdir().unwrap();
    let world = DevWorld::start(folder.path(), 0).await.unwrap();
    let mut app = App::connect(&world.nwc_url()).await;
    let made = app.result(Method::MakeInvoice, json!({"amount": 5_000_000})).await;
    let invoice = made["invoice"].as_str().unwrap().to_owned();
    let before = world.user_account().balance();
    let port: u16 = world.relay_url().rsplit(':').next().unwrap().parse().unwrap();
    let url = world.nwc_url();
    world.stop().await;
    drop(world);

    let world = DevWorld::start(folder.path(), port).await.unwrap();
    assert_eq!((world.nwc_url(), world.user_account().balance()), (url, before));
    // Another terminal: the wallet of the file, which pays by its connection.
    let file = WalletFile::load(world.wallet_file()).unwrap();
    let wallet = Wallet::start(file.options(Policy::silent())).await;
    assert!(matches!(wallet.purse(), Some(Purse::Nwc(_))));
    assert_eq!(wallet.purse().unwrap().balance().await.unwrap(), before);
    let mut service = Service::start(world.relay_url()).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let key = wallet.public_key();
    service.say(&key, &[key], &crate::payments::payment("p", 5_000_000, &invoice, None)).await;
    let request = wallet.next_request(LONG).await.unwrap();
    let paid = wallet.fulfil(&request).await.unwrap().paid.unwrap();
    assert_eq!(paid.fees_paid, 5_000);
    // Once more: what is paid is as good.
    assert_eq!(wallet.fulfil(&request).await.unwrap().paid.unwrap().preimage, paid.preimage);
    assert_eq!(crate::payments::next_answer(&mut service).await.1.status, PaymentStatus::Approved);
    assert_eq!(world.user_account().balance(), before - 5_005_000);
    let mut app = App::connect(&world.nwc_url()).await;
    assert_eq!(app.result(Method::LookupInvoice, json!({"invoice": invoice})).await["state"], "settled");
    assert!(world.lightning().books().are_right());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join("lightning.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}
