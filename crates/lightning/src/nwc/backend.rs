//! The adapter of the port `Lightning`: one NIP-47 request per method.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use nostr::hashes::{Hash as _, sha256};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Clock, CompletedPayment, InvoiceStatus, Lightning, LightningError, LightningInfo, LightningNotifications,
    LightningStatus, OutgoingPaymentStatus, SettingStore, SignedPayment, WantedInvoice,
};
use usher_nostr_connection::{Dialer, WriteGate};
use usher_protocol::bolt11::{Invoice, MAX_DESCRIPTION_BYTES};
use usher_protocol::message::PaymentHash;
use usher_protocol::nwc::Cipher;

use super::client::{Client, LOOK_UP, Request, no_response};
use super::connection_uri::{ConnectionUri, InvalidConnectionUri};
use super::lookup_reliability::LookupReliability;
use super::relay_task::{self, Shared};
use super::response::Response;

/// Requests queued for one relay: more than may be without a response at a time.
const QUEUE: usize = 128;

/// Events that wait to be read.
const RECEIVED: usize = 256;

/// Notifications that wait for the engine.
const NOTIFICATIONS: usize = 1024;

/// How far ahead the clock of the backend or a relay may be. Used for requests other than payments, for which late
/// execution is harmless.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(120);

/// How long to wait for a connection before a request is reported as not sent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The same for an invoice, while a user waits.
const REACH_FOR_INVOICE: Duration = Duration::from_secs(15);

/// How the backend is reached.
#[derive(Clone, Debug)]
pub struct NwcOptions {
    /// The connection string.
    pub uri: ConnectionUri,
    /// How long to wait for a response: less than the 25 s after which an operation asks again.
    pub patience: Duration,
    /// How long to wait for the response to a payment after the request has expired for the backend.
    pub grace: Duration,
    /// Replaces TCP in simulations.
    pub dialer: Option<Arc<dyn Dialer>>,
    /// Whether anything may be sent; `None` means always.
    pub gate: Option<WriteGate>,
    /// Stores how reliable look-ups are.
    pub settings: Settings,
}

/// Where the adapter stores what it learns; by default nowhere, so that it learns again after each start.
#[derive(Clone, Default)]
pub struct Settings(pub Option<Arc<dyn SettingStore>>);

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Settings").field(&self.0.is_some()).finish()
    }
}

impl NwcOptions {
    /// The defaults.
    pub fn new(uri: ConnectionUri) -> Self {
        Self {
            uri,
            patience: Duration::from_secs(20),
            grace: Duration::from_secs(5),
            dialer: None,
            gate: None,
            settings: Settings::default(),
        }
    }
}

/// A Lightning backend that speaks Nostr Wallet Connect.
pub struct NwcBackend {
    client: Arc<Client>,
    clock: Arc<dyn Clock>,
    patience: Duration,
    grace: Duration,
    lookup_reliability: Arc<LookupReliability>,
    /// The form of requests for invoices with a description hash: see `make_hashed_invoice`.
    hash_form: AtomicUsize,
    tasks: TaskTracker,
}

usher_protocol::debug_shows!(NwcBackend {});

impl NwcBackend {
    /// Starts the connections on `tasks` and returns at once, whether or not the backend is reachable. They end when
    /// `stop` is cancelled.
    ///
    /// # Errors
    /// When the backend's key is not a point of the curve.
    pub fn start(
        options: NwcOptions,
        clock: Arc<dyn Clock>,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, LightningNotifications), InvalidConnectionUri> {
        let NwcOptions { uri, patience, grace, dialer, gate, settings } = options;
        let lookup_reliability = Arc::new(LookupReliability::of(&uri, settings.0));
        let cipher = Cipher::new(uri.keys.secret_key(), uri.backend).map_err(|_| InvalidConnectionUri)?;
        let (received, to_read) = mpsc::channel(RECEIVED);
        let (notifications, to_engine) = mpsc::channel(NOTIFICATIONS);
        let addresses = uri.relays.clone();
        let shared = Arc::new(Shared {
            uri,
            clock: Arc::clone(&clock),
            up: watch::Sender::new(vec![false; addresses.len()]),
            received,
            stop,
            dialer,
            gate,
            timing: relay_task::timing(),
        });
        let mut queues = Vec::new();
        for (index, address) in addresses.into_iter().enumerate() {
            let (queue, outgoing) = mpsc::channel(QUEUE);
            tasks.spawn(relay_task::run(Arc::clone(&shared), index, address, outgoing));
            queues.push(queue);
        }
        let stop = shared.stop.clone();
        let client = Arc::new(Client::new(shared, cipher, queues));
        let (reader, watcher, reporter) = (Arc::clone(&client), Arc::clone(&client), Arc::clone(&client));
        let reports = notifications.clone();
        let running = async move {
            tokio::join!(
                reader.read_events(to_read, notifications),
                watcher.watch_connections(),
                reporter.report_reconnections(reports),
            )
        };
        tasks.spawn(stop.run_until_cancelled_owned(running));
        let (hash_form, tasks) = (AtomicUsize::new(0), tasks.clone());
        Ok((Arc::new(Self { client, clock, patience, grace, lookup_reliability, hash_form, tasks }), to_engine))
    }

