//! The service with a Lightning node inside, and the network around it.

use std::path::PathBuf;

use ldk_node::lightning_invoice::Bolt11Invoice;
use serde_json::{Value, json};
use usher_lightning_network::Network;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::wallet::{Identity, Policy, RequestContent, Wallet, WalletOptions};
use usher_testing::relay::QuirkyRelay;

use crate::harness::{Api, Builder, Event, LONG, TestUsher, User, introduce, now, until};

pub(super) struct Fixture {
    pub(super) network: Network,
    pub(super) usher: TestUsher,
    _relay: QuirkyRelay,
}

impl Fixture {
    /// A payment that opens a channel: half of its capacity is the service's afterwards.
    pub(super) const FIRST: u64 = 150_000_000;

    /// Starts everything, and waits for the node.
    pub(super) async fn open() -> Self {
        let fixture = Self::open_on(Network::start_copy().await.unwrap(), bitcoind).await;
        fixture.until_node_runs().await;
        fixture
    }

    /// Starts the service on this network, with a chain source; does not wait for the node.
    pub(super) async fn open_on(network: Network, chain: impl FnOnce(Builder, &Network) -> Builder) -> Self {
        let provider = format!("{}@{}", network.provider.id(), network.provider.address());
        let builder = TestUsher::builder()
            .set("WALLET__LN_BACKEND", "embedded")
            .set("WALLET__NETWORK", "regtest")
            .set("WALLET__EMBEDDED__MNEMONIC", "abandon ".repeat(11) + "about")
            .set("WALLET__EMBEDDED__API_KEY", Network::TOKEN)
            .set("WALLET__EMBEDDED__LIQUIDITY_PROVIDER", provider);
        let (relay, usher) = chain(builder, &network).start_at_relay().await;
        Self { network, usher, _relay: relay }
    }

    pub(super) fn api(&self) -> Api {
        self.usher.api()
    }

    /// The node's own data.
    pub(super) fn folder(&self) -> PathBuf {
        self.usher.data_dir().join("lightning")
    }

    /// Starts it after a kill, or kills it and starts it again.
    pub(super) async fn crash(&mut self) {
        self.usher.restart().await;
        self.until_node_runs().await;
    }

    /// Waits until the operator is not warned any more that the node waits for its chain source.
    pub(super) async fn until_node_runs(&self) {
        until("running node", async || {
            let node = self.node().await;
            let mut warnings = node["warnings"].as_array()?.iter();
            let waits = warnings.any(|warning| warning["code"] == "not_running" || warning["code"] == "not_synced");
            (!waits).then_some(())
        })
        .await;
    }

    pub(super) async fn node(&self) -> Value {
        self.api().get("/wallet/info").await.unwrap_or_default()["node"].clone()
    }

    /// What the service can pay, in millisats.
    pub(super) async fn balance(&self) -> u64 {
        let info = self.api().get("/wallet/info").await.unwrap_or_default();
        info["balance"].as_u64().unwrap_or(0)
    }

    /// A user who has logged in, and whose wallet replies to nothing by itself.
    pub(super) async fn user(&self) -> Wallet {
        let wallet = Wallet::start(WalletOptions::new(Identity::generate()).policy(Policy::silent())).await;
        let api = self.api();
        let handshake = api.handshake(json!({})).await;
        introduce(&api, &wallet, &handshake, User::Once).await;
        wallet
    }

    /// Asks a user for a payment; the stream.
    pub(super) async fn ask(&self, user: &Wallet, amount: u64) -> String {
        let body = json!({
            "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Coffee", "amount": amount,
            "currency": "millisats", "expires_at": now() + 300,
        });
        self.api().start("/payments/single", &body).await
    }

    /// A payment of so much, from the request to the user to the proof of it; the events.
    pub(super) async fn receive(&self, user: &Wallet, amount: u64) -> Vec<Event> {
        let stream = self.ask(user, amount).await;
        let invoice = requested_invoice(user).await;
        self.network.payer.pay(&bolt11(&invoice)).await.unwrap();
        self.api().finished(&stream).await
    }

    /// Receives the payment that opens a channel, and waits until the service can pay over it.
    pub(super) async fn fund(&self) {
        let user = self.user().await;
        self.receive(&user, Self::FIRST).await;
        self.network.mine(6).await.unwrap();
        self.until_balance().await;
    }

    /// Waits until the service can pay.
    pub(super) async fn until_balance(&self) {
        until("usable channel", async || self.balance().await > 0).await;
    }
}

/// The chain source is a bitcoind.
pub(super) fn bitcoind(builder: Builder, network: &Network) -> Builder {
    let rpc = network.chain.rpc();
    builder
        .set("WALLET__EMBEDDED__BITCOIND__HOST", rpc.host)
        .set("WALLET__EMBEDDED__BITCOIND__PORT", rpc.port)
        .set("WALLET__EMBEDDED__BITCOIND__RPC_USER", rpc.user)
        .set("WALLET__EMBEDDED__BITCOIND__RPC_PASSWORD", rpc.password)
}

pub(super) async fn requested_invoice(user: &Wallet) -> Invoice {
    let request = user.next_request(LONG).await.expect("a request");
    match &request.content {
        RequestContent::Payment(asked) => asked.invoice.parse().expect("an invoice"),
        other => panic!("{other:?}"),
    }
}

pub(super) fn bolt11(invoice: &Invoice) -> Bolt11Invoice {
    invoice.as_str().parse().unwrap()
}
