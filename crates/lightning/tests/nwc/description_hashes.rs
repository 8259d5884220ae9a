//! Invoices with the hash of a description, of wallets that treat `description_hash` in different ways.

use nostr::hashes::{Hash as _, sha256};
use serde_json::{Value, json};
use usher_engine::ports::{Lightning as _, WantedInvoice};
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork};

use crate::backend_under_test::{BackendHandle, LONG};
use crate::scripted_wallet::ScriptedWallet;

const METADATA: &str = "[[\"text/plain\",\"One coffee\"]]";

fn hash() -> [u8; 32] {
    sha256::Hash::hash(METADATA.as_bytes()).to_byte_array()
}

/// What a wallet puts into an invoice; `None`: it refuses.
type Wallet = fn(&Value) -> Option<InvoiceTerms>;

fn hashed() -> InvoiceTerms {
    InvoiceTerms { description_hash: Some(hash()), ..InvoiceTerms::of(10_000) }
}

fn described(params: &Value) -> InvoiceTerms {
    InvoiceTerms::of(10_000).described(params["description"].as_str().unwrap_or_default().to_owned())
}

/// Asks twice; returns the fields of each request, and the last invoice's hash and description.
async fn asked_twice(wallet: Wallet) -> (Vec<Vec<String>>, (bool, Option<String>)) {
    let scripted = ScriptedWallet::start().await;
    let client = BackendHandle::start_with(&scripted.url(), LONG);
    let mut wire = scripted.subscribed().await;
    client.until(true).await;
    let shop = LightningNetwork::new().open_account("shop", 0);
    let wanted = WantedInvoice {
        amount: 10_000,
        description: "One coffee".to_owned(),
        hashed: Some(METADATA.to_owned()),
        is_for_anybody: false,
        expiry: 300,
    };
    let asking = async {
        client.backend.make_invoice(&wanted).await.unwrap();
        client.backend.make_invoice(&wanted).await.unwrap()
    };
    tokio::pin!(asking);
    let mut seen = Vec::new();
    loop {
        tokio::select! {
            made = &mut asking => {
                let shown = made.description().map(str::to_owned);
                return (seen, (made.description_hash() == Some(&hash()), shown));
            }
            request = wire.request() => {
                let params = request.params.clone();
                let names = ["description", "description_hash"].into_iter().filter(|name| params.get(name).is_some());
                seen.push(names.map(str::to_owned).collect());
                match wallet(&params) {
                    Some(terms) => {
                        let invoice = shop.make_invoice(&terms).unwrap();
                        wire.answer(&request, &json!({"type": "incoming", "invoice": invoice.as_str()})).await;
                    }
                    None => {
                        let error = json!({"code": "OTHER", "message": "no"});
                        let answer = wire.answer_to(&request, &json!({"result_type": "make_invoice", "error": error}));
                        wire.event(&answer).await;
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn the_hash_alone_is_asked_for_first() {
    // A node of LDK, or phoenixd: with both, it drops the hash.
    let wallet: Wallet = |params| Some(if params.get("description").is_some() { described(params) } else { hashed() });
    let (asked, made) = asked_twice(wallet).await;
    assert_eq!(asked, [["description_hash"], ["description_hash"]]);
    assert_eq!(made, (true, None));
}

#[tokio::test]
async fn a_wallet_that_computes_the_hash_gets_the_text() {
    let ignores: Wallet = |params| Some(if params["description"] == METADATA { hashed() } else { described(params) });
    let both: Vec<String> = vec!["description".to_owned(), "description_hash".to_owned()];
    let (asked, made) = asked_twice(ignores).await;
    assert_eq!(asked, [vec!["description_hash".to_owned()], both.clone(), both.clone()], "it is remembered");
    assert_eq!(made, (true, None));
    let refuses: Wallet = |params| (params["description"] == METADATA).then(hashed);
    assert_eq!(
        asked_twice(refuses).await,
        (vec![vec!["description_hash".to_owned()], both.clone(), both], (true, None))
    );
}

#[tokio::test]
async fn of_a_wallet_that_knows_no_hashes_payers_read_the_words() {
    let (asked, made) = asked_twice(|params| Some(described(params))).await;
    assert_eq!(asked.len(), 4, "three times, and then it is remembered");
    assert_eq!(asked[2..], [["description"], ["description"]]);
    assert_eq!(made, (false, Some("One coffee".to_owned())));
}
