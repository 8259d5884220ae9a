//! A job's task ends at each edge, the wallet is dropped, and another one continues on the same store.

use usher_engine::ports::{MintTerms, Minted, TicketJobId, TicketWallet as _, Token, TokenState, WithdrawTerms};
use usher_mint::{KeysetVersion, MintOptions, QuotePayment, Rotation};
use usher_tickets::CashuWallet;

use crate::fixture::{World, alone, id, minted, settled, without_dleq};

/// Every edge of a job.
const EDGES: [&str; 13] = [
    "tickets-before-start",
    "tickets-after-start",
    "tickets-before-quote",
    "tickets-after-quote",
    "tickets-before-quoted",
    "tickets-after-quoted",
    "tickets-before-mint",
    "tickets-after-mint",
    "tickets-before-swap",
    "tickets-after-swap",
    "tickets-before-end",
    "tickets-after-end",
    "tickets-after-failed-swap",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Mint,
    Redeem,
    Verify,
    Withdraw,
}

const OPERATIONS: [Operation; 4] = [Operation::Mint, Operation::Redeem, Operation::Verify, Operation::Withdraw];

/// What a job gave: a token, or nothing but the balance.
async fn perform(
    world: &World,
    wallet: &CashuWallet,
    operation: Operation,
    id: TicketJobId,
    token: &Token,
) -> Option<Option<Token>> {
    let terms = world.receive_terms(token, "sat", 30);
    match operation {
        Operation::Mint => {
            wallet.mint(id, &world.mint_terms("sat", 37), None).await.ok().map(|outcome| Some(minted(Ok(outcome))))
        }
        Operation::Redeem => wallet.redeem(id, &terms, None).await.ok().map(|_| None),
        Operation::Verify => wallet.verify(id, &terms).await.ok().map(Some),
        Operation::Withdraw => wallet.withdraw(id, &world.withdraw_terms("sat", 11), None).await.ok().map(Some),
    }
}

