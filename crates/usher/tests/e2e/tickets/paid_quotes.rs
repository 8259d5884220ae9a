//! Mints that want to be paid: the Lightning backend pays them.

use std::sync::Arc;

use serde_json::json;
use usher_mint::{InvoiceSource, Mint, MintOptions, QuotePayment};
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork, NwcService};

use super::fixture::{Fixture, key};
use super::refused;
use crate::harness::LONG;

/// The mint's Lightning node.
struct Node(Account);

impl InvoiceSource for Node {
    fn make_invoice(&self, millisats: u64, description: &str, expiry_seconds: u64) -> anyhow::Result<String> {
        let terms = InvoiceTerms::of(millisats).described(description).for_seconds(expiry_seconds);
        Ok(self.0.make_invoice(&terms)?.as_str().to_owned())
    }

    fn is_paid(&self, invoice: &str) -> bool {
        let Ok(invoice) = invoice.parse::<usher_protocol::bolt11::Invoice>() else { return false };
        self.0.incoming(invoice.payment_hash()).is_some_and(|transaction| transaction.settled_at.is_some())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quote_is_paid_once_by_the_lightning_backend() {
    let network = LightningNetwork::new();
    let (shop, till) = (network.open_account("shop", 1_000_000), network.open_account("mint", 0));
    let relay = usher_sandbox::relay::EmbeddedRelay::start().await.unwrap();
    let nwc = NwcService::start(&shop, &[relay.url()]).await;
    nwc.ready(LONG).await.expect("the wallet listens");
    let source = Arc::new(Node(till.clone()));
    let mint = Mint::start(MintOptions::new().quotes(QuotePayment::Invoices(source))).await.unwrap();
    let fixture = Fixture::with(mint, |builder| {
        builder.set("WALLET__LN_BACKEND", "nwc").set("WALLET__NETWORK", "regtest").set("WALLET__NWC__URL", nwc.url())
    })
    .await;
    let body = json!({ "mint_url": fixture.mint.url(), "unit": "sat", "amount": 21 });
    let api = fixture.usher.api();
    let (minted, _) = api.post_once("/cashu/mint", "k", &body).await.unwrap();
    assert_eq!(till.balance(), 21_000, "paid");
    assert_eq!(api.post_once("/cashu/mint", "k", &body).await.unwrap(), (minted.clone(), true));
    assert_eq!(till.balance(), 21_000, "once");
    assert!(network.totals().add_up());
    let token = json!({ "mint_url": fixture.mint.url(), "unit": "sat", "token": minted["token"] });
    assert_eq!(fixture.post("/cashu/burn", &token).await.unwrap(), json!({ "amount": 21 }));

    // More than there is.
    let body = json!({ "mint_url": fixture.mint.url(), "unit": "sat", "amount": 5_000 });
    let refusal = api.post_once("/cashu/mint", &key(), &body).await.map(|(response, _)| response);
    assert_eq!(refused(refusal), (502, "wallet_error".to_owned()));
    assert_eq!(till.balance(), 21_000);
}
