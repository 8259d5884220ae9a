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
use crate::state_queue::StateQueue;

/// Most mints in memory. Beyond it, mints without running jobs are dropped.
const MAX_MINTS: usize = 256;

pub(crate) struct Mint {
    pub(crate) address: MintAddress,
    pub(crate) client: MintClient,
    pub(crate) keysets: Keysets,
    /// Limits concurrent requests of jobs, per mint, so that an unresponsive mint delays only its own jobs.
    pub(crate) slots: Semaphore,
    /// Held by an attempt with pending inputs, so that such attempts do not delay other jobs.
    pub(crate) trying: Semaphore,
    /// Held from reading a counter, or choosing own proofs, to the commit that uses them.
    pub(crate) preparing: tokio::sync::Mutex<()>,
    pub(crate) states: StateQueue,
    /// By keyset, the first counter that the mint has not signed, if looked up since the start.
    first_unused: Mutex<HashMap<Id, u32>>,
}

impl Mint {
    /// The first counter that the mint has not signed, if it was looked up.
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

    /// Makes the next outputs repeat the look-up: the mint claims to have signed outputs that were never sent.
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

    /// Parses an address and checks it without connecting.
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
