use nostr::SECP256K1;
use nostr::secp256k1::{PublicKey, SecretKey};
use tokio::sync::broadcast;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::ledger::Start;
use super::shared_ledger::{Settlement, SharedLedger};
use super::{InvoiceTerms, MakeError, Paid, PayError, Transaction, invoice};

/// A node with a balance. A clone is another handle of the same account.
#[derive(Clone, Debug)]
pub struct Account {
    ledger: SharedLedger,
    name: String,
}

impl Account {
    pub(super) fn new(ledger: SharedLedger, name: &str) -> Self {
        Self { ledger, name: name.to_owned() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another account of the same network, opened with this balance in millisats unless it exists.
    #[must_use]
    pub fn sibling(&self, name: &str, balance: u64) -> Self {
        self.ledger.open(name, balance);
        Self::new(self.ledger.clone(), name)
    }

    /// How often an invoice was paid, by any account.
    pub fn executed(&self, hash: PaymentHash) -> u32 {
        self.ledger.executed(hash)
    }

    /// The settlements of all accounts from now on. A receiver that is 16,384 behind misses some.
    pub fn settlements(&self) -> broadcast::Receiver<Settlement> {
        self.ledger.settlements()
    }

    /// Now, in Unix seconds.
    pub fn now(&self) -> u64 {
        self.ledger.now()
    }

    pub(super) fn node_key(&self) -> Option<SecretKey> {
        self.ledger.node(&self.name)
    }

    /// The node's public key, by which its invoices are signed.
    pub fn node_id(&self) -> Option<PublicKey> {
        self.node_key().map(|key| key.public_key(SECP256K1))
    }

    /// What it can spend, in millisats.
    pub fn balance(&self) -> u64 {
        self.ledger.balance(&self.name)
    }

    /// Creates millisats for it; returns how many (the total is at most 2⁶⁴ − 1).
    pub fn grant(&self, amount: u64) -> u64 {
        self.ledger.grant(&self.name, amount)
    }

    /// Makes an invoice with a new payment hash.
    pub fn make_invoice(&self, terms: &InvoiceTerms) -> Result<Invoice, MakeError> {
        self.ledger.make(&self.name, terms, invoice::new_preimage())
    }

    /// Takes an open invoice back; `false` when it is not open.
    pub fn cancel_invoice(&self, hash: PaymentHash) -> bool {
        self.ledger.cancel(&self.name, hash)
    }

    /// Pays an invoice. `amount` in millisats is for one that names none.
    pub fn pay(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.ledger.now(), late: false })
    }

    /// As [`pay`](Self::pay), even when the invoice is expired: not every node refuses.
    pub fn pay_late(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.ledger.now(), late: true })
    }

    fn pay_with(&self, invoice: &str, start: Start) -> Result<Paid, PayError> {
        self.ledger.pay(&self.name, &invoice.parse()?, start)
    }

    /// Begins to pay: the balance is smaller, and nothing has arrived. Goes on with [`settle`](Self::settle) or
    /// [`fail`](Self::fail).
    pub fn begin(&self, invoice: &str, amount: Option<u64>) -> Result<PaymentHash, PayError> {
        let start = Start { amount, now: self.ledger.now(), late: false };
        self.ledger.begin(&self.name, &invoice.parse()?, start)
    }

    /// A payment in flight arrives.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn settle(&self, hash: PaymentHash) -> Result<Paid, PayError> {
        self.ledger.settle(&self.name, hash)
    }

    /// A payment in flight fails.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn fail(&self, hash: PaymentHash) -> Result<(), PayError> {
        self.ledger.fail(&self.name, hash)
    }

    /// An invoice of its own.
    pub fn incoming(&self, hash: PaymentHash) -> Option<Transaction> {
        self.ledger.incoming(&self.name, hash)
    }

    /// A payment by it.
    pub fn outgoing(&self, hash: PaymentHash) -> Option<Transaction> {
        self.ledger.outgoing(&self.name, hash)
    }

    /// All its invoices and payments, newest first.
    pub fn transactions(&self) -> Vec<Transaction> {
        self.ledger.transactions(&self.name)
    }
}
