//! The wallet: each method of the port as one request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, InvoiceStatus, Lightning, LightningError, LightningNotices, OutgoingStatus, PaidInvoice, SettingStore,
    SignedPayment, WalletInfo, WalletLink, WantedInvoice,
};
use usher_nostr_connection::{Dialer, web_tls};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::client::{Client, LOOK_UP, Request};
use super::connection_uri::{ConnectionUri, InvalidConnectionUri};
use super::encryption::Cipher;
use super::lookup_reliability::LookupReliability;
use super::relay_task::{self, Shared};

/// Requests that wait for one relay: more than are without an answer at the same time.
const QUEUE: usize = 128;

/// Events that wait to be read.
const HEARD: usize = 256;

/// Notices that wait for the engine.
const NOTICES: usize = 1024;

/// How far ahead the clock of a wallet or relay may be that is asked for something else than a payment: what it does late
/// does no harm.
const CLOCKS_DIFFER: Duration = Duration::from_secs(120);

/// How long a connection is waited for before a request counts as not sent.
const REACH: Duration = Duration::from_secs(5);

/// How long when somebody waits for an invoice.
const REACH_FOR_INVOICE: Duration = Duration::from_secs(15);

/// How the wallet is asked.
#[derive(Clone, Debug)]
pub struct NwcOptions {
    /// Where it is.
    pub url: ConnectionUri,
    /// How long an answer is waited for. Less than the 25 s after which an operation asks again.
    pub patience: Duration,
    /// How much longer than the wallet may act on it the answer to a payment is waited for.
    pub grace: Duration,
    /// Replaces TCP; `None` outside simulations.
    pub dialer: Option<Arc<dyn Dialer>>,
    /// Where it is kept what the wallet's look-ups are worth.
    pub settings: Settings,
}

/// Where an adapter keeps what it has learned; by default nowhere, and it is learned anew after each start.
#[derive(Clone, Default)]
pub struct Settings(pub Option<Arc<dyn SettingStore>>);

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Settings").field(&self.0.is_some()).finish()
    }
}

impl NwcOptions {
    /// With the usual patience.
    pub fn new(url: ConnectionUri) -> Self {
        Self {
            url,
            patience: Duration::from_secs(20),
            grace: Duration::from_secs(5),
            dialer: None,
            settings: Settings::default(),
        }
    }
}

/// A wallet that speaks Nostr Wallet Connect.
pub struct NwcBackend {
    client: Arc<Client>,
    clock: Arc<dyn Clock>,
    patience: Duration,
    grace: Duration,
    lookup_reliability: Arc<LookupReliability>,
    tasks: TaskTracker,
}

impl fmt::Debug for NwcBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NwcBackend").finish_non_exhaustive()
    }
}

impl NwcBackend {
    /// Starts the connections on `tasks` and returns at once, whether the wallet can be reached or not; they end when
    /// `stop` is cancelled.
    ///
    /// # Errors
    /// When the wallet's key is not a point of the curve, or TLS cannot be set up.
    pub fn start(
        options: NwcOptions,
        clock: Arc<dyn Clock>,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, LightningNotices), InvalidConnectionUri> {
        let NwcOptions { url, patience, grace, dialer, settings } = options;
        let lookup_reliability = Arc::new(LookupReliability::of(&url, settings.0));
        let cipher = Cipher::new(url.keys.secret_key(), url.wallet).map_err(|_| InvalidConnectionUri)?;
        let tls = web_tls().map_err(|_| InvalidConnectionUri)?;
        let (heard, hearing) = mpsc::channel(HEARD);
        let (notices, noticed) = mpsc::channel(NOTICES);
        let addresses = url.relays.clone();
        let shared = Arc::new(Shared {
            url,
            clock: Arc::clone(&clock),
            up: watch::Sender::new(vec![false; addresses.len()]),
            heard,
            stop,
            tls,
            dialer,
            timing: relay_task::timing(),
        });
        let mut relays = Vec::new();
        for (index, address) in addresses.into_iter().enumerate() {
            let (queue, outgoing) = mpsc::channel(QUEUE);
            tasks.spawn(relay_task::run(Arc::clone(&shared), index, address, outgoing));
            relays.push(queue);
        }
        let client = Arc::new(Client::new(shared, cipher, relays));
        let (reading, watching, noting) = (Arc::clone(&client), Arc::clone(&client), Arc::clone(&client));
        let told = notices.clone();
        tasks.spawn(async move { reading.read(hearing, notices).await });
        tasks.spawn(async move { watching.watch(told).await });
        tasks.spawn(async move { noting.watch_connections().await });
        Ok((Arc::new(Self { client, clock, patience, grace, lookup_reliability, tasks: tasks.clone() }), noticed))
    }

