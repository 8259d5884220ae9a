//! The mints that are in use.

use std::collections::HashMap;
use std::sync::Arc;

use cashu::Id;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::TicketOptions;
use crate::client::{HttpClient, MintClient};
use crate::job_failure::{Failure, Refusal};
use crate::keysets::{Keysets, MAX_KEYSETS};
use crate::mint_address::MintAddress;
use crate::proof_states::StateQueue;

/// Most mints in memory. Those that no job uses make way.
const MAX_MINTS: usize = 256;

pub(crate) struct Mint {
    pub(crate) address: MintAddress,
    pub(crate) client: MintClient,
    pub(crate) keysets: Keysets,
    /// Requests of jobs that may run at once: a mint that hangs holds up nobody but its own jobs.
    pub(crate) slots: Semaphore,
    /// Held by a job that is tried although its inputs are pending: many of them do not hold up those that work.
    pub(crate) trying: Semaphore,
    /// Held from reading a counter, or choosing own proofs, to the commit that uses them.
    pub(crate) preparing: tokio::sync::Mutex<()>,
    pub(crate) states: StateQueue,
    /// Of each keyset, the first counter of which the mint has signed nothing: what it was asked since the start.
    first_unused: Mutex<HashMap<Id, u32>>,
}

impl Mint {
    /// The first counter of which the mint has signed nothing, if it was asked.
    pub(crate) fn first_unused(&self, keyset: Id) -> Option<u32> {
        self.first_unused.lock().get(&keyset).copied()
    }

    pub(crate) fn remember_first_unused(&self, keyset: Id, first: u32) {
        let mut known = self.first_unused.lock();
        if known.len() >= MAX_KEYSETS {
            known.clear();
        }
        known.insert(keyset, first);
    }

    /// The mint says that it has signed outputs that were never sent: it is asked again before the next ones.
    pub(crate) fn forget_first_unused(&self, keyset: Id) {
        self.first_unused.lock().remove(&keyset);
    }
}

pub(crate) struct Mints {
    http: HttpClient,
    requests_per_mint: usize,
    mints: Mutex<HashMap<MintAddress, Arc<Mint>>>,
}

impl Mints {
    pub(crate) fn new(options: &TicketOptions) -> Self {
        let requests_per_mint = options.requests_per_mint.max(1);
        Self { http: HttpClient::new(options), requests_per_mint, mints: Mutex::default() }
    }

    /// Reads an address, and checks as much as it tells by itself.
    pub(crate) fn check(&self, address: &str) -> Result<MintAddress, Refusal> {
        let not_allowed = |reason: &str| Refusal::Failure(Failure::AddressNotAllowed(reason.to_owned()));
        let address = MintAddress::parse(address).map_err(not_allowed)?;
        self.http.check(&address)?;
        Ok(address)
    }

    /// Whether the mint responded to the last request; `None` when none was sent since the start.
    pub(crate) fn responds(&self, address: &str) -> Option<bool> {
        let address = MintAddress::parse(address).ok()?;
        self.mints.lock().get(&address)?.client.responds()
    }

    /// The mint at this address. Fails when the address is not allowed, or too many mints are in use.
    pub(crate) fn get(&self, address: &str) -> Result<Arc<Mint>, Refusal> {
        let address = self.check(address)?;
        let mut mints = self.mints.lock();
        if let Some(mint) = mints.get(&address) {
            return Ok(Arc::clone(mint));
        }
        if mints.len() >= MAX_MINTS {
            // While this lock is held nobody can get hold of one that nobody holds.
            mints.retain(|_, mint| Arc::strong_count(mint) > 1);
            if mints.len() >= MAX_MINTS {
                return Err(Refusal::Overloaded);
            }
        }
        let client = MintClient::new(self.http.clone(), address.clone());
        let mint = Arc::new(Mint {
            address: address.clone(),
            keysets: Keysets::new(client.clone()),
            states: StateQueue::default(),
            first_unused: Mutex::default(),
            client,
            slots: Semaphore::new(self.requests_per_mint),
            trying: Semaphore::new(1),
            preparing: tokio::sync::Mutex::default(),
        });
        mints.insert(address, Arc::clone(&mint));
        Ok(mint)
    }
}
