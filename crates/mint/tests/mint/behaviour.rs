//! The mint over HTTP, as a wallet sees it.

use std::sync::Arc;
use std::time::Duration;

use cashu::dhke::construct_proofs;
use cashu::nuts::{BlindSignature, Id, KeySet, KeysResponse, PreMintSecrets, Proofs};
use cashu::{Amount, amount::SplitTarget};
use parking_lot::Mutex;
use reqwest::StatusCode;
use serde_json::{Value, json};
use usher_mint::{InvoiceSource, KeysetVersion, Mint, MintOptions, QuotePayment, Rotation};

/// How long anything may take before a test gives up.
const TIMEOUT: Duration = Duration::from_secs(120);

struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<&'static str>,
}

impl Client {
    fn new(mint: &Mint) -> Self {
        let http = reqwest::Client::builder().timeout(TIMEOUT).build().unwrap();
        Self { http, base: mint.url(), token: None }
    }

    const fn with_token(mut self, token: &'static str) -> Self {
        self.token = Some(token);
        self
    }

    async fn send(&self, mut request: reqwest::RequestBuilder) -> (StatusCode, Value) {
        if let Some(token) = self.token {
            request = request.header("Clear-auth", token);
        }
        let response = request.send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(self.http.get(format!("{}{path}", self.base))).await
    }

    async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        self.send(self.http.post(format!("{}{path}", self.base)).json(body)).await
    }

    async fn keys(&self, unit: &str) -> KeySet {
        let keys: KeysResponse = serde_json::from_value(self.get("/v1/keys").await.1).unwrap();
        keys.keysets.into_iter().find(|keys| keys.unit.to_string() == unit).expect("the unit has keys")
    }

    async fn quote(&self, amount: u64, unit: &str) -> Value {
        let (status, quote) = self.post("/v1/mint/quote/bolt11", &json!({ "amount": amount, "unit": unit })).await;
        assert_eq!(status, StatusCode::OK, "{quote}");
        quote
    }

    async fn state(&self, quote: &Value) -> String {
        let (_, quote) = self.get(&format!("/v1/mint/quote/bolt11/{}", quote["quote"].as_str().unwrap())).await;
        quote["state"].as_str().unwrap().to_owned()
    }

    /// Issues a paid quote.
    async fn issue(&self, quote: &Value, amount: u64, keys: &KeySet) -> Proofs {
        let secrets = outputs(keys, amount);
        let body = json!({ "quote": quote["quote"], "outputs": secrets.blinded_messages() });
        let (status, response) = self.post("/v1/mint/bolt11", &body).await;
        assert_eq!(status, StatusCode::OK, "{response}");
        proofs(&response, &secrets, keys)
    }

    async fn mint(&self, amount: u64, unit: &str) -> Proofs {
        let keys = self.keys(unit).await;
        self.issue(&self.quote(amount, unit).await, amount, &keys).await
    }

    async fn swap(&self, inputs: &Proofs, amount: u64, keys: &KeySet) -> (StatusCode, Value) {
        let secrets = outputs(keys, amount);
        self.post("/v1/swap", &json!({ "inputs": inputs, "outputs": secrets.blinded_messages() })).await
    }
}

fn outputs(keys: &KeySet, amount: u64) -> PreMintSecrets {
    let fee_and_amounts = (0, keys.keys.iter().map(|(amount, _)| u64::from(*amount)).collect()).into();
    PreMintSecrets::random(keys.id, Amount::from(amount), &SplitTarget::None, &fee_and_amounts).unwrap()
}

fn proofs(response: &Value, secrets: &PreMintSecrets, keys: &KeySet) -> Proofs {
    let signatures: Vec<BlindSignature> = serde_json::from_value(response["signatures"].clone()).unwrap();
    assert!(signatures.iter().all(|signature| signature.dleq.is_some()));
    construct_proofs(signatures, secrets.rs(), secrets.secrets(), &keys.keys).unwrap()
}

