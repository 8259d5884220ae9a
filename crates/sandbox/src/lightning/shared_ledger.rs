//! The ledger that a network and its accounts share, with its clock and its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast;
use usher_protocol::Keys;

use super::ledger::{Ledger, Settlement};
use super::{NetworkFileError, Paid, network_file};
use crate::clock::UnixClock;

/// Invoices kept in memory: about 1 KiB each.
const CAPACITY: usize = 200_000;

/// Invoices kept in a file, which is written at each change.
const CAPACITY_ON_DISK: usize = 2_000;

/// Settlements that a receiver may be behind.
const SETTLEMENTS: usize = 16_384;

#[derive(Clone, Debug)]
pub(super) struct SharedLedger {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ledger: Mutex<Ledger>,
    clock: UnixClock,
    path: Option<PathBuf>,
    settlements: broadcast::Sender<Settlement>,
}

impl SharedLedger {
    pub(super) fn in_memory(clock: UnixClock) -> Self {
        Self::new(Ledger::default(), clock, None)
    }

    /// The ledger of this file, which need not exist. Each change is saved before it is announced.
    pub(super) fn at(path: &Path, clock: UnixClock) -> Result<Self, NetworkFileError> {
        let ledger = network_file::load(path)?.unwrap_or_default();
        network_file::save(path, &ledger)?;
        Ok(Self::new(ledger, clock, Some(path.to_owned())))
    }

    fn new(ledger: Ledger, clock: UnixClock, path: Option<PathBuf>) -> Self {
        let (settlements, _) = broadcast::channel(SETTLEMENTS);
        Self { inner: Arc::new(Inner { ledger: Mutex::new(ledger), clock, path, settlements }) }
    }

    pub(super) fn open(&self, name: &str, balance: u64) {
        self.change(|ledger| ledger.open(name, balance, || Keys::generate().secret_key().to_secret_hex()));
    }

    pub(super) fn settlements(&self) -> broadcast::Receiver<Settlement> {
        self.inner.settlements.subscribe()
    }

    pub(super) fn now(&self) -> u64 {
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
