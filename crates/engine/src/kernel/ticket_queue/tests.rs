use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::*;
use crate::kernel::fixtures::{Around, stream, within};
use crate::operations::TicketReply;
use crate::ports::{
    MintTerms, Minted, ReceiveTerms, StoreError, TicketBalance, TicketJobId, Token, TokenFault, TokenInfo, TokenState,
    WithdrawTerms,
};

/// A ticket wallet with a mint that hangs and others that respond at once.
struct HangingMint {
    calls: Mutex<Vec<(&'static str, TicketJobId)>>,
    checks: AtomicUsize,
    panics: AtomicBool,
    /// A permit for each call to the hanging mint that may return.
    gate: Semaphore,
}

const HANGS: &str = "https://hangs.example";
const WORKS: &str = "https://works.example";

impl HangingMint {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            checks: AtomicUsize::new(0),
            panics: AtomicBool::new(false),
            gate: Semaphore::new(0),
        })
    }

    async fn respond(&self, mint_url: &str) {
        assert!(!self.panics.load(Ordering::SeqCst), "on purpose");
        if mint_url == HANGS {
            self.gate.acquire().await.unwrap().forget();
        }
    }

    fn made(&self, kind: &str) -> Vec<TicketJobId> {
        self.calls.lock().iter().filter(|(made, _)| *made == kind).map(|(_, id)| *id).collect()
    }
}

#[async_trait]
impl TicketWallet for HangingMint {
    fn read_token(&self, _: &Token) -> Result<TokenInfo, TokenFault> {
        Ok(TokenInfo { mint_url: WORKS.to_owned(), unit: "sat".to_owned(), amount: 5, proofs: 2 })
    }

    async fn mint(&self, id: TicketJobId, terms: &MintTerms) -> Result<Minted, TicketError> {
        self.calls.lock().push(("mint", id));
        self.respond(&terms.mint_url).await;
        Ok(Minted::Token(Token("cashuBminted".to_owned())))
    }

    async fn redeem(&self, id: TicketJobId, terms: &ReceiveTerms) -> Result<u64, TicketError> {
        self.calls.lock().push(("redeem", id));
        self.respond(&terms.mint_url).await;
        Ok(4)
    }

    async fn verify(&self, id: TicketJobId, terms: &ReceiveTerms) -> Result<Token, TicketError> {
        self.calls.lock().push(("verify", id));
        self.respond(&terms.mint_url).await;
        Ok(terms.token.clone())
    }

    async fn give_up(&self, id: TicketJobId) -> Result<Option<Token>, TicketError> {
        self.calls.lock().push(("give_up", id));
        Ok(None)
    }

    async fn abandon_quote(&self, id: TicketJobId) {
        self.calls.lock().push(("abandon_quote", id));
    }

    async fn withdraw(&self, _: TicketJobId, _: &WithdrawTerms) -> Result<Token, TicketError> {
        Err(TicketError::TimedOut)
    }

    async fn token_state(&self, token: &Token) -> Result<TokenState, TicketError> {
        self.checks.fetch_add(1, Ordering::SeqCst);
        self.respond(&token.0).await;
        Ok(TokenState::Unspent)
    }

    async fn balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        Ok(Vec::new())
    }
}

fn queue(around: &Around, wallet: Option<&Arc<HangingMint>>) -> Arc<TicketQueue> {
    let wallet = wallet.map(|wallet| Arc::clone(wallet) as Arc<dyn TicketWallet>);
    TicketQueue::new(around.core(), wallet, Arc::default())
}

fn terms(mint_url: &str) -> ReceiveTerms {
    ReceiveTerms {
        token: Token("cashuB".to_owned()),
        mint_url: mint_url.to_owned(),
        unit: "sat".to_owned(),
        at_least: 1,
        auth: None,
    }
}

fn check(mint_url: &str) -> TicketCall {
    TicketCall::CheckState { token: Token(mint_url.to_owned()), mint_url: mint_url.to_owned() }
}

#[tokio::test]
async fn each_call_becomes_its_reply_and_its_job_follows_from_the_stream() {
    let (mut around, wallet) = (Around::new(), HangingMint::new());
    let queue = queue(&around, Some(&wallet));
    around.open(stream(1));
    let mint = MintTerms {
        mint_url: WORKS.to_owned(),
        unit: "sat".to_owned(),
        amount: 5,
        description: None,
        auth: None,
        repeatable: true,
    };
    for (call, expected) in [
        (TicketCall::Mint(mint), "Minted(Ok(Token(Token(…))))"),
        (TicketCall::Redeem(terms(WORKS)), "Redeemed(Ok(4))"),
        (TicketCall::Verify(terms(WORKS)), "Verified(Ok(VerifiedToken { token: Token(…), amount: 5 }))"),
        (check(WORKS), "State(Ok(Unspent))"),
    ] {
        queue.put(stream(1), call);
        let (id, Input::Ticket(reply)) = around.input().await else { panic!("another input") };
        assert_eq!((id, format!("{reply:?}")), (stream(1), expected.to_owned()));
    }
    let jobs = ["mint", "redeem", "verify"].map(|kind| wallet.made(kind)[0]);
    assert_eq!(HashSet::from(jobs).len(), 3, "a job of each kind");
    around.open(stream(2));
    queue.put(stream(2), TicketCall::Verify(terms(WORKS)));
    around.input().await;
    assert_ne!(wallet.made("verify")[0], wallet.made("verify")[1]);
    around.stop().await;
}

