//! A ticket wallet that does what a test says, and keeps its jobs over restarts of the engine as a real one does.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{FakeLightning, invoice};
use usher_engine::ports::{
    MintTerms, Minted, ReceiveTerms, StoreError, TicketBalance, TicketError, TicketJobId, TicketWallet, Token,
    TokenFault, TokenInfo, TokenState, WithdrawTerms,
};
use usher_engine::{Origin, UnixMillis};

/// When its invoices are made.
const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub const MINT: &str = "https://mint.example";
pub const OTHER_MINT: &str = "https://other.example";
pub const UNIT: &str = "multi";

/// Tokens read `cashuB<mint>|<unit>|<amount>|<anything>`.
pub fn token(mint: &str, unit: &str, amount: u64, name: &str) -> Token {
    Token(format!("cashuB{mint}|{unit}|{amount}|{name}"))
}

/// A wallet with balances at mints that exist only here.
#[derive(Default)]
pub struct FakeTicketWallet {
    books: Mutex<Books>,
    /// The mint whose calls wait.
    held: watch::Sender<Option<String>>,
}

#[derive(Default)]
struct Books {
    /// The terms of each job, and its result once it is done.
    jobs: HashMap<TicketJobId, (String, Option<String>)>,
    calls: Vec<(&'static str, TicketJobId)>,
    minted: usize,
    withdrawn: usize,
    spent: HashMap<String, TicketJobId>,
    /// Why jobs fail: those of a mint, those with a token.
    failures: HashMap<String, fn() -> TicketError>,
    faults: HashMap<String, TokenFault>,
    /// What was shown to mints.
    auth: Vec<String>,
    balance: u64,
    /// The mint of which calls hang, and whether the job is done all the same.
    hangs: Option<(String, bool)>,
    away: bool,
    /// What a token costs in millisats, and who can pay it.
    quote: Option<(u64, Arc<FakeLightning>)>,
    checks: usize,
    panics: bool,
}

impl FakeTicketWallet {
    /// From now on calls to this mint get no reply, though their jobs are `done`; or all calls get one.
    pub fn hang(&self, hangs: Option<(&str, bool)>) {
        self.books.lock().hangs = hangs.map(|(mint, done)| (mint.to_owned(), done));
    }

    /// From now on calls to this mint wait until it is another one, or none.
    pub fn hold(&self, mint: Option<&str>) {
        self.held.send_replace(mint.map(str::to_owned));
    }

    pub fn panic(&self, panics: bool) {
        self.books.lock().panics = panics;
    }

    /// From now on no mint can be reached, or all can.
    pub fn be_away(&self, away: bool) {
        self.books.lock().away = away;
    }

    /// From now on jobs at this mint fail like this. They were begun.
    pub fn fail(&self, mint: &str, failure: fn() -> TicketError) {
        self.books.lock().failures.insert(mint.to_owned(), failure);
    }

    /// From now on the token is refused when it is redeemed or verified.
    pub fn refuse(&self, token: &Token, fault: TokenFault) {
        self.books.lock().faults.insert(token.0.clone(), fault);
    }

    /// Adds to the balance.
    pub fn deposit(&self, amount: u64) {
        self.books.lock().balance += amount;
    }

    /// From now on a token costs so many millisats.
    pub fn charge(&self, millisats: u64, payer: &Arc<FakeLightning>) {
        self.books.lock().quote = Some((millisats, Arc::clone(payer)));
    }

    /// Somebody else redeems it.
    pub fn spend(&self, token: &Token) {
        self.books.lock().spent.insert(token.0.clone(), TicketJobId([0; 32]));
    }

    /// Nobody has redeemed it after all.
    pub fn unspend(&self, token: &Token) {
        self.books.lock().spent.remove(&token.0);
    }

    pub fn minted(&self) -> usize {
        self.books.lock().minted
    }

    pub fn balance(&self) -> u64 {
        self.books.lock().balance
    }

    pub fn jobs(&self) -> usize {
        self.books.lock().jobs.len()
    }

    /// The static authentication tokens that were shown to mints since the last call.
    pub fn take_auth(&self) -> Vec<String> {
        std::mem::take(&mut self.books.lock().auth)
    }

    /// How often the state of a token was checked.
    pub fn checks(&self) -> usize {
        self.books.lock().checks
    }

    pub fn calls(&self, kind: &str) -> Vec<TicketJobId> {
        self.books.lock().calls.iter().filter(|(made, _)| *made == kind).map(|(_, id)| *id).collect()
    }

    /// Does a job once, and hangs or fails as told.
    async fn job(
        &self,
        kind: &'static str,
        id: TicketJobId,
        (mint, terms): (&str, String),
        work: impl FnOnce(&mut Books) -> Result<String, TokenFault>,
    ) -> Result<String, TicketError> {
        let hangs = {
            let mut books = self.books.lock();
            books.calls.push((kind, id));
            assert!(!books.panics, "as if the adapter had a bug");
            books.hangs.clone().filter(|(hanging, _)| hanging == mint)
        };
        if hangs.as_ref().is_none_or(|(_, done)| *done) {
            let mut books = self.books.lock();
            if books.away {
                return Err(TicketError::Unreachable("connection refused".to_owned()));
            }
            let (begun, done) = books.jobs.entry(id).or_insert_with(|| (terms.clone(), None)).clone();
            if begun != terms {
                return Err(TicketError::OtherJob);
            }
            if let Some(failure) = books.failures.get(mint) {
                return Err(failure());
            }
            if done.is_none() {
                // A job that failed for good changed nothing; the same again may be tried.
                let result = work(&mut books).inspect_err(|_| drop(books.jobs.remove(&id)))?;
                books.jobs.insert(id, (terms, Some(result)));
            }
        }
        if hangs.is_some() {
            std::future::pending::<()>().await;
        }
        self.may_return(mint).await;
        Ok(self.books.lock().jobs[&id].1.clone().unwrap())
    }

