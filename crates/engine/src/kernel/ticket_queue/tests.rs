use super::*;
use crate::kernel::fixtures::{Around, stream, within};
use crate::machine::TicketReply;
use crate::ports::{MintTerms, ReceiveTerms, Token};
use crate::testing::{self, FakeTicketWallet};

const HANGS: &str = "https://hangs.example";
const WORKS: &str = "https://works.example";

/// A ticket wallet with a mint that hangs and others that respond at once.
fn wallet() -> Arc<FakeTicketWallet> {
    let wallet = Arc::new(FakeTicketWallet::default());
    wallet.hold(Some(HANGS));
    wallet
}

fn queue(around: &Around, wallet: Option<&Arc<FakeTicketWallet>>) -> Arc<TicketQueue> {
    let wallet = wallet.map(|wallet| Arc::clone(wallet) as Arc<dyn TicketWallet>);
    TicketQueue::new(around.core(), wallet, Arc::default())
}

fn token(mint_url: &str, name: &str) -> Token {
    testing::token(mint_url, "sat", 5, name)
}

fn terms(mint_url: &str, name: &str) -> ReceiveTerms {
    ReceiveTerms {
        token: token(mint_url, name),
        mint_url: mint_url.to_owned(),
        unit: "sat".to_owned(),
        at_least: 1,
        auth: None,
    }
}

fn check(mint_url: &str) -> TicketCall {
    TicketCall::CheckState { token: token(mint_url, "ours"), mint_url: mint_url.to_owned() }
}

#[tokio::test]
async fn each_call_becomes_its_reply_and_its_job_follows_from_the_stream() {
    let (mut around, wallet) = (Around::new(), wallet());
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
        (TicketCall::Redeem(terms(WORKS, "redeemed")), "Redeemed(Ok(4))"),
        (TicketCall::Verify(terms(WORKS, "verified")), "Verified(Ok(VerifiedToken { token: Token(…), amount: 5 }))"),
        (check(WORKS), "State(Ok(Unspent))"),
    ] {
        queue.put(stream(1), call);
        let (id, Input::Ticket(reply)) = around.input().await else { panic!("another input") };
        assert_eq!((id, format!("{reply:?}")), (stream(1), expected.to_owned()));
    }
    let jobs = ["mint", "redeem", "verify"].map(|kind| wallet.calls(kind)[0]);
    assert_eq!(HashSet::from(jobs).len(), 3, "a job of each kind");
    around.open(stream(2));
    queue.put(stream(2), TicketCall::Verify(terms(WORKS, "other")));
    around.input().await;
    assert_ne!(wallet.calls("verify")[0], wallet.calls("verify")[1]);
}

#[tokio::test]
async fn a_call_is_not_made_again_until_its_reply_is_processed() {
    let (mut around, wallet) = (Around::new(), wallet());
    let queue = queue(&around, Some(&wallet));
    around.open(stream(1));
    queue.put(stream(1), TicketCall::Verify(terms(WORKS, "ours")));
    queue.put(stream(1), TicketCall::Verify(terms(WORKS, "ours")));
    let (id, input) = around.input().await;
    queue.put(stream(1), TicketCall::Verify(terms(WORKS, "ours")));
    assert_eq!(wallet.calls("verify").len(), 1);
    queue.processed(id, &input);
    queue.put(stream(1), TicketCall::Verify(terms(WORKS, "ours")));
    around.input().await;
    let made = wallet.calls("verify");
    assert_eq!((made.len(), made[0]), (2, made[1]), "the same job");
}

#[tokio::test]
async fn what_does_not_fit_into_the_queue_is_asked_again_later() {
    let (mut around, wallet) = (Around::new(), wallet());
    let queue = queue(&around, Some(&wallet));
    around.open(stream(1));
    for _ in 0..JOBS.of_one_mint + JOBS.waiting {
        queue.jobs.enter(stream(2), TicketCall::Redeem(terms(HANGS, "ours")));
    }
    queue.put(stream(1), TicketCall::Redeem(terms(HANGS, "ours")));
    let (id, Input::Ticket(TicketReply::Redeemed(Err(failure)))) = around.input().await else { panic!("a result") };
    assert!(id == stream(1) && matches!(*failure, TicketError::Overloaded), "{failure}");
}

#[tokio::test]
async fn a_call_that_panics_has_an_unknown_outcome_and_one_of_an_ended_operation_is_not_made() {
    let (mut around, wallet) = (Around::new(), wallet());
    let queue = queue(&around, Some(&wallet));
    around.open(stream(1));
    wallet.panic(true);
    queue.put(stream(1), TicketCall::Verify(terms(WORKS, "ours")));
    let (_, Input::Ticket(TicketReply::Verified(Err(failure)))) = around.input().await else { panic!("a result") };
    assert!(!failure.is_definite(), "{failure}");
    wallet.panic(false);
    queue.put(stream(9), check(WORKS));
    within("it is skipped", || (!queue.pending.lock().iter().any(|(id, _)| *id == stream(9))).then_some(())).await;
    assert_eq!(wallet.checks(), 0);
}

#[tokio::test]
async fn without_a_wallet_nothing_is_known() {
    let mut around = Around::new();
    let queue = queue(&around, None);
    around.open(stream(1));
    queue.put(stream(1), TicketCall::Redeem(terms(WORKS, "ours")));
    let (_, Input::Ticket(TicketReply::Redeemed(Err(failure)))) = around.input().await else { panic!("a result") };
    assert!(!failure.is_definite(), "{failure}");
}
