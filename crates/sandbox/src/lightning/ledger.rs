//! The ledger: a plain state that changes in single steps.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{PaymentHash, Preimage};

use super::{Direction, Fees, LedgerTotals, MakeError, Paid, PayError, State, Transaction};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    accounts: BTreeMap<String, AccountRecord>,
    invoices: BTreeMap<u64, InvoiceRecord>,
    payments: BTreeMap<u64, Payment>,
    #[serde(default)]
    pub(super) fees: Fees,
    fees_earned: u64,
    granted: u64,
    next: u64,
    #[serde(skip)]
    index: Index,
}

#[derive(Debug, Default)]
struct Index {
    invoices: HashMap<PaymentHash, u64>,
    payments: HashMap<(String, PaymentHash), u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AccountRecord {
    balance: u64,
    /// The node's secret key, in hexadecimal characters.
    node: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct InvoiceRecord {
    account: String,
    invoice: Invoice,
    preimage: Preimage,
    created_at: u64,
    #[serde(rename = "standing")]
    state: InvoiceState,
    /// How often it was paid: more than once would be a mistake.
    executed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InvoiceState {
    Open,
    InFlight,
    Settled { at: u64, amount: u64 },
    Cancelled,
}

/// A payment by an account: the last try for this invoice.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Payment {
    account: String,
    invoice: Invoice,
    amount: u64,
    fee: u64,
    created_at: u64,
    state: State,
    settled_at: Option<u64>,
    preimage: Option<Preimage>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Millisats, if the payer names them: those of the invoice.
    pub(super) amount: Option<u64>,
    /// Unix seconds.
    pub(super) now: u64,
    /// Payer and payee take no notice of the expiry.
    pub(super) late: bool,
}

/// A payment arrived.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Name of the account that paid.
    pub payer: String,
    /// Name of the account that was paid.
    pub payee: String,
    pub paid: Paid,
}

impl Ledger {
    pub(super) fn reindex(&mut self) {
        let invoices = self.invoices.iter().map(|(at, record)| (record.invoice.payment_hash(), *at)).collect();
        let payments = self
            .payments
            .iter()
            .map(|(at, payment)| ((payment.account.clone(), payment.invoice.payment_hash()), *at))
            .collect();
        self.index = Index { invoices, payments };
    }

    pub(super) fn open(&mut self, name: &str, balance: u64, node: impl FnOnce() -> String) {
        if self.accounts.contains_key(name) {
            return;
        }
        let balance = balance.min(u64::MAX - self.granted);
        self.granted += balance;
        self.accounts.insert(name.to_owned(), AccountRecord { balance, node: node() });
    }

    pub(super) fn grant(&mut self, name: &str, amount: u64) -> u64 {
        let Some(account) = self.accounts.get_mut(name) else { return 0 };
        let amount = amount.min(u64::MAX - self.granted);
        self.granted += amount;
        account.balance += amount;
        amount
    }

    /// Writes down an invoice. Of `capacity` invoices the oldest that nobody can pay any more makes room.
    pub(super) fn owe(
        &mut self,
        account: &str,
        invoice: Invoice,
        preimage: Preimage,
        now: u64,
        capacity: usize,
    ) -> Result<(), MakeError> {
        if self.invoices.len() >= capacity && !self.make_room(now) {
            return Err(MakeError::Full);
        }
        let at = self.take_number();
        self.index.invoices.insert(invoice.payment_hash(), at);
        let record = InvoiceRecord {
            account: account.to_owned(),
            invoice,
            preimage,
            created_at: now,
            state: InvoiceState::Open,
            executed: 0,
        };
        self.invoices.insert(at, record);
        Ok(())
    }

    fn make_room(&mut self, now: u64) -> bool {
        let over = |record: &InvoiceRecord| match record.state {
            InvoiceState::Open => record.invoice.is_expired(now),
            InvoiceState::InFlight => false,
            InvoiceState::Settled { .. } | InvoiceState::Cancelled => true,
        };
        let Some((&at, record)) = self.invoices.iter().find(|(_, record)| over(record)) else { return false };
        let hash = record.invoice.payment_hash();
        self.invoices.remove(&at);
        self.index.invoices.remove(&hash);
        if let Some((&at, payment)) = self.payments.iter().find(|(_, payment)| payment.invoice.payment_hash() == hash) {
            let key = (payment.account.clone(), hash);
            self.payments.remove(&at);
            self.index.payments.remove(&key);
        }
        true
    }

    pub(super) fn cancel(&mut self, account: &str, hash: PaymentHash) -> bool {
        let record =
            self.invoice_mut(hash).filter(|record| record.account == account && record.state == InvoiceState::Open);
        record.map(|record| record.state = InvoiceState::Cancelled).is_some()
    }

