//! A Lightning backend that does what a test says, on the clock of the test.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lightning_invoice::{Bolt11InvoiceDescription, Currency, Description, InvoiceBuilder, PaymentSecret, Sha256};
use nostr::hashes::{Hash as _, sha256};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, Preimage};

use super::{ManualClock, user};
use usher_engine::ports::{
    Clock as _, CompletedPayment, InvoiceStatus, Lightning, LightningError, LightningInfo, LightningNotification,
    LightningNotifications, LightningStatus, LookupCoverage, OutgoingPaymentStatus, Settlement, SignedPayment,
    WantedInvoice,
};

/// A backend that keeps its records over restarts of the engine.
#[derive(Default)]
pub struct FakeLightning {
    books: Mutex<Books>,
    stalls: watch::Sender<bool>,
}

#[derive(Default)]
struct Books {
    clock: Option<Arc<ManualClock>>,
    notifications: Option<mpsc::Sender<LightningNotification>>,
    made: Vec<Invoice>,
    settled: HashMap<PaymentHash, Preimage>,
    sent: HashMap<PaymentHash, u32>,
    look_ups: HashMap<PaymentHash, u32>,
    hangs: bool,
    held: Option<String>,
    pays_hang: bool,
    paid_late: u32,
    tells: bool,
    again: Option<usize>,
    panics: u32,
    away: bool,
    refuses: bool,
    prepared: u32,
    knows_no_hashes: bool,
}

pub fn preimage(n: usize) -> Preimage {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(n as u64 + 1).to_be_bytes());
    Preimage::from_bytes(bytes)
}

/// Of one of the first invoices.
fn preimage_of(hash: PaymentHash) -> Preimage {
    (0..100).map(preimage).find(|preimage| preimage.payment_hash() == hash).unwrap()
}

/// The `n`th invoice of a node on regtest, made at this Unix time, for so many millisats and seconds.
pub fn invoice(node: u8, n: usize, amount: u64, now: u64, expiry: u64) -> Invoice {
    invoice_on(Currency::Regtest, node, preimage(n), amount, now, expiry)
}

/// An invoice of a node, made at this Unix time.
pub fn invoice_on(network: Currency, node: u8, preimage: Preimage, amount: u64, now: u64, expiry: u64) -> Invoice {
    let description = Bolt11InvoiceDescription::Direct(Description::new("test".to_owned()).unwrap());
    signed(network, description, node, preimage, amount, now, expiry)
}

/// As [`invoice_on`] regtest, with the SHA-256 of this text in place of a description.
pub fn hashed_invoice(text: &str, preimage: Preimage, amount: u64, now: u64, expiry: u64) -> Invoice {
    let description = Bolt11InvoiceDescription::Hash(Sha256(sha256::Hash::hash(text.as_bytes())));
    signed(Currency::Regtest, description, 77, preimage, amount, now, expiry)
}

fn signed(
    network: Currency,
    description: Bolt11InvoiceDescription,
    node: u8,
    preimage: Preimage,
    amount: u64,
    now: u64,
    expiry: u64,
) -> Invoice {
    let key = user(node).secret_key().clone();
    InvoiceBuilder::new(network)
        .invoice_description(description)
        .payment_hash(sha256::Hash::from_byte_array(*preimage.payment_hash().as_bytes()))
        .payment_secret(PaymentSecret([9; 32]))
        .duration_since_epoch(Duration::from_secs(now))
        .min_final_cltv_expiry_delta(18)
        .expiry_time(Duration::from_secs(expiry))
        .amount_milli_satoshis(amount)
        .build_signed(|message| nostr::SECP256K1.sign_ecdsa_recoverable(message, &key))
        .unwrap()
        .to_string()
        .parse()
        .unwrap()
}

impl FakeLightning {
    pub fn begin(&self, clock: Arc<ManualClock>) -> LightningNotifications {
        let (notifications, heard) = mpsc::channel(16);
        let mut books = self.books.lock();
        books.clock = Some(clock);
        books.notifications = Some(notifications);
        heard
    }

    /// From now on it does not reply, or replies again.
    pub fn hang(&self, hangs: bool) {
        self.books.lock().hangs = hangs;
    }

    /// From now on it replies later, or now.
    pub fn stall(&self, stalls: bool) {
        self.stalls.send_replace(stalls);
    }

    /// From now on it gives out no invoice with this description, or gives out all.
    pub fn hold(&self, description: Option<&str>) {
        self.books.lock().held = description.map(str::to_owned);
    }

    /// From now on it sends payments and says nothing of them, as when the payee holds them back; or no longer.
    pub fn hang_pays(&self, hang: bool) {
        self.books.lock().pays_hang = hang;
    }

    /// From now on there is no connection to it, or there is.
    pub fn be_away(&self, away: bool) {
        self.books.lock().away = away;
    }

    /// From now on it refuses to pay, or does not.
    pub fn refuse(&self, refuses: bool) {
        self.books.lock().refuses = refuses;
    }

    /// From now on its invoices have descriptions, whatever is wanted.
    pub fn ignore_hashes(&self) {
        self.books.lock().knows_no_hashes = true;
    }

    /// How often a request to pay was to be signed.
    pub fn prepared(&self) -> u32 {
        self.books.lock().prepared
    }

    /// How many requests to pay arrived after their expiry.
    pub fn paid_late(&self) -> u32 {
        self.books.lock().paid_late
    }