async fn crash_everywhere(fee: u64, version: KeysetVersion) {
    let world = World::with(MintOptions::new().input_fee_ppk(fee).keysets(version)).await;
    let mut wallet = world.wallet().await;
    world.fund(&wallet, "sat", 1000).await;
    let mut tokens = Vec::new();
    let mut crashes = 0;
    for operation in OPERATIONS {
        for edge in EDGES {
            let given = world.token(&wallet, "sat", 37).await;
            tokens.push(given.clone());
            let job = id();
            fail::cfg(edge, "1*return").unwrap();
            let before = perform(&world, &wallet, operation, job, &given).await;
            crashes += usize::from(before.is_none());
            drop(wallet);
            fail::remove(edge);

            wallet = world.wallet().await;
            settled(&wallet).await;
            let after = perform(&world, &wallet, operation, job, &given).await;
            let after = after.unwrap_or_else(|| panic!("{operation:?} does not continue after {edge}"));
            if let Some(before) = before {
                assert_eq!(before, after, "{operation:?} {edge}");
            }
            assert_eq!(perform(&world, &wallet, operation, job, &given).await, Some(after.clone()));
            tokens.extend(after);
            world.assert_books_agree(&wallet, &tokens, &format!("{operation:?} {edge}")).await;
        }
    }
    assert!(crashes >= 25, "{crashes} crashes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_edge_without_fees() {
    let Some(()) = alone("fail_points::every_edge_without_fees") else { return };
    crash_everywhere(0, KeysetVersion::V2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_edge_with_fees() {
    let Some(()) = alone("fail_points::every_edge_with_fees") else { return };
    crash_everywhere(100, KeysetVersion::V1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_nobody_can_ask_for_joins_the_balance() {
    let Some(()) = alone("fail_points::a_token_that_nobody_can_ask_for_joins_the_balance") else { return };
    let world = World::new().await;
    let mut balance = 0;
    let edges = ["after-quoted", "before-mint", "after-mint", "before-end"].map(|edge| (edge, true));
    for (edge, mints) in edges.into_iter().chain(["before-swap", "after-swap", "before-end"].map(|edge| (edge, false)))
    {
        let edge = format!("tickets-{edge}");
        let wallet = world.wallet().await;
        fail::cfg(&edge, "1*return").unwrap();
        if mints {
            wallet.mint(id(), &MintTerms { repeatable: false, ..world.mint_terms("sat", 5) }, None).await.unwrap_err();
            balance += 5;
        } else {
            let terms = WithdrawTerms { repeatable: false, ..world.withdraw_terms("sat", 3) };
            wallet.withdraw(id(), &terms, None).await.unwrap_err();
        }
        drop(wallet);
        fail::remove(&edge);
        let wallet = world.wallet().await;
        settled(&wallet).await;
        assert_eq!(world.balance(&wallet, "sat").await, balance, "{edge}");
    }
    assert_eq!(world.totals("sat").await.outstanding(), balance);
}

/// The mint rotates its keyset after the outputs were prepared, and before it is asked; and the process ends while new ones
/// are prepared.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotation_between_the_steps() {
    let Some(()) = alone("fail_points::a_rotation_between_the_steps") else { return };
    for fee in [0, 100] {
        let world = World::with(MintOptions::new().input_fee_ppk(fee)).await;
        let mut wallet = world.wallet().await;
        world.fund(&wallet, "sat", 500).await;
        let mut tokens = Vec::new();
        for operation in [Operation::Redeem, Operation::Verify, Operation::Withdraw, Operation::Mint] {
            for edge in ["tickets-before-new-outputs", "tickets-after-new-outputs", "none"] {
                let given = without_dleq(&world.token(&wallet, "sat", 37).await);
                tokens.push(given.clone());
                let job = id();
                let first = if operation == Operation::Mint { "tickets-after-quoted" } else { "tickets-after-start" };
                fail::cfg(first, "1*return").unwrap();
                assert_eq!(perform(&world, &wallet, operation, job, &given).await, None);
                fail::remove(first);
                drop(wallet);
                let rotation = Rotation { input_fee_ppk: fee, ..Rotation::default() };
                world.mint.rotate_keyset("sat", rotation).await.unwrap();
                if edge != "none" {
                    fail::cfg(edge, "return").unwrap();
                    wallet = world.wallet().await;
                    let reached = perform(&world, &wallet, operation, job, &given).await;
                    assert_eq!(reached, None, "{operation:?} reaches {edge}");
                    fail::remove(edge);
                    drop(wallet);
                }
                wallet = world.wallet().await;
                let after = perform(&world, &wallet, operation, job, &given).await;
                let after = after.unwrap_or_else(|| panic!("{operation:?} {edge}"));
                tokens.extend(after);
                world.assert_books_agree(&wallet, &tokens, &format!("{operation:?} {edge}")).await;
            }
        }
    }
}

/// A quote that must be paid: the process ends before and after the payment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quote_that_is_paid_is_minted_for() {
    let Some(()) = alone("fail_points::a_quote_that_is_paid_is_minted_for") else { return };
    let world = World::with(MintOptions::new().quotes(QuotePayment::Manual)).await;
    for edge in ["tickets-after-quoted", "tickets-before-mint", "tickets-after-mint", "tickets-before-end"] {
        for repeatable in [true, false] {
            let wallet = world.wallet().await;
            let before = world.balance(&wallet, "sat").await;
            let mut terms = world.mint_terms("sat", 9);
            terms.repeatable = repeatable;
            let job = id();
            let asked = wallet.mint(job, &terms, None).await.unwrap();
            let Minted::PaymentNeeded { invoice, expires_at: Some(_) } = asked else { panic!("{asked:?}") };
            world.mint.pay_quote(&invoice).await.unwrap();
            fail::cfg(edge, "1*return").unwrap();
            let first = wallet.mint(job, &terms, None).await;
            fail::remove(edge);
            drop(wallet);
            let wallet = world.wallet().await;
            settled(&wallet).await;
            if repeatable {
                let token = minted(wallet.mint(job, &terms, None).await);
                assert_eq!(wallet.read_token(&token).unwrap().amount, 9);
                assert_eq!(wallet.token_state(&token).await.unwrap(), TokenState::Unspent);
                assert_eq!(world.balance(&wallet, "sat").await, before);
            } else if first.is_err() {
                assert_eq!(world.balance(&wallet, "sat").await, before + 9, "{edge}");
            }
        }
    }
}
