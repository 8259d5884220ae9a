//! A network: the ledger that its accounts share, with its clock and its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast;
use usher_protocol::message::PaymentHash;

use super::ledger::{Ledger, Settlement};
use super::{Fees, LedgerTotals, NetworkFileError, Paid, network_file};
use crate::clock::{UnixClock, system_clock};

/// Invoices kept in memory: about 1 KiB each.
const CAPACITY: usize = 200_000;

/// Invoices kept in a file, which is written at each change.
const CAPACITY_ON_DISK: usize = 2_000;

/// Settlements that a receiver may be behind.
const SETTLEMENTS: usize = 16_384;

/// Accounts that pay each other. A clone is another handle of the same network.
#[derive(Clone, Debug)]
pub struct LightningNetwork {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ledger: Mutex<Ledger>,
    clock: UnixClock,
    path: Option<PathBuf>,
    settlements: broadcast::Sender<Settlement>,
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
        Self::of(Ledger::default(), clock, None)
    }

    /// The network in this file, which need not exist, with this clock. Each change is saved before it is announced.
    pub fn at(path: &Path, clock: UnixClock) -> Result<Self, NetworkFileError> {
        let ledger = network_file::load(path)?.unwrap_or_default();
        network_file::save(path, &ledger)?;
        Ok(Self::of(ledger, clock, Some(path.to_owned())))
    }

    fn of(ledger: Ledger, clock: UnixClock, path: Option<PathBuf>) -> Self {
        let (settlements, _) = broadcast::channel(SETTLEMENTS);
        Self { inner: Arc::new(Inner { ledger: Mutex::new(ledger), clock, path, settlements }) }
    }

    /// Changes the fees of later payments.
    pub fn set_fees(&self, fees: Fees) {
        self.change(|ledger| ledger.fees = fees);
    }

    pub fn totals(&self) -> LedgerTotals {
        self.read(Ledger::totals)
    }

    /// How often an invoice was paid, by anybody.
    pub fn executed(&self, hash: PaymentHash) -> u32 {
        self.read(|ledger| ledger.executed(hash))
    }

    /// The settlements from now on. A receiver that is 16,384 behind misses some.
    pub fn settlements(&self) -> broadcast::Receiver<Settlement> {
        self.inner.settlements.subscribe()
    }

    /// Unix seconds.
    pub fn now(&self) -> u64 {
        self.inner.clock.now()
    }

    /// How many invoices there is room for.
    pub(super) fn capacity(&self) -> usize {
        if self.inner.path.is_some() { CAPACITY_ON_DISK } else { CAPACITY }
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&Ledger) -> T) -> T {
        look(&self.inner.ledger.lock())
    }

    /// Changes the ledger in one step, and writes it down where it has a file.
    pub(super) fn change<T>(&self, step: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut ledger = self.inner.ledger.lock();
        let outcome = step(&mut ledger);
        if let Some(path) = &self.inner.path
            && let Err(error) = network_file::save(path, &ledger)
        {
            tracing::warn!(%error, "the Lightning data could not be saved; this change is lost at the next start");
        }
        outcome
    }

    /// Tells everybody that a payment has arrived.
    pub(super) fn announce(&self, settlement: Settlement) -> Paid {
        let paid = settlement.paid;
        // Nobody may listen.
        let _ = self.inner.settlements.send(settlement);
        paid
    }
}
