use nostr::SECP256K1;
use nostr::secp256k1::{PublicKey, SecretKey};
use tokio::sync::broadcast;
use usher_protocol::Keys;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::ledger::{Ledger, Settlement, Start};
use super::{InvoiceTerms, LightningNetwork, MakeError, Paid, PayError, Transaction, invoice};

impl LightningNetwork {
    /// Opens an account with a balance in millisats; an existing one keeps its balance.
    pub fn open_account(&self, name: &str, balance: u64) -> Account {
        self.change(|ledger| ledger.open(name, balance, || Keys::generate().secret_key().to_secret_hex()));
        Account::new(self.clone(), name)
    }

    pub fn account(&self, name: &str) -> Option<Account> {
        self.read(|ledger| ledger.has(name)).then(|| Account::new(self.clone(), name))
    }
}

/// A node with a balance. A clone is another handle of the same account.
#[derive(Clone, Debug)]
pub struct Account {
    network: LightningNetwork,
    name: String,
}

impl Account {
    pub(super) fn new(network: LightningNetwork, name: &str) -> Self {
        Self { network, name: name.to_owned() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settlements of all accounts from now on. A receiver that is 16,384 behind misses some.
    pub fn settlements(&self) -> broadcast::Receiver<Settlement> {
        self.network.settlements()
    }

    /// Now, in Unix seconds.
    pub fn now(&self) -> u64 {
        self.network.now()
    }

    pub(super) fn node_key(&self) -> Option<SecretKey> {
        self.read(|ledger, name| ledger.node(name).and_then(|hex| hex.parse().ok()))
    }

    pub fn node_id(&self) -> Option<PublicKey> {
        self.node_key().map(|key| key.public_key(SECP256K1))
    }

    /// What it can spend, in millisats.
    pub fn balance(&self) -> u64 {
        self.read(|ledger, name| ledger.balance(name))
    }

    /// Creates millisats for it; returns how many (the total is at most 2⁶⁴ − 1).
    pub fn grant(&self, amount: u64) -> u64 {
        self.network.change(|ledger| ledger.grant(&self.name, amount))
    }

    /// Makes an invoice with a new payment hash.
    pub fn make_invoice(&self, terms: &InvoiceTerms) -> Result<Invoice, MakeError> {
        let (now, preimage, capacity) = (self.now(), invoice::new_preimage(), self.network.capacity());
        let node = self.node_key().ok_or(MakeError::Full)?;
        let invoice = invoice::signed(&node, preimage.payment_hash(), terms, now)?;
        self.network.change(|ledger| ledger.owe(&self.name, invoice.clone(), preimage, now, capacity))?;
        Ok(invoice)
    }

    /// Takes an open invoice back; `false` when it is not open.
    pub fn cancel_invoice(&self, hash: PaymentHash) -> bool {
        self.network.change(|ledger| ledger.cancel(&self.name, hash))
    }

    /// Pays an invoice. `amount` in millisats, if given, must be its own.
    pub fn pay(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.network.now(), late: false })
    }

    /// As [`pay`](Self::pay), even when the invoice is expired: not every node refuses.
    pub fn pay_late(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.network.now(), late: true })
    }

    fn pay_with(&self, invoice: &str, start: Start) -> Result<Paid, PayError> {
        let invoice = invoice.parse()?;
        let arrived = self.network.change(|ledger| {
            let hash = ledger.begin(&self.name, &invoice, start)?;
            ledger.settle(&self.name, hash, start.now)
        })?;
        Ok(self.network.announce(arrived))
    }

    /// Begins to pay: the balance is smaller, and nothing has arrived. Goes on with [`settle`](Self::settle) or
    /// [`fail`](Self::fail).
    pub fn begin(&self, invoice: &str, amount: Option<u64>) -> Result<PaymentHash, PayError> {
        let start = Start { amount, now: self.network.now(), late: false };
        let invoice = invoice.parse()?;
        self.network.change(|ledger| ledger.begin(&self.name, &invoice, start))
    }

    /// A payment in flight arrives.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn settle(&self, hash: PaymentHash) -> Result<Paid, PayError> {
        let now = self.now();
        let arrived = self.network.change(|ledger| ledger.settle(&self.name, hash, now))?;
        Ok(self.network.announce(arrived))
    }

    /// A payment in flight fails.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn fail(&self, hash: PaymentHash) -> Result<(), PayError> {
        self.network.change(|ledger| ledger.fail(&self.name, hash))
    }

    /// An invoice of its own.
    pub fn incoming(&self, hash: PaymentHash) -> Option<Transaction> {
        let now = self.now();
        self.read(|ledger, name| ledger.incoming(name, hash, now))
    }

    pub fn outgoing(&self, hash: PaymentHash) -> Option<Transaction> {
        self.read(|ledger, name| ledger.outgoing(name, hash))
    }

    fn read<T>(&self, look: impl FnOnce(&Ledger, &str) -> T) -> T {
        self.network.read(|ledger| look(ledger, &self.name))
    }
}
