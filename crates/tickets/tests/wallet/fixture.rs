//! A mint, a store, and wallets on them.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use usher_engine::ports::{
    MintTerms, Minted, ReceiveTerms, StoredProof, SystemClock, TicketError, TicketJobId, TicketStore as _,
    TicketWallet as _, Token, TokenFault, TokenState, WithdrawTerms,
};
use usher_mint::{Mint, MintOptions, MintTotals};
use usher_store::{SqliteOptions, SqliteStore};
use usher_testing::mint::{Fault, FaultyMint};
pub(crate) use usher_testing::until;
use usher_tickets::{CashuWallet, TicketOptions};

pub(crate) const KEY: [u8; 32] = [42; 32];

/// A mint, and a store that outlives wallets.
pub(crate) struct World {
    pub(crate) mint: Mint,
    pub(crate) url: String,
    pub(crate) store: Arc<SqliteStore>,
    folder: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(MintOptions::new()).await
    }

    pub(crate) async fn with(options: MintOptions) -> Self {
        let mint = Mint::start(options).await.unwrap();
        let (store, folder) = new_store();
        Self { url: mint.url(), mint, store, folder }
    }

    /// A wallet on the store, started.
    pub(crate) async fn wallet(&self) -> CashuWallet {
        self.wallet_with(|_| {}).await
    }

    pub(crate) async fn wallet_with(&self, change: impl FnOnce(&mut TicketOptions)) -> CashuWallet {
        wallet_on(&self.store, &KEY, change).await
    }

    /// With deadlines that tests can wait for.
    pub(crate) async fn impatient(&self, request_timeout: u64, wait: u64) -> CashuWallet {
        self.wallet_with(|options| {
            options.request_timeout = Duration::from_millis(request_timeout);
            options.wait = Duration::from_millis(wait);
        })
        .await
    }

    pub(crate) fn mint_terms(&self, unit: &str, amount: u64) -> MintTerms {
        MintTerms {
            mint_url: self.url.clone(),
            unit: unit.to_owned(),
            amount,
            description: Some("a ticket".to_owned()),
            auth: None,
            repeatable: true,
        }
    }

    pub(crate) fn receive_terms(&self, token: &Token, unit: &str, at_least: u64) -> ReceiveTerms {
        ReceiveTerms { token: token.clone(), mint_url: self.url.clone(), unit: unit.to_owned(), at_least, auth: None }
    }

    pub(crate) fn withdraw_terms(&self, unit: &str, amount: u64) -> WithdrawTerms {
        WithdrawTerms { mint_url: self.url.clone(), unit: unit.to_owned(), amount, auth: None, repeatable: true }
    }

    pub(crate) async fn token(&self, wallet: &CashuWallet, unit: &str, amount: u64) -> Token {
        minted(wallet.mint(id(), &self.mint_terms(unit, amount), None).await)
    }

    /// Puts so much into the wallet's balance.
    pub(crate) async fn fund(&self, wallet: &CashuWallet, unit: &str, amount: u64) -> u64 {
        let token = self.token(wallet, unit, amount).await;
        wallet.redeem(id(), &self.receive_terms(&token, unit, 0), None).await.unwrap()
    }

    pub(crate) async fn balance(&self, wallet: &CashuWallet, unit: &str) -> u64 {
        let balances = wallet.balances().await.unwrap();
        let mut of_unit = balances.iter().filter(|balance| balance.unit == unit && balance.mint_url == self.url);
        of_unit.next().map_or(0, |balance| balance.amount)
    }

    /// A copy of the store as it is now. No wallet may be using it.
    pub(crate) fn copy_of_store(&self) -> (Arc<SqliteStore>, TempDir) {
        let copy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(self.folder.path()).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
        let store = SqliteStore::open(&copy.path().join("usher.db"), SqliteOptions::default()).unwrap();
        (Arc::new(store), copy)
    }

    pub(crate) async fn totals(&self, unit: &str) -> MintTotals {
        self.mint.totals(unit).await.unwrap()
    }

    /// Asserts that what the mint has issued is in the balance or in these tokens.
    pub(crate) async fn assert_books_agree(&self, wallet: &CashuWallet, tokens: &[Token], what: &str) {
        let (held, balance) = (unspent(wallet, tokens).await, self.balance(wallet, "sat").await);
        assert_eq!(self.totals("sat").await.outstanding(), held + balance, "{what}");
    }

    /// Redeems a token that must be worth so much.
    pub(crate) async fn redeem(&self, wallet: &CashuWallet, token: &Token, unit: &str, amount: u64) {
        assert_eq!(wallet.redeem(id(), &self.receive_terms(token, unit, amount), None).await.unwrap(), amount);
    }
}

/// A world whose mint is behind a proxy that makes it fail.
pub(crate) async fn faulty_world() -> (World, FaultyMint) {
    faulty_world_with(MintOptions::new()).await
}