    fn request<'a>(&self, method: &'a str, params: Value) -> Request<'a> {
        let until = self.clock.now().plus(self.patience).plus(MAX_CLOCK_SKEW).secs();
        let (patience, reach) = (self.patience, CONNECT_TIMEOUT.min(self.patience));
        Request { method, params, until, patience, reach, repeats: true }
    }

    async fn call(&self, method: &str, params: Value) -> Result<Response, LightningError> {
        self.client.call(&self.request(method, params)).await
    }

    async fn look_up(&self, hash: PaymentHash) -> Result<Response, LightningError> {
        self.call(LOOK_UP, json!({ "payment_hash": hash.to_string() })).await
    }

    /// Requests an invoice while a user waits; the request is sent as soon as there is a connection.
    async fn ask_for_invoice(&self, params: Value) -> Result<Response, LightningError> {
        let request = Request { reach: REACH_FOR_INVOICE.min(self.patience), ..self.request("make_invoice", params) };
        self.client.call(&request).await
    }

    /// Requests an invoice with the hash of `text`, in the first form that this backend is not known to ignore. If it
    /// does not support hashes, the invoice has the plain description, for payers to read.
    async fn make_hashed_invoice(&self, wanted: &WantedInvoice, text: &str) -> Result<Invoice, LightningError> {
        let WantedInvoice { amount, description, expiry, .. } = wanted;
        let digest = sha256::Hash::hash(text.as_bytes());
        let hash = digest.to_string();
        let forms = [
            Some(json!({ "amount": amount, "description_hash": hash, "expiry": expiry })),
            // Some backends compute the hash from the text. Others drop the hash if they get both.
            (text.len() <= MAX_DESCRIPTION_BYTES)
                .then(|| json!({ "amount": amount, "description": text, "description_hash": hash, "expiry": expiry })),
            Some(json!({ "amount": amount, "description": description, "expiry": expiry })),
        ];
        let words = forms.len() - 1;
        let mut all_ignored = true;
        let mut last = Err(no_response());
        for (form, params) in forms.into_iter().enumerate().skip(self.hash_form.load(Ordering::Relaxed)) {
            let Some(params) = params else {
                all_ignored = false;
                continue;
            };
            last = self.ask_for_invoice(params).await?.invoice();
            match &last {
                Ok(invoice) if form == words || invoice.description_hash() == Some(digest.as_byte_array()) => {
                    if form != words || all_ignored {
                        self.hash_form.store(form, Ordering::Relaxed);
                    }
                    return last;
                }
                Ok(_) => {}
                Err(LightningError::Refused { again: true, .. }) => return last,
                Err(_) => all_ignored = false,
            }
        }
        last
    }

    /// Learns from a succeeded payment whether look-ups find it. Runs in the background.
    fn learn(&self, hash: PaymentHash) {
        if !self.lookup_reliability.should_try() {
            return;
        }
        let (client, lookup_reliability) = (Arc::clone(&self.client), Arc::clone(&self.lookup_reliability));
        let params = json!({ "payment_hash": hash.to_string() });
        let request = Request { repeats: false, ..self.request(LOOK_UP, params) };
        self.tasks.spawn(async move {
            let Ok(response) = client.call(&request).await else { return };
            match response.outgoing_status(hash) {
                Err(_) => {}
                Ok(status) if response.is_payees_side() || matches!(status, OutgoingPaymentStatus::Unknown(_)) => {
                    lookup_reliability.missed().await;
                }
                Ok(OutgoingPaymentStatus::Unproven) => {}
                Ok(_) => lookup_reliability.found(response.coverage()).await,
            }
        });
    }
}

#[async_trait]
impl Lightning for NwcBackend {
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError> {
        let WantedInvoice { amount, description, hashed, expiry, .. } = wanted;
        match hashed {
            Some(text) => self.make_hashed_invoice(wanted, text).await,
            None => {
                let params = json!({ "amount": amount, "description": description, "expiry": expiry });
                self.ask_for_invoice(params).await?.invoice()
            }
        }
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
    ) -> Result<CompletedPayment, LightningError> {
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
    ) -> Result<OutgoingPaymentStatus, LightningError> {
        // This backend proves nothing about a request to another one.
        let asked = asked.and_then(|payment| Some((self.client.signed(payment)?.id, payment.until)));
        if let Some((request, _)) = asked {
            self.client.expect(request, hash);
        }
        let response = self.look_up(hash).await?;
        let status = response.outgoing_status(hash)?;
        match (&status, asked) {
            // The request has expired by the backend's own clock, too.
            (OutgoingPaymentStatus::Unknown(_), Some((_, until)))
                if response.is_not_found() && response.is_after(until) =>
            {
                return Ok(OutgoingPaymentStatus::Unknown(self.lookup_reliability.coverage().await));
            }
            (OutgoingPaymentStatus::Paid(paid), _) if paid.preimage.payment_hash() != hash => {}
            (OutgoingPaymentStatus::Paid(_) | OutgoingPaymentStatus::Pending | OutgoingPaymentStatus::Failed, _) => {
                self.lookup_reliability.found(response.coverage()).await;
            }
            (OutgoingPaymentStatus::Unproven | OutgoingPaymentStatus::Unknown(_), _) => {}
        }
        Ok(status)
    }

    async fn info(&self) -> Result<LightningInfo, LightningError> {
        let (info, balance) = tokio::join!(self.call("get_info", json!({})), self.call("get_balance", json!({})));
        let balance = balance.and_then(|response| response.balance());
        let info = info.and_then(|response| response.info());
        match (info, balance) {
            (Ok(info), balance) => Ok(LightningInfo { balance: balance.ok(), ..info }),
            (Err(_), Ok(balance)) => {
                let methods = self.client.announcement().map(|announced| announced.methods).unwrap_or_default();
                Ok(LightningInfo { alias: None, network: None, balance: Some(balance), methods })
            }
            (Err(failure), Err(_)) => Err(failure),
        }
    }

    fn status(&self) -> LightningStatus {
        let sends_notifications = self.client.announcement().is_some_and(|announced| announced.sends_notifications);
        LightningStatus { connected: self.client.is_up(), sends_notifications }
    }
}