#[tokio::test]
async fn quotes_are_paid_by_themselves_and_tokens_can_be_swapped_once() {
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let client = Client::new(&mint);
    for unit in ["sat", "multi"] {
        let proofs = client.mint(100, unit).await;
        let keys = client.keys(unit).await;
        assert_eq!(mint.totals(unit).await.unwrap().outstanding(), 100);
        assert_eq!(client.swap(&proofs, 100, &keys).await.0, StatusCode::OK);
        let (status, refused) = client.swap(&proofs, 100, &keys).await;
        assert_eq!((status, &refused["code"]), (StatusCode::BAD_REQUEST, &json!(11_001)), "{refused}");
        let totals = mint.totals(unit).await.unwrap();
        assert_eq!((totals.issued, totals.redeemed), (200, 100));
    }
}

#[tokio::test]
async fn a_repeated_swap_gets_no_cached_response() {
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let client = Client::new(&mint);
    let inputs = client.mint(8, "sat").await;
    let body = json!({ "inputs": inputs, "outputs": outputs(&client.keys("sat").await, 8).blinded_messages() });
    assert_eq!(client.post("/v1/swap", &body).await.0, StatusCode::OK);
    assert_eq!(client.post("/v1/swap", &body).await.0, StatusCode::BAD_REQUEST);
    let restored = client.post("/v1/restore", &json!({ "outputs": body["outputs"] })).await.1;
    assert_eq!(restored["signatures"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_static_token_is_asked_for_wherever_something_can_be_done() {
    let mint = Mint::start(MintOptions::new().auth_token("let me in")).await.unwrap();
    let client = Client::new(&mint);
    for path in ["/v1/info", "/v1/keys", "/v1/keysets"] {
        assert_eq!(client.get(path).await.0, StatusCode::OK, "{path}");
    }
    let body = json!({ "amount": 1, "unit": "sat" });
    let (status, refused) = client.post("/v1/mint/quote/bolt11", &body).await;
    assert_eq!((status, &refused["code"]), (StatusCode::UNAUTHORIZED, &json!(30_001)));
    let wrong = Client::new(&mint).with_token("let me in!");
    for path in ["/v1/mint/quote/bolt11", "/v1/mint/bolt11", "/v1/swap", "/v1/restore", "/v1/checkstate"] {
        let (status, refused) = wrong.post(path, &body).await;
        assert_eq!((status, &refused["code"]), (StatusCode::UNAUTHORIZED, &json!(30_002)), "{path}");
    }
    let proofs = Client::new(&mint).with_token("let me in").mint(3, "multi").await;
    assert_eq!(proofs.len(), 2);
}

#[tokio::test]
async fn the_static_token_can_be_required_for_minting_only() {
    let mint = Mint::start(MintOptions::new().auth_token("let me in").auth_only_for_minting()).await.unwrap();
    let operator = Client::new(&mint).with_token("let me in");
    let user = Client::new(&mint);
    let proofs = operator.mint(3, "multi").await;
    let quote = json!({"amount": 1, "unit": "multi"});
    assert_eq!(user.post("/v1/mint/quote/bolt11", &quote).await.0, StatusCode::UNAUTHORIZED);
    let ys: Vec<_> = proofs.iter().map(|proof| proof.y().unwrap()).collect();
    assert_eq!(user.post("/v1/checkstate", &json!({"Ys": ys})).await.0, StatusCode::OK);
    assert_eq!(user.swap(&proofs, 3, &user.keys("multi").await).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_manual_quote_waits_for_its_payment() {
    let mint = Mint::start(MintOptions::new().quotes(QuotePayment::Manual)).await.unwrap();
    let client = Client::new(&mint);
    let keys = client.keys("sat").await;
    for by_invoice in [true, false] {
        let quote = client.quote(21, "sat").await;
        assert_eq!(client.state(&quote).await, "UNPAID");
        let open = mint.open_quotes().await.unwrap();
        assert_eq!((open.len(), open[0].amount, open[0].unit.as_str()), (1, 21, "sat"));
        assert_eq!(quote["request"], open[0].request);
        let invoice: lightning_invoice::Bolt11Invoice = open[0].request.parse().unwrap();
        assert_eq!(invoice.amount_milli_satoshis(), Some(21_000));
        mint.pay_quote(if by_invoice { &open[0].request } else { &open[0].id }).await.unwrap();
        assert_eq!(client.state(&quote).await, "PAID");
        client.issue(&quote, 21, &keys).await;
    }
    assert_eq!(mint.open_quotes().await.unwrap(), []);
    assert!(mint.pay_quote("no such quote").await.is_err());
}

/// Invoices that are paid when the test says so.
#[derive(Default)]
struct Node {
    made: Mutex<Vec<(u64, bool)>>,
}

impl InvoiceSource for Node {
    fn make_invoice(&self, millisats: u64, _: &str, expiry_seconds: u64) -> anyhow::Result<String> {
        assert!(expiry_seconds > 0);
        let mut made = self.made.lock();
        made.push((millisats, false));
        Ok((made.len() - 1).to_string())
    }

    fn is_paid(&self, invoice: &str) -> bool {
        self.made.lock()[invoice.parse::<usize>().unwrap()].1
    }
}

#[tokio::test]
async fn a_quote_with_an_invoice_is_paid_soon_after_its_invoice() {
    let node = Arc::new(Node::default());
    let mint = Mint::start(MintOptions::new().quotes(QuotePayment::Invoices(node.clone()))).await.unwrap();
    let client = Client::new(&mint);
    let quote = client.quote(7, "sat").await;
    assert_eq!(client.state(&quote).await, "UNPAID");
    assert_eq!(*node.made.lock(), [(7_000, false)]);
    node.made.lock()[0].1 = true;
    // Well before the mint would ask again by itself.
    let deadline = std::time::Instant::now() + TIMEOUT;
    while client.state(&quote).await != "PAID" {
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client.issue(&quote, 7, &client.keys("sat").await).await;
}

#[tokio::test]
async fn a_folder_keeps_the_mint() {
    let folder = tempfile::tempdir().unwrap();
    let options = MintOptions::new().folder(folder.path().join("mint"));
    let mint = Mint::start(options.clone()).await.unwrap();
    let (address, client) = (mint.address(), Client::new(&mint));
    let proofs = client.mint(64, "multi").await;
    mint.stop().await;
    let mint = Mint::start(options.listen(address)).await.unwrap();
    assert_eq!(mint.totals("multi").await.unwrap().outstanding(), 64);
    assert_eq!(client.swap(&proofs, 64, &client.keys("multi").await).await.0, StatusCode::OK);
}

#[tokio::test]
async fn dropping_it_ends_it_with_its_connections() {
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let client = Client::new(&mint);
    client.get("/v1/info").await;
    let address = mint.address();
    drop(mint);
    let deadline = std::time::Instant::now() + TIMEOUT;
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        assert!(std::time::Instant::now() < deadline, "it still listens");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_rotated_keyset_signs_nothing_and_its_proofs_can_be_spent() {
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let client = Client::new(&mint);
    let (old, proofs) = (client.keys("sat").await, client.mint(16, "sat").await);
    let rotation = Rotation { input_fee_ppk: 1_000, version: KeysetVersion::V1, final_expiry: Some(4_000_000_000) };
    let id = mint.rotate_keyset("sat", rotation).await.unwrap();
    let new = client.keys("sat").await;
    assert_eq!((new.id, id.starts_with("00")), (id.parse::<Id>().unwrap(), true));
    let (status, refused) = client.swap(&proofs, 16, &old).await;
    assert_eq!((status, &refused["code"]), (StatusCode::BAD_REQUEST, &json!(12_002)), "{refused}");
    // The old keyset's inputs cost its own fee: nothing.
    assert_eq!(client.swap(&proofs, 16, &new).await.0, StatusCode::OK);
}

#[tokio::test]
async fn an_input_fee_is_required() {
    let mint = Mint::start(MintOptions::new().input_fee_ppk(100)).await.unwrap();
    let client = Client::new(&mint);
    let (keys, proofs) = (client.keys("sat").await, client.mint(100, "sat").await);
    let (status, refused) = client.swap(&proofs, 100, &keys).await;
    assert_eq!((status, &refused["code"]), (StatusCode::BAD_REQUEST, &json!(11_005)), "{refused}");
    assert_eq!(client.swap(&proofs, 99, &keys).await.0, StatusCode::OK);
    assert_eq!(mint.totals("sat").await.unwrap().outstanding(), 99);
}
