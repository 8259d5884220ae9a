//! An account of the network.

use nostr::SECP256K1;
use nostr::secp256k1::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::ledger::Start;
use super::{InvoiceTerms, LightningNetwork, MakeError, Paid, PayError, Transaction, invoice};

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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its network.
    pub const fn network(&self) -> &LightningNetwork {
        &self.network
    }

    /// The node's public key, by which its invoices are signed.
    pub fn node_id(&self) -> Option<PublicKey> {
        self.network.node(&self.name).map(|key| key.public_key(SECP256K1))
    }

    /// What it can spend, in millisats.
    pub fn balance(&self) -> u64 {
        self.network.balance(&self.name)
    }

    /// Gives it millisats from nowhere; says how many (all there can ever be is 2⁶⁴ − 1).
    pub fn grant(&self, amount: u64) -> u64 {
        self.network.grant(&self.name, amount)
    }

    /// Makes an invoice with a new payment hash.
    ///
    /// # Errors
    /// [`MakeError`].
    pub fn make_invoice(&self, terms: &InvoiceTerms) -> Result<Invoice, MakeError> {
        self.network.make(&self.name, terms, invoice::new_preimage())
    }

    /// Takes an open invoice back; `false` when it is not open.
    pub fn cancel_invoice(&self, hash: PaymentHash) -> bool {
        self.network.cancel(&self.name, hash)
    }

    /// Pays an invoice. `amount` in millisats is for one that names none.
    ///
    /// # Errors
    /// [`PayError`]; nothing was moved then.
    pub fn pay(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.network.now(), late: false })
    }

    /// As [`pay`](Self::pay), even when the invoice is expired: not every node refuses.
    ///
    /// # Errors
    /// [`PayError`]; nothing was moved then.
    pub fn pay_late(&self, invoice: &str, amount: Option<u64>) -> Result<Paid, PayError> {
        self.pay_with(invoice, Start { amount, now: self.network.now(), late: true })
    }

    fn pay_with(&self, invoice: &str, start: Start) -> Result<Paid, PayError> {
        self.network.pay(&self.name, &invoice.parse()?, start)
    }

    /// Begins to pay: the balance is smaller, and nothing has arrived. Goes on with [`settle`](Self::settle) or
    /// [`fail`](Self::fail).
    ///
    /// # Errors
    /// [`PayError`]; nothing was moved then.
    pub fn begin(&self, invoice: &str, amount: Option<u64>) -> Result<PaymentHash, PayError> {
        let start = Start { amount, now: self.network.now(), late: false };
        self.network.begin(&self.name, &invoice.parse()?, start)
    }

    /// A payment in flight arrives.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn settle(&self, hash: PaymentHash) -> Result<Paid, PayError> {
        self.network.settle(&self.name, hash)
    }

    /// A payment in flight comes to nothing.
    ///
    /// # Errors
    /// [`PayError::NoSuchPayment`].
    pub fn fail(&self, hash: PaymentHash) -> Result<(), PayError> {
        self.network.fail(&self.name, hash)
    }

    /// An invoice of its own.
    pub fn incoming(&self, hash: PaymentHash) -> Option<Transaction> {
        self.network.incoming(&self.name, hash)
    }

    /// A payment by it.
    pub fn outgoing(&self, hash: PaymentHash) -> Option<Transaction> {
        self.network.outgoing(&self.name, hash)
    }

    /// All its invoices and payments, newest first.
    pub fn transactions(&self) -> Vec<Transaction> {
        self.network.transactions(&self.name)
    }
}