    fn call<'a>(&self, method: &'a str, params: Value) -> Request<'a> {
        let until = self.clock.now().plus(self.patience).plus(CLOCKS_DIFFER).secs();
        let (patience, reach) = (self.patience, REACH.min(self.patience));
        Request { method, params, until, patience, reach, repeats: true }
    }

    async fn ask(&self, method: &str, params: Value) -> Result<super::Response, LightningError> {
        self.client.ask(&self.call(method, params)).await
    }

    async fn look_up(&self, hash: PaymentHash) -> Result<super::Response, LightningError> {
        self.ask(LOOK_UP, json!({ "payment_hash": hash.to_string() })).await
    }

    /// Learns from a payment that has arrived what a look-up of it is worth. Nobody waits for that.
    fn learn(&self, hash: PaymentHash) {
        if !self.lookup_reliability.should_try() {
            return;
        }
        let (client, lookup_reliability) = (Arc::clone(&self.client), Arc::clone(&self.lookup_reliability));
        let params = json!({ "payment_hash": hash.to_string() });
        let call = Request { repeats: false, ..self.call(LOOK_UP, params) };
        self.tasks.spawn(async move {
            let Ok(answer) = client.ask(&call).await else { return };
            match answer.outgoing_status(hash) {
                Ok(OutgoingStatus::Unknown(_)) => lookup_reliability.missed().await,
                Ok(_) => lookup_reliability.found(answer.finds()).await,
                Err(_) => {}
            }
        });
    }
}

#[async_trait]
impl Lightning for NwcBackend {
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError> {
        let params = json!({ "amount": wanted.amount, "description": wanted.description, "expiry": wanted.expiry });
        // Somebody waits for it, and it goes at once when there is a connection.
        let call = Request { reach: REACH_FOR_INVOICE.min(self.patience), ..self.call("make_invoice", params) };
        self.client.ask(&call).await?.invoice()
    }

    async fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        self.look_up(hash).await?.invoice_status(hash)
    }

    async fn prepare_payment(&self, invoice: &Invoice, until: u64) -> Result<SignedPayment, LightningError> {
        self.client.prepare_payment(invoice, until).await
    }

    async fn pay(
        &self,
        invoice: &Invoice,
        payment: &SignedPayment,
        again: bool,
    ) -> Result<PaidInvoice, LightningError> {
        let hash = invoice.payment_hash();
        let paid = self.client.pay(hash, payment, again, self.grace).await?;
        if paid.preimage.payment_hash() == hash {
            self.learn(hash);
        }
        Ok(paid)
    }

    async fn look_up_payment(
        &self,
        hash: PaymentHash,
        asked: Option<&SignedPayment>,
    ) -> Result<OutgoingStatus, LightningError> {
        // Of what another wallet was asked this one says nothing.
        let asked = asked.and_then(|payment| Some((self.client.signed(payment)?.id, payment.until)));
        if let Some((request, _)) = asked {
            self.client.expect(request, hash);
        }
        let answer = self.look_up(hash).await?;
        let status = answer.outgoing_status(hash)?;
        match (&status, asked) {
            // By its own clock, too, it does not act on the request any more.
            (OutgoingStatus::Unknown(_), Some((_, until))) if answer.is_after(until) => {
                return Ok(OutgoingStatus::Unknown(self.lookup_reliability.finds().await));
            }
            (OutgoingStatus::Paid(paid), _) if paid.preimage.payment_hash() != hash => {}
            (OutgoingStatus::Paid(_) | OutgoingStatus::Pending | OutgoingStatus::Failed, _) => {
                self.lookup_reliability.found(answer.finds()).await;
            }
            (OutgoingStatus::Unknown(_), _) => {}
        }
        Ok(status)
    }

    async fn info(&self) -> Result<WalletInfo, LightningError> {
        let (info, balance) = tokio::join!(self.ask("get_info", json!({})), self.ask("get_balance", json!({})));
        let balance = balance.and_then(|answer| answer.balance());
        let info = info.and_then(|answer| answer.info());
        match (info, balance) {
            (Ok(info), balance) => Ok(WalletInfo { balance: balance.ok(), ..info }),
            (Err(_), Ok(balance)) => {
                let methods = self.client.announcement().map(|announced| announced.methods).unwrap_or_default();
                Ok(WalletInfo { alias: None, network: None, balance: Some(balance), methods })
            }
            (Err(failure), Err(_)) => Err(failure),
        }
    }

    fn link(&self) -> WalletLink {
        let tells_settlements = self.client.announcement().is_some_and(|announced| announced.sends_notifications);
        WalletLink { connected: self.client.is_up(), tells_settlements }
    }
}
