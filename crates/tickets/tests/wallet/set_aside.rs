//! Own tickets that a mint calls spent, although the wallet has not spent them: they are set aside, and never lost.

use std::time::Duration;

use usher_engine::ports::{TicketError, TicketStore as _, TicketWallet as _, Token};
use usher_testing::mint::FaultyMint;
use usher_tickets::CashuWallet;

use crate::fixture::{World, balance, faulty_world, id, own_points, refusal, until};

/// A wallet with 63, of which the mint calls the largest spent.
async fn with_false_spent(world: &World, proxy: &FaultyMint, wallet: &CashuWallet) {
    world.fund(wallet, "multi", 63).await;
    proxy.hold(own_points(world, "multi").await.pop(), "SPENT");
    let reason = refusal(wallet.withdraw(id(), &world.withdraw_terms("multi", 40), None).await);
    assert_eq!(balance(wallet).await, (31, 32));
    assert!(reason.contains("set aside"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_mint_falsely_calls_spent_comes_back_when_it_says_otherwise() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.wallet().await;
    with_false_spent(&world, &proxy, &wallet).await;
    // It is in no balance, and cannot be withdrawn.
    let too_much = wallet.withdraw(id(), &world.withdraw_terms("multi", 32), None).await;
    assert!(matches!(too_much, Err(TicketError::InsufficientFunds { available: 31, .. })), "{too_much:?}");
    let out: Token = wallet.withdraw(id(), &world.withdraw_terms("multi", 20), None).await.unwrap();
    assert_eq!(balance(&wallet).await, (11, 32));
    // The mint insists: it stays where it is, also after a restart.
    let asked = wallet.check_set_aside().await.unwrap();
    assert_eq!((asked.returned.len(), asked.set_aside[0].set_aside), (0, 32));
    wallet.close().await;
    let wallet = world.wallet().await;
    assert_eq!(balance(&wallet).await, (11, 32));
    proxy.heal();
    let asked = wallet.check_set_aside().await.unwrap();
    assert_eq!((asked.returned[0].amount, asked.set_aside.len()), (32, 0));
    assert_eq!(balance(&wallet).await, (43, 0));
    wallet.withdraw(id(), &world.withdraw_terms("multi", 43), None).await.unwrap();
    assert_eq!(wallet.read_token(&out).unwrap().amount, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_mint_is_asked_again_from_time_to_time() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.wallet_with(|options| options.maintenance_interval = Duration::from_millis(300)).await;
    with_false_spent(&world, &proxy, &wallet).await;
    // A mint that is away, or says that they are being spent, changes nothing.
    let proofs = world.store.set_aside_proofs(None, 10).await.unwrap();
    assert_eq!(proofs.len(), 1);
    proxy.heal();
    until("back", async || balance(&wallet).await == (63, 0)).await;
}
