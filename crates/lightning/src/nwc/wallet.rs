//! The wallet: each method of the port as one request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, InvoiceStatus, Lightning, LightningError, LightningNotices, OutgoingStatus, PaidInvoice, Randomness,
    WalletInfo, WalletLink, WantedInvoice,
};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::cipher::Cipher;
use super::desk::{Desk, PAY};
use super::dialer::{Dialer, TcpDialer};
use super::relay::{self, Shared};
use super::url::{ConnectionUrl, NotAConnectionUrl};

/// Requests that wait for one relay: more than are without an answer at the same time.
const QUEUE: usize = 128;

/// Events that wait to be read.
const HEARD: usize = 256;

/// Notices that wait for the engine.
const NOTICES: usize = 1024;

/// How far ahead the clock of a wallet or relay may be that is asked for something else than a payment: what it does late
/// does no harm.
const CLOCKS_DIFFER: Duration = Duration::from_secs(120);

/// How the wallet is asked.
#[derive(Clone, Debug)]
pub struct NwcOptions {
    /// Where it is.
    pub url: ConnectionUrl,
    /// How long an answer is waited for. Less than the 25 s after which an operation asks again.
    pub patience: Duration,
    /// How much longer than the wallet may act on it the answer to a payment is waited for.
    pub grace: Duration,
    /// How connections to its relays are made.
    pub dialer: Arc<dyn Dialer>,
}

impl NwcOptions {
    /// With the usual patience.
    pub fn new(url: ConnectionUrl) -> Self {
        Self { url, patience: Duration::from_secs(20), grace: Duration::from_secs(5), dialer: Arc::new(TcpDialer) }
    }
}

/// A wallet that speaks Nostr Wallet Connect.
pub struct NwcWallet {
    desk: Arc<Desk>,
    clock: Arc<dyn Clock>,
    patience: Duration,
    grace: Duration,
}

impl fmt::Debug for NwcWallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NwcWallet").finish_non_exhaustive()
    }
}

impl NwcWallet {
    /// Starts the connections on `tasks` and returns at once, whether the wallet can be reached or not; they end when
    /// `stop` is cancelled.
    ///
    /// # Errors
    /// When the wallet's key is not a point of the curve, or TLS cannot be set up.
    pub fn start(
        options: NwcOptions,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, LightningNotices), NotAConnectionUrl> {
        let NwcOptions { url, patience, grace, dialer } = options;
        let cipher = Cipher::new(url.keys.secret_key(), url.wallet).map_err(|_| NotAConnectionUrl)?;
        let tls = Shared::tls().map_err(|_| NotAConnectionUrl)?;
        let (heard, hearing) = mpsc::channel(HEARD);
        let (notices, noticed) = mpsc::channel(NOTICES);
        let addresses = url.relays.clone();
        let shared = Arc::new(Shared {
            url,
            clock: Arc::clone(&clock),
            randomness,
            up: watch::Sender::new(vec![false; addresses.len()]),
            heard,
            stop,
            tls,
            dialer,
        });
        let mut relays = Vec::new();
        for (index, address) in addresses.into_iter().enumerate() {
            let (queue, outgoing) = mpsc::channel(QUEUE);
            tasks.spawn(relay::run(Arc::clone(&shared), index, address, outgoing));
            relays.push(queue);
        }
        let desk = Arc::new(Desk::new(shared, cipher, relays));
        let (reading, watching) = (Arc::clone(&desk), Arc::clone(&desk));
        let told = notices.clone();
        tasks.spawn(async move { reading.read(hearing, notices).await });
        tasks.spawn(async move { watching.watch(told).await });
        Ok((Arc::new(Self { desk, clock, patience, grace }), noticed))
    }

    async fn ask(&self, method: &str, params: serde_json::Value) -> Result<super::Answer, LightningError> {
        let until = self.clock.now().plus(self.patience).plus(CLOCKS_DIFFER).secs();
        self.desk.ask(method, &params, until, self.patience).await
    }
}

#[async_trait]
impl Lightning for NwcWallet {
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError> {
        let params = json!({ "amount": wanted.amount, "description": wanted.description, "expiry": wanted.expiry });
        self.ask("make_invoice", params).await?.invoice()
    }

    async fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        self.ask("lookup_invoice", json!({ "payment_hash": hash.to_string() })).await?.invoice_status(hash)
    }

    async fn pay(&self, invoice: &Invoice, until: u64) -> Result<PaidInvoice, LightningError> {
        let patience = Duration::from_secs(until.saturating_sub(self.clock.now().secs())).saturating_add(self.grace);
        let params = json!({ "invoice": invoice.as_str() });
        self.desk.ask(PAY, &params, until, patience).await?.paid()
    }

    async fn look_up_payment(&self, hash: PaymentHash) -> Result<OutgoingStatus, LightningError> {
        self.ask("lookup_invoice", json!({ "payment_hash": hash.to_string() })).await?.outgoing_status(hash)
    }

    async fn info(&self) -> Result<WalletInfo, LightningError> {
        let (info, balance) = tokio::join!(self.ask("get_info", json!({})), self.ask("get_balance", json!({})));
        let balance = balance.and_then(|answer| answer.balance());
        let info = info.and_then(|answer| answer.info());
        match (info, balance) {
            (Ok(info), balance) => Ok(WalletInfo { balance: balance.ok(), ..info }),
            (Err(_), Ok(balance)) => {
                let methods = self.desk.announcement().map(|announced| announced.methods).unwrap_or_default();
                Ok(WalletInfo { alias: None, network: None, balance: Some(balance), methods })
            }
            (Err(failure), Err(_)) => Err(failure),
        }
    }

    fn link(&self) -> WalletLink {
        let tells_settlements = self.desk.announcement().is_some_and(|announced| announced.tells_received);
        WalletLink { connected: self.desk.is_up(), tells_settlements }
    }
}
