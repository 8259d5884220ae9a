//! Nutshell, which knows nothing of us: its mint, and its wallet at its mint and at ours.

use serde_json::{Value, json};
use usher_mint::nutshell::{NutshellMint, NutshellWallet};
use usher_mint::{Mint, MintOptions};

use super::refused;
use crate::harness::{Api, CallError, TestUsher};

async fn service() -> TestUsher {
    TestUsher::builder().relays(&["ws://127.0.0.1:9"]).set("CASHU__ALLOW_PRIVATE_MINTS", true).start().await
}

struct Service<'a> {
    api: Api,
    mint_url: &'a str,
}

impl Service<'_> {
    async fn mint(&self, amount: u64) -> String {
        let body = json!({ "mint_url": self.mint_url, "unit": "sat", "amount": amount });
        let minted = self.api.post("/cashu/mint", &body).await.unwrap();
        minted["token"].as_str().unwrap().to_owned()
    }

    async fn burn(&self, token: &str) -> Result<Value, CallError> {
        let body = json!({ "mint_url": self.mint_url, "unit": "sat", "token": token });
        self.api.post("/cashu/burn", &body).await
    }
}

/// Its wallet spends what we minted, and makes what we burn.
async fn exchange(mint_url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let usher = service().await;
    let service = Service { api: usher.api(), mint_url };
    let wallet = NutshellWallet::new(folder.path().join("wallet"), mint_url);

    let token = service.mint(21).await;
    wallet.receive(&token).await.unwrap();
    assert_eq!(wallet.balance().await.unwrap(), 21);
    assert_eq!(refused(service.burn(&token).await), (409, "token_already_spent".to_owned()));

    let token = wallet.send(8).await.unwrap();
    assert_eq!(service.burn(&token).await.unwrap(), json!({ "amount": 8 }));
    assert!(wallet.receive(&token).await.is_err(), "we have it");
    let balances = service.api.get("/cashu/balances").await.unwrap();
    assert_eq!(balances["balances"], json!([{ "mint_url": mint_url, "unit": "sat", "amount": 8 }]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_wallet_spends_what_we_minted_and_makes_what_we_burn() {
    let mint = Mint::start(MintOptions::new().units(["sat"])).await.unwrap();
    exchange(&mint.url()).await;
    assert_eq!(mint.totals("sat").await.unwrap().outstanding(), 21);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_mint_and_its_wallet_work_with_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let mint = NutshellMint::start(folder.path(), 0).await.unwrap();
    exchange(&mint.url()).await;
}
