use std::cmp::Reverse;

use usher_protocol::message::PaymentHash;

use super::{InvoiceRecord, InvoiceState, Ledger, Payment};
use crate::lightning::{Direction, LedgerTotals, State, Transaction};

impl Ledger {
    pub(in crate::lightning) fn has(&self, name: &str) -> bool {
        self.accounts.contains_key(name)
    }

    pub(in crate::lightning) fn balance(&self, name: &str) -> u64 {
        self.accounts.get(name).map_or(0, |account| account.balance)
    }

    pub(in crate::lightning) fn node(&self, name: &str) -> Option<&str> {
        self.accounts.get(name).map(|account| account.node.as_str())
    }

    pub(in crate::lightning) fn totals(&self) -> LedgerTotals {
        let pending = self.payments.values().filter(|payment| payment.state == State::Pending);
        LedgerTotals {
            granted: self.granted,
            balances: self.accounts.values().map(|account| account.balance).sum(),
            in_flight: pending.map(|payment| payment.amount + payment.fee).sum(),
            fees: self.fees_earned,
        }
    }

    pub(in crate::lightning) fn executed(&self, hash: PaymentHash) -> u32 {
        self.index.invoices.get(&hash).and_then(|number| self.invoices.get(number)).map_or(0, |record| record.executed)
    }

    pub(in crate::lightning) fn incoming(&self, account: &str, hash: PaymentHash, now: u64) -> Option<Transaction> {
        let record = self.index.invoices.get(&hash).and_then(|number| self.invoices.get(number))?;
        (record.account == account).then(|| record.transaction(now))
    }

    pub(in crate::lightning) fn outgoing(&self, account: &str, hash: PaymentHash) -> Option<Transaction> {
        let number = self.index.payments.get(&(account.to_owned(), hash))?;
        self.payments.get(number).map(Payment::transaction)
    }

    pub(in crate::lightning) fn transactions(&self, account: &str, now: u64) -> Vec<Transaction> {
        let invoices = self.invoices.iter().filter(|(_, record)| record.account == account);
        let payments = self.payments.iter().filter(|(_, payment)| payment.account == account);
        let mut all: Vec<(u64, Transaction)> = invoices
            .map(|(at, record)| (*at, record.transaction(now)))
            .chain(payments.map(|(at, payment)| (*at, payment.transaction())))
            .collect();
        all.sort_by_key(|(at, _)| Reverse(*at));
        all.into_iter().map(|(_, transaction)| transaction).collect()
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