pub(crate) async fn faulty_world_with(options: MintOptions) -> (World, FaultyMint) {
    let mut world = World::with(options).await;
    let proxy = FaultyMint::start(world.url.clone()).await.unwrap();
    world.url = proxy.url();
    (world, proxy)
}

pub(crate) fn new_store() -> (Arc<SqliteStore>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("usher.db"), SqliteOptions::default()).unwrap();
    (Arc::new(store), folder)
}

pub(crate) async fn wallet_on(
    store: &Arc<SqliteStore>,
    key: &[u8; 32],
    change: impl FnOnce(&mut TicketOptions),
) -> CashuWallet {
    let mut options = TicketOptions::new(usher_http_client::tls_config(Vec::new()).unwrap());
    options.allow_private = true;
    options.longest_pause = Duration::from_secs(1);
    // Longer than anything takes on a busy machine.
    options.wait = Duration::from_secs(60);
    change(&mut options);
    let wallet = CashuWallet::new(key, Arc::clone(store) as _, Arc::new(SystemClock), options).unwrap();
    wallet.start().await.unwrap();
    wallet
}

/// An id that no other job of this process has.
pub(crate) fn id() -> TicketJobId {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    TicketJobId::derive("test", &NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes())
}

pub(crate) fn minted(minted: Result<Minted, TicketError>) -> Token {
    match minted.unwrap() {
        Minted::Token(token) => token,
        other @ Minted::PaymentNeeded { .. } => panic!("{other:?}"),
    }
}

/// What is wrong with a token, by which its job has failed.
pub(crate) fn fault<T: std::fmt::Debug>(result: Result<T, TicketError>) -> TokenFault {
    match result {
        Err(TicketError::Token(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

/// The mint's reason for a refusal.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, TicketError>) -> String {
    match result {
        Err(TicketError::Refused(text)) => text,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn refuse(status: u16, code: u32) -> Fault {
    Fault::Refuse { status, code, detail: "no".to_owned() }
}

/// Waits until the wallet has nothing to do.
pub(crate) async fn settled(wallet: &CashuWallet) {
    until("settled", async || wallet.unfinished_jobs() == 0).await;
}

/// What can be spent, and what is set aside.
pub(crate) async fn balance(wallet: &CashuWallet) -> (u64, u64) {
    let balances = wallet.balances().await.unwrap();
    balances.first().map_or((0, 0), |balance| (balance.amount, balance.set_aside))
}

pub(crate) async fn unspent(wallet: &CashuWallet, tokens: &[Token]) -> u64 {
    let mut value = 0;
    for token in tokens {
        if wallet.token_state(token).await.unwrap() == TokenState::Unspent {
            value += wallet.read_token(token).unwrap().amount;
        }
    }
    value
}

pub(crate) fn altered(token: &Token, change: impl FnOnce(&mut cashu::TokenV4)) -> Token {
    let mut parsed = token.0.parse().unwrap();
    change(&mut parsed);
    Token(parsed.to_string())
}

/// The points Y of a token's proofs in hex, each with its secret.
pub(crate) fn points(token: &Token) -> Vec<(String, String)> {
    let parsed: cashu::TokenV4 = token.0.parse().unwrap();
    let secrets = parsed.token.iter().flat_map(|part| &part.proofs).map(|proof| &proof.secret);
    secrets
        .map(|secret| (cashu::dhke::hash_to_curve(secret.as_bytes()).unwrap().to_hex(), secret.to_string()))
        .collect()
}

/// The points Y of the wallet's own proofs in hex, smallest amount first, each with its secret.
pub(crate) async fn own_points(world: &World, unit: &str) -> Vec<(String, String)> {
    let proofs = world.store.free_proofs(&world.url, unit, 100).await.unwrap();
    let point = |proof: &StoredProof| {
        let parsed: cashu::Proof = serde_json::from_str(&proof.proof).unwrap();
        (parsed.y().unwrap().to_hex(), parsed.secret.to_string())
    };
    proofs.iter().map(point).collect()
}

/// The token without its DLEQ proofs: only a swap shows whether it is real.
pub(crate) fn without_dleq(token: &Token) -> Token {
    altered(token, |parsed| {
        parsed.token.iter_mut().flat_map(|part| &mut part.proofs).for_each(|proof| proof.dleq = None);
    })
}

/// Fail points belong to all of a process: runs the test in one of its own, unless this is that.
pub(crate) fn alone(test: &str) -> Option<()> {
    const CHILD: &str = "USHER_TICKETS_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return Some(());
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let command = command.args(["--exact", test, "--nocapture"]).env(CHILD, "1").stderr(Stdio::inherit());
    let output = command.output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && report.contains("1 passed"), "{report}");
    None
}
