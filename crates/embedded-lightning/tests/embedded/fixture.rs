//! A network, and the node under test.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ldk_node::lightning_invoice::Bolt11Invoice;
use serde_json::{Value, json};
use tempfile::TempDir;
use usher_embedded_lightning::{ChainAccess, ChainSource, EmbeddedLightning, LiquidityProvider, Options, Tip};
use usher_engine::ports::{
    InvoiceStatus, Lightning as _, LightningNode as _, LightningNotification, LightningNotifications, NodeState,
    OutgoingPaymentStatus, SignedPayment, SystemClock, WantedInvoice,
};
use usher_lightning_network::{Fees, Network, PaymentStatus, RpcAccess};
use usher_protocol::bolt11::Invoice;
pub(crate) use usher_testing::until;

/// Longer than anything takes on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) const MNEMONIC: &str =
    "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

pub(crate) struct Fixture {
    pub(crate) network: Network,
    pub(crate) folder: TempDir,
    pub(crate) backend: Arc<EmbeddedLightning>,
    pub(crate) notifications: LightningNotifications,
}

/// What a node needs to know of the network, in a form that another process can be given.
pub(crate) struct Setup {
    pub(crate) folder: PathBuf,
    pub(crate) chain: RpcAccess,
    pub(crate) provider: Option<String>,
}

/// What the node asks of the chain beside the library.
struct Rpc(RpcAccess);

impl Rpc {
    async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let client = reqwest::Client::builder().timeout(LONG).build().map_err(|error| error.to_string())?;
        let request = client
            .post(format!("http://{}:{}", self.0.host, self.0.port))
            .json(&json!({"method": method, "params": params, "id": 1}));
        let response = request.send().await.map_err(|error| error.to_string())?;
        let mut reply: Value = response.json().await.map_err(|error| error.to_string())?;
        match reply["error"]["message"].as_str() {
            Some(problem) => Err(problem.to_owned()),
            None => Ok(reply["result"].take()),
        }
    }
}

#[async_trait]
impl ChainAccess for Rpc {
    async fn tip(&self) -> Result<Tip, String> {
        let info = self.call("getblockchaininfo", json!([])).await?;
        let height = info["blocks"].as_u64().and_then(|height| height.try_into().ok()).ok_or("no height")?;
        Ok(Tip { network: usher_protocol::bolt11::Network::Regtest, height })
    }

    async fn publish(&self, transaction: &[u8]) -> Result<(), String> {
        let published = self.call("sendrawtransaction", json!([hex::encode(transaction)])).await.map(drop);
        published.or_else(|problem| if problem.contains("already in ") { Ok(()) } else { Err(problem) })
    }

    async fn fee_rate(&self) -> Result<f64, String> {
        let rate = self.call("estimatesmartfee", json!([6])).await?["feerate"].as_f64().ok_or("no fee rate")?;
        Ok(rate * 100_000.0)
    }
}

impl Setup {
    pub(crate) fn of(network: &Network, folder: &Path) -> Self {
        let provider = format!("{}@{}", network.provider.id(), network.provider.address());
        Self { folder: folder.to_path_buf(), chain: network.chain.rpc(), provider: Some(provider) }
    }

    pub(crate) fn options(&self) -> Options {
        let token = Some(Network::TOKEN.to_owned());
        Options {
            folder: self.folder.clone(),
            network: usher_protocol::bolt11::Network::Regtest,
            mnemonic: MNEMONIC.to_owned(),
            chain: ChainSource::Bitcoind {
                host: self.chain.host.clone(),
                port: self.chain.port,
                user: self.chain.user.clone(),
                password: self.chain.password.clone(),
            },
            provider: self.provider.as_ref().map(|text| LiquidityProvider::new(text, token).unwrap()),
            max_fee_percent: 5,
            max_opening_fee_percent: 50,
            chain_access: Some(Arc::new(Rpc(self.chain.clone()))),
            recover: false,
            settings: None,
        }
    }

