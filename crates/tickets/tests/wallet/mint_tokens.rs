//! The token of an operator's mint: requests that no caller makes have it too, also after a restart.

use std::time::Duration;

use usher_engine::ports::{
    MintAuthToken, MintTerms, SettingStore as _, TicketStore as _, TicketWallet as _, TokenState,
};
use usher_mint::{MintOptions, Rotation};

use crate::fixture::{World, id, minted, refusal, until};

const RIGHT: &str = "open sesame";

fn terms(world: &World, amount: u64, token: &str) -> MintTerms {
    MintTerms { auth: Some(MintAuthToken(token.to_owned())), ..world.mint_terms("sat", amount) }
}

async fn stored(world: &World) -> String {
    world.store.setting("mint_tokens").await.unwrap().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_that_the_mint_accepted_last_is_used_after_a_restart() {
    let world = World::with(MintOptions::new().auth_token(RIGHT)).await;
    let wallet = world.wallet().await;
    assert!(wallet.mint(id(), &terms(&world, 9, "wrong"), None).await.is_err());
    assert_eq!(stored(&world).await, "", "the mint has accepted none");
    let token = minted(wallet.mint(id(), &terms(&world, 9, RIGHT), None).await);
    let kept = stored(&world).await;
    // A wrong one does not take its place.
    assert!(wallet.mint(id(), &terms(&world, 9, "wrong"), None).await.is_err());
    assert_eq!(stored(&world).await, kept);
    wallet.close().await;

    let wallet = world.wallet().await;
    assert_eq!(wallet.token_state(&token).await.unwrap(), TokenState::Unspent);
    // So has a caller who names none, but not for minting.
    world.redeem(&wallet, &token, "sat", 9).await;
    wallet.withdraw(id(), &world.withdraw_terms("sat", 4), None).await.unwrap();
    refusal(wallet.mint(id(), &world.mint_terms("sat", 1), None).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proofs_are_renewed_after_a_restart() {
    let world = World::with(MintOptions::new().auth_token(RIGHT)).await;
    let wallet = world.wallet().await;
    let token = minted(wallet.mint(id(), &terms(&world, 9, RIGHT), None).await);
    world.redeem(&wallet, &token, "sat", 9).await;
    wallet.close().await;
    let before = world.store.free_proofs(&world.url, "sat", 10).await.unwrap();
    world.mint.rotate_keyset("sat", Rotation::default()).await.unwrap();
    let wallet = world.wallet_with(|options| options.maintenance_interval = Duration::from_millis(100)).await;
    let renewed = async || {
        let proofs = world.store.free_proofs(&world.url, "sat", 10).await.unwrap();
        // While they are exchanged, none is free.
        !proofs.is_empty() && !proofs.iter().any(|proof| before.contains(proof))
    };
    until("renewed", renewed).await;
    wallet.close().await;
    assert_eq!(world.balance(&world.wallet().await, "sat").await, 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_replaced_is_forgotten_and_none_is_shown() {
    // This mint accepts any token.
    let world = World::new().await;
    let wallet = world.wallet().await;
    for token in ["first-token", "second-token"] {
        minted(wallet.mint(id(), &terms(&world, 1, token), None).await);
        assert!(stored(&world).await.contains(token));
    }
    assert!(!stored(&world).await.contains("first-token"));
    assert!(!format!("{wallet:?}").contains("token\""));
    // What is damaged is replaced by the next token.
    world.store.set_setting("mint_tokens", Some("[1")).await.unwrap();
    wallet.close().await;
    let wallet = world.wallet().await;
    let token = minted(wallet.mint(id(), &terms(&world, 1, "third-token"), None).await);
    assert_eq!(wallet.token_state(&token).await.unwrap(), TokenState::Unspent);
    assert!(stored(&world).await.contains("third-token"));
}
