//! The balance comes back with the service's key alone.

use usher_engine::ports::{TicketError, TicketWallet as _, TokenState};
use usher_mint::{KeysetVersion, MintOptions, Rotation};
use usher_tickets::RestoreError;

use crate::fixture::{KEY, World, id, new_store, wallet_on};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_balance_is_restored_and_what_others_hold_is_not() {
    for version in [KeysetVersion::V1, KeysetVersion::V2] {
        let world = World::with(MintOptions::new().keysets(version)).await;
        let wallet = world.wallet().await;
        world.fund(&wallet, "sat", 1023).await;
        world.fund(&wallet, "multi", 3).await;
        // More than a batch of tokens that are handed out, between proofs of the wallet's own.
        let held = world.token(&wallet, "sat", (1 << 20) - 1).await;
        for _ in 0..15 {
            world.token(&wallet, "sat", (1 << 10) - 1).await;
        }
        world.mint.rotate_keyset("sat", Rotation::default()).await.unwrap();
        let wallet_again = world.wallet().await;
        world.fund(&wallet_again, "sat", 77).await;
        let withdrawn = wallet_again.withdraw(id(), &world.withdraw_terms("sat", 100)).await.unwrap();
        let refused = wallet_again.restore(&world.url, None).await;
        assert!(matches!(refused, Err(RestoreError::InUse(_))), "{refused:?}");

        // The database is lost.
        let (store, _folder) = new_store();
        let restored = wallet_on(&store, &KEY, |_| {}).await;
        let unrestored = restored.mint(id(), &world.mint_terms("multi", 1)).await;
        let told = matches!(&unrestored, Err(TicketError::Refused(text)) if text.contains("usher tickets restore"));
        assert!(told, "{unrestored:?}");
        let report = restored.restore(&world.url, None).await.unwrap();
        let amounts: Vec<_> = report.iter().map(|unit| (unit.unit.as_str(), unit.amount)).collect();
        assert_eq!(amounts, [("multi", 3), ("sat", 1000)]);
        assert!(report.iter().all(|unit| unit.handed_out > 0 && unit.pending == 0));
        assert_eq!(world.balance(&restored, "sat").await, 1000);
        // A second time it changes nothing.
        assert_eq!(restored.restore(&world.url, None).await.unwrap(), []);
        assert_eq!(world.balance(&restored, "sat").await, 1000);
        // What was restored can be spent, and new secrets are new.
        for token in [held, withdrawn] {
            assert_eq!(restored.token_state(&token).await.unwrap(), TokenState::Unspent);
        }
        restored.withdraw(id(), &world.withdraw_terms("sat", 1000)).await.unwrap();
        world.token(&restored, "multi", 3).await;
        let refused = restored.restore(&world.url, None).await;
        assert!(matches!(refused, Ok(ref nothing) if nothing.is_empty()), "{refused:?}");
    }
}
