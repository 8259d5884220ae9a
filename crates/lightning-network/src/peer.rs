//! A node of the network that is not under test.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ldk_node::bitcoin::secp256k1::PublicKey;
use ldk_node::lightning::ln::channelmanager::PaymentId;
use ldk_node::lightning::ln::msgs::SocketAddress;
use ldk_node::lightning_invoice::{Bolt11Invoice, Bolt11InvoiceDescription, Description};
use ldk_node::lightning_types::payment::PaymentHash;
use ldk_node::liquidity::LSPS2ServiceConfig;
use ldk_node::payment::{PaymentDetails, PaymentDirection, PaymentKind, PaymentStatus};
use ldk_node::{Builder, Event, Node};
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::chain_source::RpcAccess;

/// How long to wait for what a healthy network does at once.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A Lightning node that listens on a loopback port.
pub struct Peer {
    node: Arc<Node>,
    address: SocketAddress,
    claimable: Arc<Mutex<HashSet<PaymentHash>>>,
    events: AbortHandle,
}

/// An invoice of a peer, or a payment by it.
#[derive(Clone, Copy, Debug)]
pub struct PeerPayment {
    pub incoming: bool,
    pub status: PaymentStatus,
    /// Millisats, without the fee; `None` for an open invoice that leaves it to the payer.
    pub amount: Option<u64>,
    /// What the peer paid for the route, in millisats.
    pub fee: u64,
    /// Proof of payment, once it is paid.
    pub preimage: Option<[u8; 32]>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.events.abort();
        let _ = self.node.stop();
    }
}

impl Peer {
    /// Starts a node; with `service`, one that opens channels on demand (LSPS2).
    pub async fn start(folder: &Path, chain: &RpcAccess, service: Option<LSPS2ServiceConfig>) -> anyhow::Result<Self> {
        let (folder, chain) = (folder.to_path_buf(), chain.clone());
        let (node, address) = tokio::task::spawn_blocking(move || start_node(&folder, &chain, service)).await??;
        let node = Arc::new(node);
        let claimable = Arc::new(Mutex::new(HashSet::new()));
        let (handled, arrived) = (Arc::clone(&node), Arc::clone(&claimable));
        #[expect(clippy::disallowed_methods, reason = "the task lives as long as the peer, which ends it")]
        let events = tokio::spawn(async move {
            loop {
                if let Event::PaymentClaimable { payment_hash, .. } = handled.next_event_async().await {
                    arrived.lock().insert(payment_hash);
                }
                if handled.event_handled().is_err() {
                    break;
                }
            }
        });
        Ok(Self { node, address, claimable, events: events.abort_handle() })
    }

    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    pub fn id(&self) -> PublicKey {
        self.node.node_id()
    }

    pub fn address(&self) -> SocketAddress {
        self.address.clone()
    }

    /// Connects to another peer, and keeps connecting to it.
    pub(crate) async fn connect(&self, peer: &Self) -> anyhow::Result<()> {
        let (node, id, address) = (Arc::clone(&self.node), peer.id(), peer.address());
        Ok(tokio::task::spawn_blocking(move || node.connect(id, address, true)).await??)
    }

    /// Closes the connection to another peer, and forgets its address.
    pub(crate) async fn forget(&self, peer: &Self) -> anyhow::Result<()> {
        let (node, id) = (Arc::clone(&self.node), peer.id());
        Ok(tokio::task::spawn_blocking(move || node.disconnect(id)).await??)
    }

    /// Processes the blocks that were mined.
    pub async fn sync(&self) -> anyhow::Result<()> {
        let node = Arc::clone(&self.node);
        Ok(tokio::task::spawn_blocking(move || node.sync_wallets()).await??)
    }

    /// Makes an invoice, in millisats.
    pub fn invoice(&self, amount: u64, expiry: u32) -> anyhow::Result<Bolt11Invoice> {
        self.described_invoice(amount, "test", expiry)
    }

    pub fn described_invoice(&self, amount: u64, description: &str, expiry: u32) -> anyhow::Result<Bolt11Invoice> {
        let description = Bolt11InvoiceDescription::Direct(Description::new(description.to_owned())?);
        Ok(self.node.bolt11_payment().receive(amount, &description, expiry)?)
    }

