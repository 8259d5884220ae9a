//! Nutshell's mint and wallet, and its wallet at our mint.

use usher_mint::nutshell::{NutshellMint, NutshellWallet};
use usher_mint::{Mint, MintOptions};

#[tokio::test]
async fn the_wallet_mints_sends_and_receives_at_the_mint() {
    let folder = tempfile::tempdir().unwrap();
    let mut mint = NutshellMint::start(folder.path().join("mint"), 0).await.unwrap();
    let alice = NutshellWallet::new(folder.path().join("alice"), mint.url());
    let bob = NutshellWallet::new(folder.path().join("bob"), mint.url());
    alice.mint(100).await.unwrap();
    let token = alice.send(30).await.unwrap();
    mint.restart().await.unwrap();
    bob.receive(&token).await.unwrap();
    assert_eq!((alice.balance().await.unwrap(), bob.balance().await.unwrap()), (70, 30));
    assert!(bob.receive(&token).await.is_err());
}

#[tokio::test]
async fn the_wallet_uses_our_mint() {
    let folder = tempfile::tempdir().unwrap();
    // It cannot read the description of a mint with a unit that it does not know.
    let mint = Mint::start(MintOptions::new().units(["sat"])).await.unwrap();
    let wallet = NutshellWallet::new(folder.path().join("wallet"), mint.url());
    wallet.mint(64).await.unwrap();
    let token = wallet.send(21).await.unwrap();
    assert_eq!(wallet.balance().await.unwrap(), 43);
    NutshellWallet::new(folder.path().join("other"), mint.url()).receive(&token).await.unwrap();
    assert_eq!(mint.totals("sat").await.unwrap().outstanding(), 64);
}