    /// Takes amount and fee from the payer: from now on the payment either arrives or fails.
    pub(super) fn begin(&mut self, payer: &str, invoice: &Invoice, start: Start) -> Result<PaymentHash, PayError> {
        if invoice.network() != Network::Regtest {
            return Err(PayError::OtherNetwork);
        }
        let hash = invoice.payment_hash();
        let fees = self.fees;
        let record = self.invoice_mut(hash).ok_or(PayError::NoRoute)?;
        // The same payment hash on other terms: the payee would not take it.
        if record.invoice != *invoice {
            return Err(PayError::NoRoute);
        }
        match record.state {
            InvoiceState::Open if start.late || !invoice.is_expired(start.now) => {}
            InvoiceState::Open => return Err(PayError::Expired),
            InvoiceState::InFlight => return Err(PayError::InFlight),
            InvoiceState::Settled { .. } => return Err(PayError::AlreadyPaid),
            InvoiceState::Cancelled => return Err(PayError::Cancelled),
        }
        let amount = invoice.amount().ok_or(PayError::AmountMissing)?;
        if start.amount.is_some_and(|named| named != amount) {
            return Err(PayError::OtherAmount);
        }
        // Nobody on the way from an account to itself.
        let fee = if record.account == payer { 0 } else { fees.of(amount) };
        let balance = self.accounts.get_mut(payer).map(|account| &mut account.balance);
        let (Some(balance), Some(cost)) = (balance, amount.checked_add(fee)) else {
            return Err(PayError::InsufficientBalance);
        };
        *balance = balance.checked_sub(cost).ok_or(PayError::InsufficientBalance)?;
        if let Some(record) = self.invoice_mut(hash) {
            record.state = InvoiceState::InFlight;
        }
        let payment = Payment {
            account: payer.to_owned(),
            invoice: invoice.clone(),
            amount,
            fee,
            created_at: start.now,
            state: State::Pending,
            settled_at: None,
            preimage: None,
        };
        let number = self.take_number();
        // A payment that failed is replaced.
        if let Some(old) = self.index.payments.insert((payer.to_owned(), hash), number) {
            self.payments.remove(&old);
        }
        self.payments.insert(number, payment);
        Ok(hash)
    }

    pub(super) fn settle(&mut self, payer: &str, hash: PaymentHash, now: u64) -> Result<Settlement, PayError> {
        let (record, payment) = self.in_flight(payer, hash)?;
        record.state = InvoiceState::Settled { at: now, amount: payment.amount };
        record.executed += 1;
        payment.state = State::Settled;
        payment.settled_at = Some(now);
        payment.preimage = Some(record.preimage);
        let paid =
            Paid { payment_hash: hash, preimage: record.preimage, amount: payment.amount, fees_paid: payment.fee };
        let payee = record.account.clone();
        self.fees_earned += paid.fees_paid;
        if let Some(account) = self.accounts.get_mut(&payee) {
            account.balance += paid.amount;
        }
        Ok(Settlement { payer: payer.to_owned(), payee, paid })
    }

    /// The payment fails: the payer gets the amount back, and the invoice is open again.
    pub(super) fn fail(&mut self, payer: &str, hash: PaymentHash) -> Result<(), PayError> {
        let (record, payment) = self.in_flight(payer, hash)?;
        record.state = InvoiceState::Open;
        payment.state = State::Failed;
        let cost = payment.amount + payment.fee;
        if let Some(account) = self.accounts.get_mut(payer) {
            account.balance += cost;
        }
        Ok(())
    }

    fn in_flight(&mut self, payer: &str, hash: PaymentHash) -> Result<(&mut InvoiceRecord, &mut Payment), PayError> {
        let number = self.index.payments.get(&(payer.to_owned(), hash));
        let payment = number.and_then(|number| self.payments.get_mut(number)).filter(|p| p.state == State::Pending);
        let record = self.index.invoices.get(&hash).and_then(|number| self.invoices.get_mut(number));
        record.zip(payment).ok_or(PayError::NoSuchPayment)
    }

    fn invoice_mut(&mut self, hash: PaymentHash) -> Option<&mut InvoiceRecord> {
        self.index.invoices.get(&hash).and_then(|number| self.invoices.get_mut(number))
    }

    fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.accounts.contains_key(name)
    }

    pub(super) fn balance(&self, name: &str) -> u64 {
        self.accounts.get(name).map_or(0, |account| account.balance)
    }

    pub(super) fn node(&self, name: &str) -> Option<&str> {
        self.accounts.get(name).map(|account| account.node.as_str())
    }

    pub(super) fn totals(&self) -> LedgerTotals {
        let pending = self.payments.values().filter(|payment| payment.state == State::Pending);
        LedgerTotals {
            granted: self.granted,
            balances: self.accounts.values().map(|account| account.balance).sum(),
            in_flight: pending.map(|payment| payment.amount + payment.fee).sum(),
            fees: self.fees_earned,
        }
    }

    pub(super) fn executed(&self, hash: PaymentHash) -> u32 {
        self.index.invoices.get(&hash).and_then(|number| self.invoices.get(number)).map_or(0, |record| record.executed)
    }

    pub(super) fn incoming(&self, account: &str, hash: PaymentHash, now: u64) -> Option<Transaction> {
        let record = self.index.invoices.get(&hash).and_then(|number| self.invoices.get(number))?;
        (record.account == account).then(|| record.transaction(now))
    }

    pub(super) fn outgoing(&self, account: &str, hash: PaymentHash) -> Option<Transaction> {
        let number = self.index.payments.get(&(account.to_owned(), hash))?;
        self.payments.get(number).map(Payment::transaction)
    }
}

impl InvoiceRecord {
    fn transaction(&self, now: u64) -> Transaction {
        let (state, amount, settled_at) = match self.state {
            InvoiceState::Settled { at, amount } => (State::Settled, Some(amount), Some(at)),
            InvoiceState::Cancelled => (State::Failed, self.invoice.amount(), None),
            InvoiceState::Open if self.invoice.is_expired(now) => (State::Expired, self.invoice.amount(), None),
            InvoiceState::Open | InvoiceState::InFlight => (State::Pending, self.invoice.amount(), None),
        };
        Transaction {
            direction: Direction::Incoming,
            state,
            invoice: self.invoice.clone(),
            preimage: Some(self.preimage),
            amount,
            fees_paid: 0,
            created_at: self.created_at,
            settled_at,
        }
    }
}

impl Payment {
    fn transaction(&self) -> Transaction {
        Transaction {
            direction: Direction::Outgoing,
            state: self.state,
            invoice: self.invoice.clone(),
            preimage: self.preimage,
            amount: Some(self.amount),
            fees_paid: self.fee,
            created_at: self.created_at,
            settled_at: self.settled_at,
        }
    }
}
