//! The open file of tickets, and the operations on it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use usher_engine::ports::{
    Clock as _, MintAuthToken, ReceiveTerms, SystemClock, TicketBalance, TicketError, TicketJobId, TicketWallet as _,
    Token, TokenFault, WithdrawTerms,
};
use usher_protocol::Keys;
use usher_store::{OpenError, SqliteOptions, SqliteStore};
use usher_tickets::{CashuWallet, TicketOptions};

use super::given_tickets::{self, GivenState, GivenTicket, MAX_GIVEN};
use super::{KnownMint, ReceivedTicket, TicketAmount, TicketsError};
use crate::wallet::Secret;

/// How long to wait for another program that has the file open: longer than one action takes with a slow mint.
const LOCK_WAIT: Duration = Duration::from_secs(45);

/// The pause between two attempts to open the file.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

const MINT_WAIT: Duration = Duration::from_secs(20);

pub(super) struct Opened {
    store: Arc<SqliteStore>,
    wallet: CashuWallet,
    mints: Vec<KnownMint>,
    _turn: OwnedMutexGuard<()>,
}

impl Opened {
    /// Opens the file, which is made if there is none. Unfinished jobs continue.
    pub(super) async fn open(
        file: &Path,
        keys: &Keys,
        mints: Vec<KnownMint>,
        turn: OwnedMutexGuard<()>,
    ) -> Result<Self, TicketsError> {
        let store = Arc::new(open_store(file).await?);
        let tls = usher_http_client::tls_config(Vec::new()).map_err(|error| TicketsError::File(error.to_string()))?;
        let mut options = TicketOptions::new(tls);
        // The mint of `usher dev` is on this machine. The reference wallet is for development.
        options.allow_private = true;
        options.wait = MINT_WAIT;
        let key = keys.secret_key().to_secret_bytes();
        let wallet = CashuWallet::new(&key, store.clone(), Arc::new(SystemClock), options)
            .map_err(|error| TicketsError::File(error.to_string()))?;
        wallet.start().await?;
        Ok(Self { store, wallet, mints, _turn: turn })
    }

    /// Closes the file: another program may open it. What is unfinished continues the next time.
    pub(super) async fn close(self) {
        self.wallet.close().await;
        self.store.close().await;
    }

    pub(super) async fn balances(&self) -> Result<Vec<TicketBalance>, TicketsError> {
        Ok(self.wallet.balances().await?)
    }

    pub(super) async fn receive(&self, token: &Token) -> Result<ReceivedTicket, TicketsError> {
        let token = Token(token.0.trim().to_owned());
        let info = self.wallet.read_token(&token).map_err(TicketError::Token)?;
        let id = TicketJobId::derive("receive", token.0.as_bytes());
        let known = usher_engine::ports::TicketStore::ticket_job(self.store.as_ref(), id).await?;
        let again = known.is_some_and(|job| job.finished_at.is_some());
        let auth = self.auth(&info.mint_url);
        let (mint_url, unit) = (info.mint_url, info.unit);
        let terms = ReceiveTerms { token, mint_url: mint_url.clone(), unit: unit.clone(), at_least: 0, auth };
        let amount = self.wallet.redeem(id, &terms, None).await?;
        Ok(ReceivedTicket { mint_url, unit, amount, again })
    }

    pub(super) async fn give(
        &self,
        id: TicketJobId,
        what: &TicketAmount,
        request: Option<&str>,
    ) -> Result<GivenTicket, TicketsError> {
        let mut all = given_tickets::read(self.store.as_ref()).await?;
        let hex = hex::encode(id.0);
        let position = match all.iter().position(|known| known.id == hex) {
            Some(position) => position,
            None => {
                if all.len() >= MAX_GIVEN {
                    return Err(TicketsError::TooManyGiven(all.len()));
                }
                let (mint_url, unit) = self.choose(what).await?;
                let given_at = SystemClock.now().secs();
                let request = request.map(str::to_owned);
                let mut amount = what.amount;
                if request.is_some() {
                    // Who asks for an amount means what is left of it after the mint's fee.
                    amount = self.wallet.with_fee(&mint_url, &unit, amount).await?;
                }
                all.push(GivenTicket { id: hex, mint_url, unit, amount, given_at, request, token: None });
                // Stored before the request to the mint, so that the ticket is found again whatever happens.
                given_tickets::write(self.store.as_ref(), &all).await?;
                all.len() - 1
            }
        };
        let made = match all.get_mut(position) {
            Some(ticket) => self.make(ticket).await.map(|()| ticket.clone()),
            None => return Err(TicketsError::NoSuchTicket(String::new())),
        };
        if made.as_ref().is_err_and(TicketsError::is_definite) {
            all.remove(position);
        }
        given_tickets::write(self.store.as_ref(), &all).await?;
        made
    }

