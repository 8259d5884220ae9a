//! The ledger that a network and its accounts share, with its clock and its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nostr::secp256k1::SecretKey;
use parking_lot::Mutex;
use tokio::sync::broadcast;
use usher_protocol::Keys;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, Preimage};

use super::ledger::{Arrived, Ledger, Start};
use super::{
    Fees, InvoiceTerms, LedgerTotals, MakeError, NetworkFileError, Paid, PayError, Transaction, invoice, network_file,
};
use crate::clock::UnixClock;

/// Invoices kept in memory: about 1 KiB each.
const CAPACITY: usize = 200_000;

/// Invoices kept in a file, which is written at each change.
const CAPACITY_ON_DISK: usize = 2_000;

/// Settlements that a receiver may be behind.
const SETTLEMENTS: usize = 16_384;

#[derive(Clone, Debug)]
pub(super) struct SharedLedger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ledger: Mutex<Ledger>,
    clock: UnixClock,
    path: Option<PathBuf>,
    settlements: broadcast::Sender<Settlement>,
}

/// A payment arrived.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Name of the account that paid.
    pub payer: String,
    /// Name of the account that was paid.
    pub payee: String,
    /// The payment.
    pub paid: Paid,
}

impl SharedLedger {
    pub(super) fn in_memory(clock: UnixClock) -> Self {
        Self::new(Ledger::default(), clock, None)
    }

    /// The ledger of this file, which need not exist. Each change is saved before it is announced.
    pub(super) fn at(path: &Path, clock: UnixClock) -> Result<Self, NetworkFileError> {
        let ledger = network_file::load(path)?.unwrap_or_default();
        network_file::save(path, &ledger)?;
        Ok(Self::new(ledger, clock, Some(path.to_owned())))
    }

    fn new(ledger: Ledger, clock: UnixClock, path: Option<PathBuf>) -> Self {
        let (settlements, _) = broadcast::channel(SETTLEMENTS);
        Self { inner: Arc::new(Inner { ledger: Mutex::new(ledger), clock, path, settlements }) }
    }

    pub(super) fn open(&self, name: &str, balance: u64) {
        self.change(|ledger| ledger.open(name, balance, || Keys::generate().secret_key().to_secret_hex()));
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.inner.ledger.lock().has(name)
    }

    pub(super) fn set_fees(&self, fees: Fees) {
        self.change(|ledger| ledger.fees = fees);
    }

    pub(super) fn totals(&self) -> LedgerTotals {
        self.inner.ledger.lock().totals()
    }

    pub(super) fn executed(&self, hash: PaymentHash) -> u32 {
        self.inner.ledger.lock().executed(hash)
    }

    pub(super) fn settlements(&self) -> broadcast::Receiver<Settlement> {
        self.inner.settlements.subscribe()
    }

    pub(super) fn now(&self) -> u64 {
        self.inner.clock.now()
    }

    pub(super) fn balance(&self, name: &str) -> u64 {
        self.inner.ledger.lock().balance(name)
    }

    pub(super) fn node(&self, name: &str) -> Option<SecretKey> {
        self.inner.ledger.lock().node(name).and_then(|hex| hex.parse().ok())
    }

    pub(super) fn grant(&self, name: &str, amount: u64) -> u64 {
        self.change(|ledger| ledger.grant(name, amount))
    }

    pub(super) fn make(&self, name: &str, terms: &InvoiceTerms, preimage: Preimage) -> Result<Invoice, MakeError> {
        let now = self.now();
        let node = self.node(name).ok_or(MakeError::Full)?;
        let invoice = invoice::signed(&node, preimage.payment_hash(), terms, now)?;
        let capacity = if self.inner.path.is_some() { CAPACITY_ON_DISK } else { CAPACITY };
        self.change(|ledger| ledger.owe(name, invoice.clone(), preimage, now, capacity))?;
        Ok(invoice)
    }

    pub(super) fn cancel(&self, name: &str, hash: PaymentHash) -> bool {
        self.change(|ledger| ledger.cancel(name, hash))
    }

    pub(super) fn begin(&self, name: &str, invoice: &Invoice, start: Start) -> Result<PaymentHash, PayError> {
        self.change(|ledger| ledger.begin(name, invoice, start))
    }

    pub(super) fn settle(&self, name: &str, hash: PaymentHash) -> Result<Paid, PayError> {
        let now = self.now();
        let arrived = self.change(|ledger| ledger.settle(name, hash, now))?;
        Ok(self.announce(arrived))
    }

    pub(super) fn fail(&self, name: &str, hash: PaymentHash) -> Result<(), PayError> {
        self.change(|ledger| ledger.fail(name, hash))
    }

    pub(super) fn pay(&self, name: &str, invoice: &Invoice, start: Start) -> Result<Paid, PayError> {
        let arrived = self.change(|ledger| {
            let hash = ledger.begin(name, invoice, start)?;
            ledger.settle(name, hash, start.now)
        })?;
        Ok(self.announce(arrived))
    }

    pub(super) fn incoming(&self, name: &str, hash: PaymentHash) -> Option<Transaction> {
        self.inner.ledger.lock().incoming(name, hash, self.now())
    }

    pub(super) fn outgoing(&self, name: &str, hash: PaymentHash) -> Option<Transaction> {
        self.inner.ledger.lock().outgoing(name, hash)
    }

    pub(super) fn transactions(&self, name: &str) -> Vec<Transaction> {
        self.inner.ledger.lock().transactions(name, self.now())
    }

    /// Changes the ledger in one step, and writes them down where they have a file.
    fn change<T>(&self, step: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut ledger = self.inner.ledger.lock();
        let outcome = step(&mut ledger);
        if let Some(path) = &self.inner.path
            && let Err(error) = network_file::save(path, &ledger)
        {
            tracing::warn!(%error, "the Lightning data could not be saved; this change is lost at the next start");
        }
        outcome
    }

    fn announce(&self, arrived: Arrived) -> Paid {
        let Arrived { payer, payee, paid } = arrived;
        // Nobody may listen.
        let _ = self.inner.settlements.send(Settlement { payer, payee, paid });
        paid
    }
}
