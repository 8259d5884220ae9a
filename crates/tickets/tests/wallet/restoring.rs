//! The balance comes back with the service's key alone.

use std::collections::HashSet;

use usher_engine::ports::{TicketWallet as _, TokenState};
use usher_mint::{KeysetVersion, MintOptions, Rotation};
use usher_testing::mint::{FaultyMint, MintRoute};
use usher_tickets::{CashuWallet, SecretsOf};

use crate::fixture::{KEY, World, faulty_world, id, new_store, refuse, wallet_on};

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
        let withdrawn = wallet_again.withdraw(id(), &world.withdraw_terms("sat", 100), None).await.unwrap();
        // The record lacks nothing.
        assert_eq!(added(&wallet_again, &world).await, []);
        assert_eq!(world.balance(&wallet_again, "sat").await, 1000);

        // The database is lost. Without the balance the service goes on, and uses no secret a second time.
        let (store, _folder) = new_store();
        let restored = wallet_on(&store, &KEY, |_| {}).await;
        let other = world.token(&restored, "multi", 1).await;
        assert_eq!(added(&restored, &world).await, [("multi".to_owned(), 3), ("sat".to_owned(), 1000)]);
        assert_eq!(world.balance(&restored, "sat").await, 1000);
        // A second time it changes nothing.
        assert_eq!(added(&restored, &world).await, []);
        assert_eq!(world.balance(&restored, "sat").await, 1000);
        // What was restored can be spent, and new secrets are new.
        for token in [held, withdrawn, other] {
            assert_eq!(restored.token_state(&token).await.unwrap(), TokenState::Unspent);
        }
        restored.withdraw(id(), &world.withdraw_terms("sat", 1000), None).await.unwrap();
        world.token(&restored, "multi", 3).await;
        assert_eq!(added(&restored, &world).await, []);
    }
}

async fn added(wallet: &CashuWallet, world: &World) -> Vec<(String, u64)> {
    let report = wallet.restore(&world.url, &SecretsOf::ThisAddress, None).await.unwrap();
    assert!(report.iter().all(|unit| unit.pending == 0), "{report:?}");
    report.into_iter().filter(|unit| unit.amount > 0).map(|unit| (unit.unit, unit.amount)).collect()
}

/// The copy lacks what came since, and its counters are behind: no secret is used twice, and the balance can be completed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_copy_of_the_database_uses_no_secret_twice() {
    let world = World::new().await;
    let wallet = world.wallet().await;
    world.fund(&wallet, "sat", 50).await;
    wallet.close().await;
    let (copy, _folder) = world.copy_of_store();
    let wallet = world.wallet().await;
    let mut tokens = Vec::new();
    for _ in 0..12 {
        tokens.push(world.token(&wallet, "sat", 1023).await);
    }
    world.fund(&wallet, "sat", 700).await;
    wallet.close().await;

    // The same process may still hold the mint's state; this wallet is a new one, as after a restart.
    let old = wallet_on(&copy, &KEY, |_| {}).await;
    assert_eq!(world.balance(&old, "sat").await, 50);
    for _ in 0..12 {
        tokens.push(world.token(&old, "sat", 1023).await);
    }
    let mut secrets = HashSet::new();
    for token in &tokens {
        let parsed: cashu::TokenV4 = token.0.parse().unwrap();
        for proof in parsed.token.iter().flat_map(|part| &part.proofs) {
            assert!(secrets.insert(proof.secret.to_string()), "one ticket was handed out twice");
        }
        assert_eq!(old.token_state(token).await.unwrap(), TokenState::Unspent);
    }
    assert_eq!(added(&old, &world).await, [("sat".to_owned(), 700)]);
    old.withdraw(id(), &world.withdraw_terms("sat", 750), None).await.unwrap();
    assert_eq!(world.totals("sat").await.outstanding(), 24 * 1023 + 750);
}

/// Counters that were never signed hide those behind them from the look-up: the mint's refusal shows them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_in_the_counters_of_an_old_copy_costs_no_ticket() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.wallet().await;
    world.fund(&wallet, "sat", 15).await;
    wallet.close().await;
    let (copy, _folder) = world.copy_of_store();
    let wallet = world.wallet().await;
    // 5 proofs each, which the mint refuses.
    proxy.set(MintRoute::Swap, refuse(400, 0));
    for _ in 0..12 {
        assert!(wallet.withdraw(id(), &world.withdraw_terms("sat", 15), None).await.is_err());
    }
    proxy.heal();
    let token = world.token(&wallet, "sat", 1023).await;
    wallet.close().await;

    let old = wallet_on(&copy, &KEY, |_| {}).await;
    let mut held = 1023;
    for _ in 0..12 {
        let minted = world.token(&old, "sat", 1023).await;
        held += 1023;
        assert_eq!(old.token_state(&minted).await.unwrap(), TokenState::Unspent);
    }
    assert_eq!(old.token_state(&token).await.unwrap(), TokenState::Unspent);
    assert_eq!(world.totals("sat").await.outstanding(), held + 15);
}

/// The secrets follow from the address under which the service used the mint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mint_that_has_moved_is_restored_with_its_former_address() {
    let mut world = World::new().await;
    let wallet = world.wallet().await;
    world.fund(&wallet, "sat", 1023).await;
    world.token(&wallet, "sat", 1).await;
    wallet.close().await;
    let proxy = FaultyMint::start(world.url.clone()).await.unwrap();
    let former = std::mem::replace(&mut world.url, proxy.url());

    let (store, _folder) = new_store();
    let anew = wallet_on(&store, &KEY, |_| {}).await;
    let nothing = anew.restore(&world.url, &SecretsOf::ThisAddress, None).await.unwrap();
    assert!(nothing.iter().all(|unit| unit.amount == 0 && unit.handed_out == 0), "{nothing:?}");
    let secrets = SecretsOf::FormerAddress(format!("{former}/"));
    let found = anew.restore(&world.url, &secrets, None).await.unwrap();
    assert_eq!(found.iter().map(|unit| unit.amount).sum::<u64>(), 1023);
    assert_eq!(world.balance(&anew, "sat").await, 1023);
    // The mint is usable at its new address, with new secrets.
    anew.withdraw(id(), &world.withdraw_terms("sat", 500), None).await.unwrap();
    assert_eq!(world.balance(&anew, "sat").await, 523);
}
