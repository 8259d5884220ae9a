use std::path::Path;

use tokio::sync::broadcast;
use usher_protocol::message::PaymentHash;

use super::ledger::Ledger;
use super::shared_ledger::SharedLedger;
use super::{Account, Fees, LedgerTotals, NetworkFileError, Settlement};
use crate::clock::{UnixClock, system_clock};

/// Accounts that pay each other. A clone is another handle of the same network.
#[derive(Clone, Debug)]
pub struct LightningNetwork {
    ledger: SharedLedger,
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

    pub fn with_clock(clock: UnixClock) -> Self {
        Self { ledger: SharedLedger::in_memory(clock) }
    }

    /// The network in this file, which need not exist, with this clock. Each change is saved before it is announced.
    pub fn at(path: &Path, clock: UnixClock) -> Result<Self, NetworkFileError> {
        Ok(Self { ledger: SharedLedger::at(path, clock)? })
    }

    /// Opens an account with a balance in millisats; an existing one keeps its balance.
    pub fn open_account(&self, name: &str, balance: u64) -> Account {
        self.ledger.open(name, balance);
        Account::new(self.ledger.clone(), name)
    }

    pub fn account(&self, name: &str) -> Option<Account> {
        self.ledger.read(|ledger| ledger.has(name)).then(|| Account::new(self.ledger.clone(), name))
    }

    /// Changes the fees of later payments.
    pub fn set_fees(&self, fees: Fees) {
        self.ledger.change(|ledger| ledger.fees = fees);
    }

    pub fn totals(&self) -> LedgerTotals {
        self.ledger.read(Ledger::totals)
    }

    /// How often an invoice was paid, by anybody.
    pub fn executed(&self, hash: PaymentHash) -> u32 {
        self.ledger.read(|ledger| ledger.executed(hash))
    }

    /// The settlements from now on. A receiver that is 16,384 behind misses some.
    pub fn settlements(&self) -> broadcast::Receiver<Settlement> {
        self.ledger.settlements()
    }

    /// Unix seconds.
    pub fn now(&self) -> u64 {
        self.ledger.now()
    }
}
