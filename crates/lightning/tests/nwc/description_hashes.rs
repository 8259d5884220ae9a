//! Invoices with the hash of a description, of wallets that treat `description_hash` in different ways.

use nostr::hashes::{Hash as _, sha256};
use serde_json::{Value, json};
use usher_engine::ports::{Lightning as _, WantedInvoice};
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork};

use crate::fixture::wanted;
use crate::scripted_wallet::ScriptedWallet;

const METADATA: &str = "[[\"text/plain\",\"One coffee\"]]";

/// What a wallet puts into an invoice; `None`: it refuses.
type Wallet = fn(&Value) -> Option<InvoiceTerms>;

fn hashed() -> InvoiceTerms {
    let hash = sha256::Hash::hash(METADATA.as_bytes()).to_byte_array();
    InvoiceTerms { description_hash: Some(hash), ..InvoiceTerms::of(10_000) }
}

fn described(params: &Value) -> InvoiceTerms {
    InvoiceTerms::of(10_000).described(params["description"].as_str().unwrap_or_default().to_owned())
}

/// Asks twice; returns the fields of each request, and the last invoice's hash and description.
async fn asked_twice(wallet: Wallet) -> (Vec<String>, (bool, Option<String>)) {
    let (_scripted, client, mut wire) = ScriptedWallet::connected().await;
    let shop = LightningNetwork::new().open_account("shop", 0);
    let description = "One coffee".to_owned();
    let wanted = WantedInvoice { description, hashed: Some(METADATA.to_owned()), ..wanted(10_000) };
    let asking = async {
        client.backend.make_invoice(&wanted).await.unwrap();
        client.backend.make_invoice(&wanted).await.unwrap()
    };
    tokio::pin!(asking);
    let mut seen = Vec::new();
    loop {
        tokio::select! {
            made = &mut asking => {
                let has_hash = made.description_hash().copied() == hashed().description_hash;
                return (seen, (has_hash, made.description().map(str::to_owned)));
            }
            request = wire.request() => {
                let names = ["description", "description_hash"];
                let names = names.into_iter().filter(|name| request.params.get(name).is_some()).collect::<Vec<_>>();
                seen.push(names.join(" "));
                let response = match wallet(&request.params) {
                    Some(terms) => json!({"result": {"invoice": shop.make_invoice(&terms).unwrap().as_str()}}),
                    None => json!({"error": {"code": "OTHER", "message": "no"}}),
                };
                let answer = wire.answer_to(&request, &response);
                wire.event(&answer).await;
            }
        }
    }
}

#[tokio::test]
async fn every_wallet_is_asked_for_what_it_can_make_and_that_is_remembered() {
    // A node of LDK, or phoenixd: with both, it drops the hash.
    let drops: Wallet = |params| Some(if params.get("description").is_some() { described(params) } else { hashed() });
    let computes: Wallet = |params| Some(if params["description"] == METADATA { hashed() } else { described(params) });
    let refuses: Wallet = |params| (params["description"] == METADATA).then(hashed);
    let both = "description description_hash";
    for (wallet, expected) in [
        (drops, &["description_hash", "description_hash"][..]),
        (computes, &["description_hash", both, both]),
        (refuses, &["description_hash", both, both]),
    ] {
        let (asked, made) = asked_twice(wallet).await;
        assert_eq!(asked, expected);
        assert_eq!(made, (true, None), "{expected:?}");
    }
    let (asked, made) = asked_twice(|params| Some(described(params))).await;
    assert_eq!(asked.len(), 4, "three times, and then it is remembered");
    assert_eq!(asked[2..], ["description", "description"]);
    assert_eq!(made, (false, Some("One coffee".to_owned())), "payers read the words");
}
