//! The small world of `usher dev`.

use usher_sandbox::dev::{DevError, DevWorld};
use usher_sandbox::wallet::{Policy, WalletFile};

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
