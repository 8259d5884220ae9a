//! The whole life of tickets between the service and a user's wallet, at our own mint and at nutshell's: minted, sent and
//! received, asked for and redeemed, sent to nobody and reclaimed. Nutshell's wallet spends what is withdrawn at the end.

use serde_json::{Value, json};
use usher_engine::ports::Token;
use usher_mint::nutshell::{NutshellMint, NutshellWallet};
use usher_mint::{Mint, MintOptions};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{Identity, KnownMint, Policy, Secret, Tickets, Wallet, WalletOptions};

use super::fixture::{AUTH, key};
use crate::harness::{Api, Event, LONG, TestUsher};

struct Life<'a> {
    api: Api,
    mint_url: &'a str,
    unit: &'a str,
    auth: Option<&'a str>,
}

impl Life<'_> {
    /// Posts these fields and those of the mint, with a key of its own.
    async fn post(&self, path: &str, fields: Value) -> Value {
        let mut body = json!({ "mint_url": self.mint_url, "unit": self.unit, "static_token": self.auth });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let (response, _) = self.api.post_once(path, &key(), &body).await.unwrap_or_else(|e| panic!("{path}: {e:?}"));
        response
    }

    async fn mint(&self, amount: u64) -> Value {
        self.post("/cashu/mint", json!({ "amount": amount })).await["token"].clone()
    }

    /// Starts something with this user; the last event of its stream.
    async fn start(&self, path: &str, user: &str, mut fields: Value) -> Event {
        fields["main_key"] = json!(user);
        fields["subkeys"] = json!([]);
        let started = self.post(path, fields).await;
        self.api.outcome(started["stream_id"].as_str().unwrap()).await
    }

    async fn balance(&self) -> u64 {
        let response = self.api.get("/cashu/balances").await.unwrap();
        response["balances"].as_array().unwrap().iter().map(|balance| balance["amount"].as_u64().unwrap()).sum()
    }
}