    pub(crate) async fn start(&self) -> (Arc<EmbeddedLightning>, LightningNotifications) {
        EmbeddedLightning::start(self.options(), Arc::new(SystemClock)).await.unwrap()
    }
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::start_with(Fees::default()).await
    }

    pub(crate) async fn start_with(fees: Fees) -> Self {
        let (network, folder) = (Network::start_copy_with(fees).await.unwrap(), TempDir::new().unwrap());
        let (backend, notifications) = Setup::of(&network, folder.path()).start().await;
        let fixture = Self { network, folder, backend, notifications };
        fixture.until_connected().await;
        fixture
    }

    /// The first payment opens a channel; half of its capacity is the node's afterwards.
    pub(crate) async fn start_funded() -> Self {
        let mut fixture = Self::start().await;
        fixture.fund().await;
        fixture
    }

    /// Receives a payment that opens a channel.
    pub(crate) async fn fund(&mut self) {
        let invoice = self.backend.make_invoice(&wanted(150_000_000)).await.unwrap();
        self.network.payer.pay(&bolt11(&invoice)).await.unwrap();
        self.network.mine(6).await.unwrap();
        self.until_channel_is_usable().await;
    }

    pub(crate) async fn until_connected(&self) {
        let connecting = async {
            while !self.backend.status().connected || !knows_the_chain(&self.backend).await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(LONG, connecting).await.expect("a started node in time");
    }

    /// Waits until a payment could be sent.
    pub(crate) async fn until_channel_is_usable(&self) {
        until_balance(&self.backend, 1).await;
    }

    pub(crate) async fn restart(&mut self) {
        self.release_folder().await;
        self.start_again().await;
    }

    /// Stops the node, so that another process can use its folder.
    pub(crate) async fn release_folder(&mut self) {
        self.backend.stop().await;
    }

    pub(crate) async fn start_again(&mut self) {
        (self.backend, self.notifications) = Setup::of(&self.network, self.folder.path()).start().await;
        self.until_connected().await;
    }

    /// Whether the channels can send so much.
    pub(crate) async fn has_balance(&self, amount: u64) -> bool {
        tokio::time::timeout(Duration::from_secs(5), until_balance(&self.backend, amount)).await.is_ok()
    }

    pub(crate) async fn notification(&mut self) -> LightningNotification {
        tokio::time::timeout(LONG, self.notifications.recv()).await.expect("a notification in time").expect("running")
    }

    pub(crate) async fn settlement(&mut self, invoice: &Invoice) -> usher_engine::ports::Settlement {
        loop {
            match self.notification().await {
                LightningNotification::Settled(hash, settlement) if hash == invoice.payment_hash() => {
                    return settlement;
                }
                _ => {}
            }
        }
    }
}

/// The chain is known once an invoice can be made, or is refused for another reason.
async fn knows_the_chain(backend: &EmbeddedLightning) -> bool {
    let made = backend.make_invoice(&wanted(1_000)).await;
    made.err().is_none_or(|error| !error.to_string().contains("chain source"))
}

/// Waits until the channels can send so much.
pub(crate) async fn until_balance(backend: &EmbeddedLightning, least: u64) {
    let looking = async {
        while backend.info().await.ok().and_then(|info| info.balance).unwrap_or(0) < least {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, looking).await.expect("balance in channels in time");
}

/// How many entries the library has stored in a node's folder.
pub(crate) fn stored(folder: &Path) -> usize {
    let store = rusqlite::Connection::open(folder.join("lightning.db")).unwrap();
    store.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap()
}

pub(crate) async fn until_state(fixture: &Fixture, what: &str, holds: impl Fn(&NodeState) -> bool) {
    until(what, async || holds(&fixture.backend.state().await.unwrap())).await;
}

/// Follows a payment until it has ended, and mines so many blocks a second meanwhile, in case its channel was closed.
pub(crate) async fn follow(
    fixture: &Fixture,
    invoice: &Invoice,
    payment: &SignedPayment,
    blocks_per_second: usize,
) -> OutgoingPaymentStatus {
    for round in 0..200 {
        for _ in 0..10 {
            let status = fixture.backend.look_up_payment(invoice.payment_hash(), Some(payment)).await.unwrap();
            if status != OutgoingPaymentStatus::Pending {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // What needs blocks in time has had them: the rest waits for a time lock.
        let blocks = if round < 10 { blocks_per_second } else { 12 * blocks_per_second };
        fixture.network.mine(blocks).await.unwrap();
    }
    OutgoingPaymentStatus::Pending
}

/// Waits until a payer's payment has ended, while blocks come, and compares: the invoice is settled if and only if the payer
/// has paid, and with what the payer paid.
pub(crate) async fn assert_same_as_payer(fixture: &Fixture, invoice: &Invoice, what: &str) {
    let (payer, hash) = (&fixture.network.payer, invoice.payment_hash());
    for _ in 0..300 {
        let there = payer.payment(*hash.as_bytes());
        let here = fixture.backend.look_up_invoice(hash).await.unwrap();
        match (there.map(|payment| payment.status), here) {
            (Some(PaymentStatus::Succeeded), InvoiceStatus::Settled(settlement)) => {
                let received = settlement.amount.map(|amount| amount + settlement.skimmed_fee);
                assert_eq!(received, there.and_then(|payment| payment.amount), "{what}");
                return;
            }
            // It never left the payer, or came back.
            (None | Some(PaymentStatus::Failed), here) => {
                assert_eq!(here, InvoiceStatus::Open, "{what}: not paid there");
                return;
            }
            // If the channel was closed, the payment ends on the chain.
            (Some(PaymentStatus::Pending | PaymentStatus::Succeeded), _) => fixture.network.mine(1).await.unwrap(),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!(
        "{what}: {:?} there, {:?} here",
        payer.payment(*hash.as_bytes()),
        fixture.backend.look_up_invoice(hash).await
    );
}

pub(crate) fn wanted(amount: u64) -> WantedInvoice {
    WantedInvoice {
        amount,
        description: "two teas, très chaud".to_owned(),
        hashed: None,
        is_for_anybody: false,
        expiry: 600,
    }
}

/// The invoice in the library's form, and back.
pub(crate) fn bolt11(invoice: &Invoice) -> Bolt11Invoice {
    Bolt11Invoice::from_str(invoice.as_str()).unwrap()
}

pub(crate) fn invoice(bolt11: &Bolt11Invoice) -> Invoice {
    bolt11.to_string().parse().unwrap()
}