    /// Whether it announces notifications of settlements.
    pub fn tells(&self, tells: bool) {
        self.books.lock().tells = tells;
    }

    /// From now on it returns this invoice for every request, or creates a new one for each.
    pub fn hand_out_again(&self, nth: Option<usize>) {
        self.books.lock().again = nth;
    }

    /// The next so many calls panic.
    pub fn panic(&self, times: u32) {
        self.books.lock().panics = times;
    }

    fn maybe_panic(&self) {
        let mut books = self.books.lock();
        let panics = books.panics > 0;
        books.panics = books.panics.saturating_sub(1);
        drop(books);
        assert!(!panics, "as if the adapter had a bug");
    }

    pub fn made(&self) -> Vec<Invoice> {
        self.books.lock().made.clone()
    }

    /// Somebody pays the `n`th invoice, without a notification.
    pub fn settle(&self, n: usize) {
        self.books.lock().settled.insert(preimage(n).payment_hash(), preimage(n));
    }

    /// Sends the engine a notification.
    pub async fn tell(&self, notification: LightningNotification) {
        let notifications = self.books.lock().notifications.clone().unwrap();
        notifications.send(notification).await.unwrap();
    }

    /// How often the `n`th invoice was looked up.
    pub fn looked_up(&self, n: usize) -> u32 {
        let books = self.books.lock();
        books.made.get(n).and_then(|invoice| books.look_ups.get(&invoice.payment_hash())).copied().unwrap_or_default()
    }

    /// How often any invoice was.
    pub fn look_ups(&self) -> u32 {
        self.books.lock().look_ups.values().sum()
    }

    /// How often each payment hash was paid.
    pub fn sent(&self) -> Vec<u32> {
        self.books.lock().sent.values().copied().collect()
    }

    async fn answer<T>(&self, answer: T) -> T {
        if self.books.lock().hangs {
            std::future::pending::<()>().await;
        }
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.stalls.subscribe().wait_for(|stalls| !stalls).await;
        answer
    }
}

#[async_trait]
impl Lightning for FakeLightning {
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError> {
        self.maybe_panic();
        let made = {
            let mut books = self.books.lock();
            let now = books.clock.as_ref().unwrap().now().secs();
            if let Some(again) = books.again {
                return Ok(books.made[again].clone());
            }
            let (preimage, expiry) = (preimage(books.made.len()), u64::from(wanted.expiry));
            let made = match &wanted.hashed {
                Some(text) if !books.knows_no_hashes => hashed_invoice(text, preimage, wanted.amount, now, expiry),
                _ => invoice_on(Currency::Regtest, 77, preimage, wanted.amount, now, expiry),
            };
            books.made.push(made.clone());
            made
        };
        while self.books.lock().held.as_ref() == Some(&wanted.description) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self.answer(Ok(made)).await
    }

    async fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        *self.books.lock().look_ups.entry(hash).or_default() += 1;
        self.maybe_panic();
        let status = {
            let books = self.books.lock();
            books.settled.get(&hash).map_or(InvoiceStatus::Open, |preimage| {
                InvoiceStatus::Settled(Settlement {
                    amount: None,
                    skimmed_fee: 0,
                    fees_paid: 0,
                    preimage: Some(*preimage),
                })
            })
        };
        self.answer(Ok(status)).await
    }

    async fn prepare_payment(&self, _: &Invoice, until: u64) -> Result<SignedPayment, LightningError> {
        let mut books = self.books.lock();
        books.prepared += 1;
        if books.away {
            return Err(LightningError::NotSent);
        }
        let now = books.clock.as_ref().unwrap().now().secs();
        Ok(SignedPayment { request: "pay".to_owned(), until: until.min(now + 60) })
    }

    async fn pay(
        &self,
        invoice: &Invoice,
        payment: &SignedPayment,
        again: bool,
    ) -> Result<CompletedPayment, LightningError> {
        let hash = invoice.payment_hash();
        {
            let mut books = self.books.lock();
            let known = again && books.sent.contains_key(&hash);
            if !known {
                *books.sent.entry(hash).or_default() += 1;
                books.paid_late += u32::from(books.clock.as_ref().unwrap().now().secs() >= payment.until);
            }
            if books.refuses {
                return Err(LightningError::Refused { again: false, reason: "no".to_owned() });
            }
        }
        while self.books.lock().pays_hang {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self.answer(Ok(CompletedPayment { preimage: preimage_of(hash), fees_paid: None })).await
    }

    async fn look_up_payment(
        &self,
        hash: PaymentHash,
        _: Option<&SignedPayment>,
    ) -> Result<OutgoingPaymentStatus, LightningError> {
        let sent = !self.books.lock().refuses && self.books.lock().sent.contains_key(&hash);
        let paid = OutgoingPaymentStatus::Paid(CompletedPayment { preimage: preimage_of(hash), fees_paid: None });
        self.answer(Ok(if sent { paid } else { OutgoingPaymentStatus::Unknown(LookupCoverage::None) })).await
    }

    async fn info(&self) -> Result<LightningInfo, LightningError> {
        if self.books.lock().away {
            return Err(LightningError::NotSent);
        }
        self.answer(Ok(LightningInfo { alias: None, network: None, balance: None, methods: Vec::new() })).await
    }

    fn status(&self) -> LightningStatus {
        let books = self.books.lock();
        LightningStatus { connected: !books.away, sends_notifications: books.tells }
    }
}