    async fn may_return(&self, mint: &str) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.held.subscribe().wait_for(|held| held.as_deref() != Some(mint)).await;
    }

    fn check(&self, books: &Books, terms: &ReceiveTerms) -> Result<TokenInfo, TokenFault> {
        if let Some(fault) = books.faults.get(&terms.token.0) {
            return Err(fault.clone());
        }
        let info = self.read_token(&terms.token)?;
        if info.mint_url != terms.mint_url {
            return Err(TokenFault::OtherMint);
        }
        if info.unit != terms.unit {
            return Err(TokenFault::OtherUnit);
        }
        if info.amount < terms.at_least {
            return Err(TokenFault::TooLittle { amount: info.amount, fee: 0, at_least: terms.at_least });
        }
        Ok(info)
    }
}

#[async_trait]
impl TicketWallet for FakeTicketWallet {
    fn read_token(&self, token: &Token) -> Result<TokenInfo, TokenFault> {
        let text = token.0.strip_prefix("cashuB").ok_or(TokenFault::Malformed)?;
        let parts: Vec<_> = text.split('|').collect();
        let [mint, unit, amount, _] = parts[..] else { return Err(TokenFault::Malformed) };
        let amount = amount.parse().map_err(|_| TokenFault::Malformed)?;
        Ok(TokenInfo { mint_url: mint.to_owned(), unit: unit.to_owned(), amount, proofs: 1 })
    }

    async fn mint(&self, id: TicketJobId, terms: &MintTerms, _: Option<Origin>) -> Result<Minted, TicketError> {
        self.books.lock().auth.extend(terms.auth.iter().map(|auth| auth.0.clone()));
        let quote = self.books.lock().quote.clone();
        if let Some((price, payer)) = quote
            && payer.sent().is_empty()
        {
            self.books.lock().calls.push(("quote", id));
            let invoice = invoice(78, 5, price, NOW.secs(), 3600).as_str().to_owned();
            return Ok(Minted::PaymentNeeded { invoice, expires_at: None });
        }
        let made = self.job("mint", id, (&terms.mint_url, format!("{terms:?}")), |books| {
            books.minted += 1;
            Ok(token(&terms.mint_url, &terms.unit, terms.amount, &format!("minted-{}", books.minted)).0)
        });
        Ok(Minted::Token(Token(made.await?)))
    }

    async fn redeem(&self, id: TicketJobId, terms: &ReceiveTerms, _: Option<Origin>) -> Result<u64, TicketError> {
        let redeemed = self.job("redeem", id, (&terms.mint_url, terms.token.0.clone()), |books| {
            let amount = self.check(books, terms)?.amount.saturating_sub(1);
            if books.spent.insert(terms.token.0.clone(), id).is_some() {
                return Err(TokenFault::AlreadySpent);
            }
            books.balance += amount;
            Ok(amount.to_string())
        });
        Ok(redeemed.await?.parse().unwrap())
    }

    async fn verify(&self, id: TicketJobId, terms: &ReceiveTerms) -> Result<Token, TicketError> {
        let verified = self.job("verify", id, (&terms.mint_url, terms.token.0.clone()), |books| {
            let info = self.check(books, terms)?;
            if books.spent.insert(terms.token.0.clone(), id).is_some() {
                return Err(TokenFault::AlreadySpent);
            }
            Ok(token(&info.mint_url, &info.unit, info.amount, "swapped").0)
        });
        Ok(Token(verified.await?))
    }

    async fn give_up(&self, id: TicketJobId) -> Result<Option<Token>, TicketError> {
        let mut books = self.books.lock();
        books.calls.push(("give_up", id));
        Ok(books.jobs.get(&id).and_then(|(_, result)| result.clone()).map(Token))
    }

    async fn abandon_quote(&self, id: TicketJobId) {
        self.books.lock().calls.push(("abandon_quote", id));
    }

    async fn withdraw(&self, id: TicketJobId, terms: &WithdrawTerms, _: Option<Origin>) -> Result<Token, TicketError> {
        let WithdrawTerms { mint_url, unit, amount, .. } = terms;
        let available = self.books.lock().balance;
        if available < *amount {
            return Err(TicketError::InsufficientFunds { available, needed: *amount });
        }
        let taken = self.job("withdraw", id, (mint_url, format!("{terms:?}")), |books| {
            books.balance -= amount;
            books.withdrawn += 1;
            Ok(token(mint_url, unit, *amount, &format!("withdrawn-{}", books.withdrawn)).0)
        });
        Ok(Token(taken.await?))
    }

    async fn token_state(&self, token: &Token) -> Result<TokenState, TicketError> {
        let hangs = self.books.lock().hangs.is_some();
        self.books.lock().checks += 1;
        if hangs {
            std::future::pending::<()>().await;
        }
        if let Ok(info) = self.read_token(token) {
            self.may_return(&info.mint_url).await;
        }
        let books = self.books.lock();
        if books.away {
            return Err(TicketError::Unreachable("connection refused".to_owned()));
        }
        Ok(if books.spent.contains_key(&token.0) { TokenState::Spent } else { TokenState::Unspent })
    }

    async fn balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        let amount = self.books.lock().balance;
        Ok(vec![TicketBalance { mint_url: MINT.to_owned(), unit: UNIT.to_owned(), amount, set_aside: 0 }])
    }
}