    pub(super) async fn given(&self) -> Result<Vec<(GivenTicket, GivenState)>, TicketsError> {
        let mut all = given_tickets::read(self.store.as_ref()).await?;
        let mut made = Vec::with_capacity(all.len());
        for mut ticket in all.drain(..) {
            match self.make(&mut ticket).await {
                // It failed for good: nothing was given.
                Err(error) if error.is_definite() => {}
                Ok(()) | Err(_) => made.push(ticket),
            }
        }
        given_tickets::write(self.store.as_ref(), &made).await?;
        // At once: the ticket wallet asks a mint about many tokens in one request.
        let states = futures_util::future::join_all(made.iter().map(|ticket| self.state_of(ticket))).await;
        let listed: Vec<_> = made.into_iter().zip(states).collect();
        let kept: Vec<_> =
            listed.iter().filter(|(_, state)| *state != GivenState::Spent).map(|(ticket, _)| ticket.clone()).collect();
        given_tickets::write(self.store.as_ref(), &kept).await?;
        Ok(listed)
    }

    pub(super) async fn take_back(&self, prefix: &str) -> Result<ReceivedTicket, TicketsError> {
        let mut all = given_tickets::read(self.store.as_ref()).await?;
        let found: Vec<_> =
            (0..all.len()).filter(|at| all.get(*at).is_some_and(|g| g.id.starts_with(prefix))).collect();
        let [position] = found[..] else { return Err(TicketsError::NoSuchTicket(prefix.to_owned())) };
        let ticket = all.get_mut(position).ok_or_else(|| TicketsError::NoSuchTicket(prefix.to_owned()))?;
        self.make(ticket).await?;
        let token = Token(ticket.token.as_ref().map(|token| token.0.clone()).unwrap_or_default());
        let taken = self.receive(&token).await;
        let spent = matches!(taken, Err(TicketsError::Ticket(TicketError::Token(TokenFault::AlreadySpent))));
        if taken.is_ok() || spent {
            all.remove(position);
        }
        given_tickets::write(self.store.as_ref(), &all).await?;
        taken
    }

    /// Lets the mint make the token of a given ticket, or reads the one that it has made.
    async fn make(&self, ticket: &mut GivenTicket) -> Result<(), TicketsError> {
        if ticket.token.is_some() {
            return Ok(());
        }
        let id = ticket.job().ok_or_else(|| TicketsError::NoSuchTicket(ticket.id.clone()))?;
        let terms = WithdrawTerms {
            mint_url: ticket.mint_url.clone(),
            unit: ticket.unit.clone(),
            amount: ticket.amount,
            auth: self.auth(&ticket.mint_url),
            repeatable: true,
        };
        let Token(token) = self.wallet.withdraw(id, &terms, None).await?;
        ticket.token = Some(Secret(token));
        Ok(())
    }

    async fn state_of(&self, ticket: &GivenTicket) -> GivenState {
        let Some(Secret(token)) = &ticket.token else { return GivenState::Unfinished };
        match self.wallet.token_state(&Token(token.clone())).await {
            Ok(state) => GivenState::from(state),
            Err(_) => GivenState::Unknown,
        }
    }

    async fn choose(&self, what: &TicketAmount) -> Result<(String, String), TicketsError> {
        if let (Some(mint_url), Some(unit)) = (&what.mint_url, &what.unit) {
            return Ok((mint_url.clone(), unit.clone()));
        }
        let fits = |asked: &Option<String>, held: &str| asked.as_ref().is_none_or(|asked| asked == held);
        let mut held = self.balances().await?;
        held.retain(|held| fits(&what.mint_url, &held.mint_url) && fits(&what.unit, &held.unit));
        match &held[..] {
            [only] => Ok((only.mint_url.clone(), only.unit.clone())),
            _ => Err(TicketsError::NameOne(
                held.iter().map(|held| format!("{} of {}", held.unit, held.mint_url)).collect(),
            )),
        }
    }

    fn auth(&self, mint_url: &str) -> Option<MintAuthToken> {
        KnownMint::auth(&self.mints, mint_url)
    }
}

/// Opens the file, and waits while another program has it open.
async fn open_store(file: &Path) -> Result<SqliteStore, TicketsError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        let path = file.to_owned();
        let options =
            SqliteOptions { readers: 1, writer_cache_kib: 1024, reader_cache_kib: 1024, ..SqliteOptions::default() };
        let opening = tokio::task::spawn_blocking(move || SqliteStore::open(&path, options));
        match opening.await.map_err(|error| TicketsError::File(error.to_string()))? {
            Ok(store) => return Ok(store),
            Err(OpenError::InUse { .. }) if Instant::now() < deadline => tokio::time::sleep(LOCK_PAUSE).await,
            Err(OpenError::InUse { .. }) => return Err(TicketsError::InUse),
            Err(error) => return Err(TicketsError::File(error.to_string())),
        }
    }
}
