//! An account of the world.

use nostr::SECP256K1;
use nostr::secp256k1::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::ledger::Start;
use super::{InvoiceTerms, LightningWorld, MakeError, Paid, PayError, Transaction, invoice};

/// A node with a balance. A clone is another handle of the same account.
#[derive(Clone, Debug)]
pub struct Account {
    world: LightningWorld,
    name: String,
}

impl Account {
    pub(super) fn new(world: LightningWorld, name: &str) -> Self {
        Self { world, name: name.to_owned() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its world.
    pub const fn world(&self) -> &LightningWorld {
        &self.world
    }

    /// The node's public key, by which its invoices are signed.
    pub fn node_id(&self) -> Option<PublicKey> {
        self.world.node(&self.name).map(|key| key.public_key(SECP256K1))
    }

    /// What it can spend, in millisats.
    pub fn balance(&self) -> u64 {
        self.world.balance(&self.name)
    }

    /// Gives it millisats from nowhere; says how many (all there can ever be is 2⁶⁴ − 1).
    pub fn grant(&self, amount: u64) -> u64 {
        self.world.grant(&self.name, amount)
    }

    /// Makes an invoice with a new payment hash.
    ///
    /// # Errors
    /// [`MakeError`].
    pub fn make_invoice(&self, terms: &InvoiceTerms) -> Result<Invoice, MakeError> {
        self.world.make(&self.name, terms, invoice::new_preimage())
    }

    /// Takes an open invoice back; `false` when it is not open.
    pub fn cancel_invoice(&self, hash: PaymentHash) -> bool {
        self.world.cancel(&self.name, hash)
    }

    /// Pays an invoice. `amount` in millisats is for one that names none.
    ///
    /// # Errors
    /// [`PayError`]; nothing was moved then.
    pub fn pay(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.world.now(), late: false })
    }

    /// As [`pay`](Self::pay), even when the invoice is expired: not every node refuses.
    ///
    /// # Errors
    /// [`PayError`]; nothing was moved then.
    pub fn pay_late(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.world.now(), late: true })
    }

    fn pay_with(&self, invoice: &str, start: Start) -> Result<Paid, PayError> {
        self.world.pay(&self.name, &invoice.parse()?, start)
    }

    /// Begins to pay: the balance is smaller, and nothing has arrived. Goes on with [`settle`](Self::settle) or
    /// [`fail`](Self::fail).
    ///
    /// # Errors
    /// [`PayError`]; nothing was moved then.
    pub fn begin(&self, invoice: &str, amount: Option<u64>) -> Result<PaymentHash, PayError> {
        let start = Start { amount, now: self.world.now(), late: false };
        self.world.begin(&self.name, &invoice.parse()?, start)
    }

    /// A payment in flight arrives.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn settle(&self, hash: PaymentHash) -> Result<Paid, PayError> {
        self.world.settle(&self.name, hash)
    }

    /// A payment in flight comes to nothing.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn fail(&self, hash: PaymentHash) -> Result<(), PayError> {
        self.world.fail(&self.name, hash)
    }

    /// An invoice of its own.
    pub fn incoming(&self, hash: PaymentHash) -> Option<Transaction> {
        self.world.incoming(&self.name, hash)
    }

    /// A payment by it.
    pub fn outgoing(&self, hash: PaymentHash) -> Option<Transaction> {
        self.world.outgoing(&self.name, hash)
    }

    /// All its invoices and payments, newest first.
    pub fn transactions(&self) -> Vec<Transaction> {
        self.world.transactions(&self.name)
    }
}
