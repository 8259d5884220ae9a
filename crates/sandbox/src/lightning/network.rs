//! The network.

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
    Account, Fees, InvoiceTerms, LedgerTotals, MakeError, NetworkFileError, Paid, PayError, Transaction, invoice,
    network_file,
};
use crate::clock::{UnixClock, system_clock};

/// Invoices kept in memory: about 1 KiB each.
const CAPACITY: usize = 200_000;

/// Invoices kept in a file, which is written at each change.
const CAPACITY_ON_DISK: usize = 2_000;

/// Occurrences a listener may be behind.
const SETTLEMENTS: usize = 16_384;

/// Accounts that pay each other. A clone is another handle of the same network.
#[derive(Clone, Debug)]
pub struct LightningNetwork {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    books: Mutex<Ledger>,
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

impl Default for LightningNetwork {
    fn default() -> Self {
        Self::new()
    }
}

impl LightningNetwork {
    /// An empty network in memory, with the machine's clock.
    pub fn new() -> Self {
        Self::with_clock(system_clock())
    }

    /// An empty network in memory with this clock.
    pub fn with_clock(clock: UnixClock) -> Self {
        Self::made_of(Ledger::default(), clock, None)
    }

    /// The network of this file, which need not be there yet. Each change is written before it is told.
    ///
    /// # Errors
    /// [`NetworkFileError`].
    pub fn at(path: &Path) -> Result<Self, NetworkFileError> {
        let ledger = network_file::load(path)?.unwrap_or_default();
        network_file::save(path, &ledger)?;
        Ok(Self::made_of(ledger, system_clock(), Some(path.to_owned())))
    }

    fn made_of(ledger: Ledger, clock: UnixClock, path: Option<PathBuf>) -> Self {
        let (settlements, _) = broadcast::channel(SETTLEMENTS);
        Self { inner: Arc::new(Inner { books: Mutex::new(ledger), clock, path, settlements }) }
    }

    /// Opens an account with a balance in millisats; one that is there keeps its own.
    pub fn open_account(&self, name: &str, balance: u64) -> Account {
        self.change(|books| books.open(name, balance, || Keys::generate().secret_key().to_secret_hex()));
        Account::new(self.clone(), name)
    }

    /// The account of this name.
    pub fn account(&self, name: &str) -> Option<Account> {
        self.inner.books.lock().has(name).then(|| Account::new(self.clone(), name))
    }

    /// What payments cost from now on.
    pub fn set_fees(&self, fees: Fees) {
        self.change(|books| books.fees = fees);
    }

    /// The sums.
    pub fn totals(&self) -> LedgerTotals {
        self.inner.books.lock().totals()
    }

    /// How often an invoice was paid, by anybody.
    pub fn executed(&self, hash: PaymentHash) -> u32 {
        self.inner.books.lock().executed(hash)
    }

    /// What happens from now on. Who is 16,384 behind misses some.
    pub fn settlements(&self) -> broadcast::Receiver<Settlement> {
        self.inner.settlements.subscribe()
    }

    /// Unix seconds.
    pub fn now(&self) -> u64 {
        self.inner.clock.now()
    }

    pub(super) fn balance(&self, name: &str) -> u64 {
        self.inner.books.lock().balance(name)
    }

    pub(super) fn node(&self, name: &str) -> Option<SecretKey> {
        self.inner.books.lock().node(name).and_then(|hex| hex.parse().ok())
    }

    pub(super) fn grant(&self, name: &str, amount: u64) -> u64 {
        self.change(|books| books.grant(name, amount))
    }

    pub(super) fn make(&self, name: &str, terms: &InvoiceTerms, preimage: Preimage) -> Result<Invoice, MakeError> {
        let now = self.now();
        let node = self.node(name).ok_or(MakeError::Full)?;
        let invoice = invoice::signed(&node, preimage.payment_hash(), terms, now)?;
        let capacity = if self.inner.path.is_some() { CAPACITY_ON_DISK } else { CAPACITY };
        self.change(|books| books.owe(name, invoice.clone(), preimage, now, capacity))?;
        Ok(invoice)
    }

    pub(super) fn cancel(&self, name: &str, hash: PaymentHash) -> bool {
        self.change(|books| books.cancel(name, hash))
    }

    pub(super) fn begin(&self, name: &str, invoice: &Invoice, start: Start) -> Result<PaymentHash, PayError> {
        self.change(|books| books.begin(name, invoice, start))
    }

    pub(super) fn settle(&self, name: &str, hash: PaymentHash) -> Result<Paid, PayError> {
        let now = self.now();
        let arrived = self.change(|books| books.settle(name, hash, now))?;
        Ok(self.tell(arrived))
    }

    pub(super) fn fail(&self, name: &str, hash: PaymentHash) -> Result<(), PayError> {
        self.change(|books| books.fail(name, hash))
    }

    /// Begins and settles in one step: nobody sees it in flight.
    pub(super) fn pay(&self, name: &str, invoice: &Invoice, start: Start) -> Result<Paid, PayError> {
        let arrived = self.change(|books| {
            let hash = books.begin(name, invoice, start)?;
            books.settle(name, hash, start.now)
        })?;
        Ok(self.tell(arrived))
    }

    pub(super) fn incoming(&self, name: &str, hash: PaymentHash) -> Option<Transaction> {
        self.inner.books.lock().incoming(name, hash, self.now())
    }

    pub(super) fn outgoing(&self, name: &str, hash: PaymentHash) -> Option<Transaction> {
        self.inner.books.lock().outgoing(name, hash)
    }

    pub(super) fn transactions(&self, name: &str) -> Vec<Transaction> {
        self.inner.books.lock().transactions(name, self.now())
    }

    /// Changes the books in one step, and writes them down where they have a file.
    fn change<T>(&self, step: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut books = self.inner.books.lock();
        let outcome = step(&mut books);
        if let Some(path) = &self.inner.path
            && let Err(error) = network_file::save(path, &books)
        {
            tracing::warn!(%error, "the Lightning network forgets this when it ends");
        }
        outcome
    }

    fn tell(&self, arrived: Arrived) -> Paid {
        let Arrived { payer, payee, paid } = arrived;
        // Nobody may listen.
        let _ = self.inner.settlements.send(Settlement { payer, payee, paid });
        paid
    }
}