    /// Makes an invoice whose payment is held until it is claimed or failed by hand.
    pub fn held_invoice(&self, amount: u64, preimage: [u8; 32]) -> anyhow::Result<Bolt11Invoice> {
        let description = Bolt11InvoiceDescription::Direct(Description::new("test".to_owned())?);
        let hash = PaymentHash::from(ldk_node::lightning_types::payment::PaymentPreimage(preimage));
        Ok(self.node.bolt11_payment().receive_for_hash(amount, &description, 3600, hash)?)
    }

    pub async fn begin_payment(&self, invoice: &Bolt11Invoice) -> anyhow::Result<()> {
        let (node, invoice) = (Arc::clone(&self.node), invoice.clone());
        tokio::task::spawn_blocking(move || node.bolt11_payment().send(&invoice, None)).await??;
        Ok(())
    }

    /// Pays an invoice and waits for the end.
    pub async fn pay(&self, invoice: &Bolt11Invoice) -> anyhow::Result<()> {
        self.begin_payment(invoice).await?;
        let status = self.outcome(invoice).await?;
        anyhow::ensure!(status == PaymentStatus::Succeeded, "the payment failed");
        Ok(())
    }

    /// Waits until a payment by this node has ended.
    pub async fn outcome(&self, invoice: &Bolt11Invoice) -> anyhow::Result<PaymentStatus> {
        let id = payment_id(invoice);
        let ended = |payment: PaymentDetails| (payment.status != PaymentStatus::Pending).then_some(payment.status);
        until("the end of a payment", || self.node.payment(&id).and_then(ended)).await
    }

    /// Waits until the payment of a held invoice has arrived and can be claimed or failed.
    pub async fn until_claimable(&self, hash: PaymentHash) -> anyhow::Result<()> {
        until("payment to claim", || self.claimable.lock().contains(&hash).then_some(())).await
    }

    pub fn is_paid(&self, invoice: &Bolt11Invoice) -> bool {
        self.node.payment(&payment_id(invoice)).is_some_and(|payment| payment.status == PaymentStatus::Succeeded)
    }

    /// An invoice of this node, or a payment by it, with this payment hash.
    pub fn payment(&self, hash: [u8; 32]) -> Option<PeerPayment> {
        let details = self.node.payment(&PaymentId(hash))?;
        let (PaymentKind::Bolt11 { preimage, .. } | PaymentKind::Bolt11Jit { preimage, .. }) = details.kind else {
            return None;
        };
        Some(PeerPayment {
            incoming: details.direction == PaymentDirection::Inbound,
            status: details.status,
            amount: details.amount_msat,
            fee: details.fee_paid_msat.unwrap_or(0),
            preimage: preimage.filter(|_| details.status == PaymentStatus::Succeeded).map(|preimage| preimage.0),
        })
    }

    /// What its channels can send, in millisats.
    pub fn outbound(&self) -> u64 {
        self.node.list_channels().iter().filter(|channel| channel.is_usable).map(|it| it.outbound_capacity_msat).sum()
    }

    /// How many channels can be used now.
    pub fn usable_channels(&self) -> usize {
        self.node.list_channels().iter().filter(|channel| channel.is_usable).count()
    }
}

/// Under which the library lists the payment of an invoice.
fn payment_id(invoice: &Bolt11Invoice) -> PaymentId {
    use ldk_node::bitcoin::hashes::Hash as _;
    PaymentId(invoice.payment_hash().to_byte_array())
}

pub(crate) async fn until<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let waiting = async {
        loop {
            if let Some(value) = value() {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.with_context(|| format!("no {what} within {TIMEOUT:?}"))
}

fn start_node(
    folder: &Path,
    chain: &RpcAccess,
    service: Option<LSPS2ServiceConfig>,
) -> anyhow::Result<(Node, SocketAddress)> {
    let port = usher_loopback_port::free()?;
    let address = SocketAddress::TcpIpV4 { addr: [127, 0, 0, 1], port };
    let mut builder = Builder::new();
    builder
        .set_network(ldk_node::bitcoin::Network::Regtest)
        .set_storage_dir_path(folder.to_string_lossy().into_owned())
        .set_chain_source_bitcoind_rpc(chain.host.clone(), chain.port, chain.user.clone(), chain.password.clone());
    builder.set_listening_addresses(vec![address.clone()])?;
    if let Some(service) = service {
        builder.set_liquidity_provider_lsps2(service);
    }
    let node = builder.build()?;
    node.start()?;
    Ok((node, address))
}
