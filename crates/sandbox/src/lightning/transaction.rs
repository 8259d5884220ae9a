use std::fmt;

use serde::{Deserialize, Serialize};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, Preimage};

/// Where a payment goes, as the account sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the account: an invoice of its own.
    Incoming,
    /// From the account: an invoice that it paid.
    Outgoing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// An open invoice, or a payment in flight.
    Pending,
    Settled,
    /// An invoice that was not paid in time.
    Expired,
    /// An invoice that was cancelled, or a payment that came to nothing.
    Failed,
}

/// An invoice of an account, or a payment by it, as its wallet lists it.
#[derive(Clone, PartialEq, Eq)]
pub struct Transaction {
    pub direction: Direction,
    pub state: State,
    pub invoice: Invoice,
    /// Proof of payment, known to the payee from the beginning and to the payer afterwards.
    pub preimage: Option<Preimage>,
    /// Millisats, without the fee; `None` for an open invoice that leaves it to the payer.
    pub amount: Option<u64>,
    /// Millisats that the payer was charged beside the amount; zero for the payee.
    pub fees_paid: u64,
    /// Unix seconds.
    pub created_at: u64,
    /// Unix seconds.
    pub settled_at: Option<u64>,
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("direction", &self.direction)
            .field("state", &self.state)
            .field("payment_hash", &self.invoice.payment_hash())
            .field("amount", &self.amount)
            .field("fees_paid", &self.fees_paid)
            .finish_non_exhaustive()
    }
}

/// A payment that reached the payee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    pub payment_hash: PaymentHash,
    pub preimage: Preimage,
    /// Millisats the payee got.
    pub amount: u64,
    /// Millisats the payer was charged beside it.
    pub fees_paid: u64,
}

/// The sums of a network, in millisats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerTotals {
    /// All that accounts were ever given.
    pub granted: u64,
    pub balances: u64,
    /// What has left an account and not reached another.
    pub in_flight: u64,
    pub fees: u64,
}

impl LedgerTotals {
    /// Whether no amount was lost or created.
    pub fn add_up(&self) -> bool {
        self.balances.checked_add(self.in_flight).and_then(|sum| sum.checked_add(self.fees)) == Some(self.granted)
    }
}
