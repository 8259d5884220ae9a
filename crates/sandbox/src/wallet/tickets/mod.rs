//! The tickets that a user holds: an SQLite file beside the wallet's file, with the records of `usher-tickets`. What
//! changes money is stored before a mint is asked, and finished the next time the file is opened.
//!
//! Several programs use it (`usher dev`, and `usher wallet` in another terminal), so it is opened for one action and
//! closed after it; who comes second waits.

mod error;
mod given_tickets;
mod ticket;
mod ticket_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use usher_engine::ports::{TicketBalance, TicketJobId, Token};
use usher_protocol::Keys;

pub use self::error::TicketsError;
pub use self::given_tickets::{GivenState, GivenTicket};
pub use self::ticket::{KnownMint, ReceivedTicket, TicketAmount};
use self::ticket_file::Opened;

/// The tickets of a user. A clone is another handle of the same.
#[derive(Clone, Debug)]
pub struct Tickets {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: PathBuf,
    keys: Keys,
    mints: Mutex<Vec<KnownMint>>,
    /// One action at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Tickets {
    /// The tickets in this file, which is made when it is needed.
    pub fn at(file: impl Into<PathBuf>, keys: Keys) -> Self {
        let (file, turn) = (file.into(), Arc::default());
        Self { shared: Arc::new(Shared { file, keys, mints: Mutex::default(), turn }) }
    }

    /// The tickets of the wallet with this file: beside it, `wallet.json` has `wallet.tickets.db`.
    pub fn beside(wallet_file: &Path, keys: Keys) -> Self {
        Self::at(wallet_file.with_extension("tickets.db"), keys)
    }

    /// Uses the tokens of these mints.
    pub fn set_mints(&self, mints: &[KnownMint]) {
        *self.shared.mints.lock() = mints.to_vec();
    }

    /// What the user holds, by mint and unit.
    pub async fn balances(&self) -> Result<Vec<TicketBalance>, TicketsError> {
        let opened = self.open().await?;
        let balances = opened.balances().await;
        opened.close().await;
        balances
    }

    /// Checks a token and swaps it at its mint, so that nobody else can spend it. Repeating this is safe.
    ///
    /// # Errors
    /// [`TicketsError`]; unless it [is definite](TicketsError::is_definite), the ticket may still be received: the same
    /// again continues.
    pub async fn receive(&self, token: &Token) -> Result<ReceivedTicket, TicketsError> {
        let opened = self.open().await?;
        let received = opened.receive(token).await;
        opened.close().await;
        received
    }

    /// Takes a token of exactly this amount out of what the user holds. The same `id` again gives the same token.
    /// `request` is the id of the request that it answers: then the token also covers the mint's fee for redeeming it.
    ///
    /// # Errors
    /// [`TicketsError`]; unless it [is definite](TicketsError::is_definite), the token may still be made:
    /// [`given`](Self::given) lists it.
    pub async fn give(
        &self,
        id: TicketJobId,
        what: &TicketAmount,
        request: Option<&str>,
    ) -> Result<GivenTicket, TicketsError> {
        let opened = self.open().await?;
        let given = opened.give(id, what, request).await;
        opened.close().await;
        given
    }

    /// Given tickets that were not spent at the last look, oldest first, with their state now; spent ones are then
    /// forgotten.
    pub async fn given(&self) -> Result<Vec<(GivenTicket, GivenState)>, TicketsError> {
        let opened = self.open().await?;
        let given = opened.given().await;
        opened.close().await;
        given
    }

    /// Takes back the given ticket whose id starts with `id`: afterwards its token is worth nothing.
    ///
    /// # Errors
    /// [`TicketsError`]; the token is already spent when somebody was quicker.
    pub async fn take_back(&self, id: &str) -> Result<ReceivedTicket, TicketsError> {
        let opened = self.open().await?;
        let taken = opened.take_back(id).await;
        opened.close().await;
        taken
    }

    async fn open(&self) -> Result<Opened, TicketsError> {
        let turn = Arc::clone(&self.shared.turn).lock_owned().await;
        let auth = self.shared.mints.lock().clone();
        Opened::open(&self.shared.file, &self.shared.keys, auth, turn).await
    }
}