#[tokio::test]
async fn a_call_is_not_made_again_until_its_reply_is_processed() {
    let (mut around, wallet) = (Around::new(), HangingMint::new());
    let queue = queue(&around, Some(&wallet));
    around.open(stream(1));
    queue.put(stream(1), TicketCall::Verify(terms(WORKS)));
    queue.put(stream(1), TicketCall::Verify(terms(WORKS)));
    let (id, input) = around.input().await;
    queue.put(stream(1), TicketCall::Verify(terms(WORKS)));
    assert_eq!(wallet.made("verify").len(), 1);
    queue.processed(id, &input);
    queue.put(stream(1), TicketCall::Verify(terms(WORKS)));
    around.input().await;
    let made = wallet.made("verify");
    assert_eq!((made.len(), made[0]), (2, made[1]), "the same job");
    around.stop().await;
}

#[tokio::test]
async fn a_mint_that_hangs_holds_up_nobody_else() {
    let (mut around, wallet) = (Around::new(), HangingMint::new());
    let queue = queue(&around, Some(&wallet));
    for n in 0..100 {
        around.open(stream(n));
        queue.put(stream(n), TicketCall::Redeem(terms(HANGS)));
        queue.put(stream(n), check(HANGS));
    }
    around.open(stream(200));
    queue.put(stream(200), TicketCall::Redeem(terms(WORKS)));
    let (id, input) = around.input().await;
    assert!(id == stream(200) && matches!(input, Input::Ticket(TicketReply::Redeemed(Ok(4)))), "{id:?} {input:?}");
    queue.put(stream(200), check(WORKS));
    assert!(matches!(around.input().await.1, Input::Ticket(TicketReply::State(Ok(_)))));
    assert_eq!(wallet.made("redeem").len(), JOBS.of_one_mint + 1, "what runs is bounded");
    // Those that wait run when the mint responds again.
    wallet.gate.add_permits(1_000);
    for _ in 0..200 {
        around.input().await;
    }
    assert_eq!(wallet.made("redeem").len(), 101);
    around.stop().await;
}

#[tokio::test]
async fn what_does_not_fit_into_the_queue_is_asked_again_later() {
    let (mut around, wallet) = (Around::new(), HangingMint::new());
    let queue = queue(&around, Some(&wallet));
    around.open(stream(1));
    for _ in 0..JOBS.of_one_mint + JOBS.waiting {
        queue.jobs.enter(stream(2), TicketCall::Redeem(terms(HANGS)));
    }
    queue.put(stream(1), TicketCall::Redeem(terms(HANGS)));
    let (id, Input::Ticket(TicketReply::Redeemed(Err(failure)))) = around.input().await else { panic!("a result") };
    assert!(id == stream(1) && matches!(*failure, TicketError::Overloaded), "{failure}");
    around.stop().await;
}

#[tokio::test]
async fn a_call_that_panics_has_an_unknown_outcome_and_one_of_an_ended_operation_is_not_made() {
    let (mut around, wallet) = (Around::new(), HangingMint::new());
    let queue = queue(&around, Some(&wallet));
    around.open(stream(1));
    wallet.panics.store(true, Ordering::SeqCst);
    queue.put(stream(1), TicketCall::Verify(terms(WORKS)));
    let (_, Input::Ticket(TicketReply::Verified(Err(failure)))) = around.input().await else { panic!("a result") };
    assert!(!failure.is_definite(), "{failure}");
    wallet.panics.store(false, Ordering::SeqCst);
    queue.put(stream(9), check(WORKS));
    within("it is skipped", || (!queue.pending.lock().iter().any(|(id, _)| *id == stream(9))).then_some(())).await;
    assert_eq!(wallet.checks.load(Ordering::SeqCst), 0);
    around.stop().await;
}

#[tokio::test]
async fn without_a_wallet_nothing_is_known() {
    let mut around = Around::new();
    let queue = queue(&around, None);
    around.open(stream(1));
    queue.put(stream(1), TicketCall::Redeem(terms(WORKS)));
    let (_, Input::Ticket(TicketReply::Redeemed(Err(failure)))) = around.input().await else { panic!("a result") };
    assert!(!failure.is_definite(), "{failure}");
    around.stop().await;
}