/// Afterwards the service holds 3 and the user 10 of 13; the mint says so, too, if it can be asked.
async fn live(mint_url: &str, unit: &str, auth: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let relay = EmbeddedRelay::start().await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).set("CASHU__ALLOW_PRIVATE_MINTS", true).start().await;
    let service = Life { api: usher.api(), mint_url, unit, auth };

    let tickets = Tickets::at(folder.path().join("user.db"), Keys::generate());
    if let Some(token) = auth {
        tickets.set_mints(&[KnownMint { mint_url: mint_url.to_owned(), auth_token: Secret(token.to_owned()) }]);
    }
    let policy = Policy { receive_tickets: true, ..Policy::auto_approve() };
    let options = WalletOptions::new(Identity::generate()).relay(relay.url()).policy(policy).holding(tickets.clone());
    let wallet = Wallet::start(options).await;
    let handshake = service.api.handshake(json!({})).await;
    wallet.open(&handshake.url, LONG).await.unwrap();
    let user = wallet.main_key().to_hex();

    // Sent, and received by the user.
    let token = service.mint(13).await;
    let received = service.start("/cashu/send-direct", &user, json!({ "token": token })).await;
    assert_eq!((received.kind.as_str(), received.status()), ("CashuResponse", "success"));
    assert_eq!(service.api.get("/cashu/outgoing").await.unwrap()["outgoing"], json!([]));

    // Asked for: redeemed by the app, or at once.
    let given = service.start("/cashu/request", &user, json!({ "amount": 2 })).await;
    assert_eq!((given.kind.as_str(), given.status(), &given.data["amount"]), ("CashuResponse", "success", &json!(2)));
    let burned = service.post("/cashu/burn", json!({ "token": given.data["token"] })).await;
    assert_eq!(burned["amount"], 2);
    let redeemed = service.start("/cashu/request", &user, json!({ "amount": 1, "redeem": true })).await;
    assert_eq!((redeemed.status(), &redeemed.data["amount"]), ("success", &json!(1)));
    assert_eq!(redeemed.data["token"], Value::Null);
    assert_eq!(service.balance().await, 3);
    let too_much = service.start("/cashu/request", &user, json!({ "amount": 1_000 })).await;
    assert_eq!(too_much.status(), "insufficient_funds");

    // Sent to somebody without a wallet, and taken back.
    let nobody = Keys::generate().public_key().to_hex();
    let token = service.post("/cashu/withdraw", json!({ "amount": 3 })).await["token"].clone();
    let body = json!({ "main_key": nobody, "subkeys": [], "token": token });
    let sent = service.post("/cashu/send-direct", body).await;
    let stream = sent["stream_id"].as_str().unwrap();
    let outgoing = &service.api.get("/cashu/outgoing").await.unwrap()["outgoing"];
    assert_eq!((&outgoing[0]["stream_id"], &outgoing[0]["amount"]), (&json!(stream), &json!(3)));
    assert_eq!(service.post(&format!("/cashu/outgoing/{stream}/reclaim"), json!({})).await["amount"], 3);
    assert_eq!(service.balance().await, 3);
    let held: u64 = tickets.balances().await.unwrap().iter().map(|balance| balance.amount).sum();
    assert_eq!(held, 10);
    wallet.stop().await;

    // Another program's wallet spends it, and makes what the service burns. It knows no tokens of mints, and needs a unit of its own.
    if auth.is_none() && unit == "sat" {
        let nutshell = NutshellWallet::new(folder.path().join("nutshell"), mint_url);
        let token = service.post("/cashu/withdraw", json!({ "amount": 3 })).await["token"].clone();
        nutshell.receive(token.as_str().unwrap()).await.unwrap();
        assert_eq!(nutshell.balance().await.unwrap(), 3);
        let token = nutshell.send(1).await.unwrap();
        assert_eq!(service.post("/cashu/burn", json!({ "token": token })).await["amount"], 1);
        assert!(nutshell.receive(&token).await.is_err(), "we have it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_go_from_hand_to_hand() {
    let mint = Mint::start(MintOptions::new().auth_token(AUTH)).await.unwrap();
    live(&mint.url(), "multi", Some(AUTH)).await;
    assert_eq!(mint.totals("multi").await.unwrap().outstanding(), 13);
    mint.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_go_from_hand_to_hand_at_nutshells_mint() {
    let folder = tempfile::tempdir().unwrap();
    let mint = NutshellMint::start(folder.path(), 0).await.unwrap();
    live(&mint.url(), "sat", None).await;
}

/// `amount` is what the service gets after the mint's fee, which the user's wallet pays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_user_pays_the_fee_of_nutshells_mint() {
    let folder = tempfile::tempdir().unwrap();
    let mint = NutshellMint::start(folder.path(), 100).await.unwrap();
    let relay = EmbeddedRelay::start().await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).set("CASHU__ALLOW_PRIVATE_MINTS", true).start().await;
    let service = Life { api: usher.api(), mint_url: &mint.url(), unit: "sat", auth: None };
    let tickets = Tickets::at(folder.path().join("user.db"), Keys::generate());
    let token = service.mint(40).await;
    let held = tickets.receive(&Token(token.as_str().unwrap().to_owned())).await.unwrap().amount;
    assert_eq!(held, 39);
    let options = WalletOptions::new(Identity::generate()).relay(relay.url()).policy(Policy::auto_approve());
    let wallet = Wallet::start(options.holding(tickets)).await;
    let handshake = service.api.handshake(json!({})).await;
    wallet.open(&handshake.url, LONG).await.unwrap();
    let user = wallet.main_key().to_hex();

    let given = service.start("/cashu/request", &user, json!({ "amount": 8 })).await;
    assert_eq!((given.status(), &given.data["amount"]), ("success", &json!(8)));
    let burned = service.post("/cashu/burn", json!({ "token": given.data["token"] })).await;
    assert_eq!(burned["amount"], 7, "the mint takes a fee again");
    let redeemed = service.start("/cashu/request", &user, json!({ "amount": 8, "redeem": true })).await;
    assert_eq!((redeemed.status(), &redeemed.data["amount"]), ("success", &json!(8)));
    wallet.stop().await;
}
