//! What the wallet does when nothing goes wrong.

use std::time::{Duration, Instant};

use usher_engine::ports::{
    MintAuthToken, Minted, ReceiveTerms, TicketError, TicketWallet as _, Token, TokenFault, TokenState,
};
use usher_mint::{KeysetVersion, MintOptions, QuotePayment};

use crate::fixture::{World, fault, id, minted, refusal, settled, without_dleq};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_minted_verified_redeemed_and_withdrawn() {
    for version in [KeysetVersion::V1, KeysetVersion::V2] {
        for unit in ["sat", "multi"] {
            let world = World::with(MintOptions::new().keysets(version)).await;
            let wallet = world.wallet().await;
            let (job, terms) = (id(), world.mint_terms(unit, 21));
            let token = minted(wallet.mint(job, &terms, None).await);
            assert_eq!(token, minted(wallet.mint(job, &terms, None).await), "the same id gives the same token");
            let info = wallet.read_token(&token).unwrap();
            assert_eq!((info.mint_url, info.unit.as_str(), info.amount), (world.url.clone(), unit, 21));
            assert!(token.0.starts_with("cashuB"));
            assert_eq!(wallet.token_state(&token).await.unwrap(), TokenState::Unspent);

            // Whoever gave it can no longer spend it.
            let (job, terms) = (id(), world.receive_terms(&token, unit, 21));
            let verified = wallet.verify(job, &terms).await.unwrap();
            assert_eq!(wallet.verify(job, &terms).await.unwrap(), verified);
            assert_eq!(fault(wallet.verify(id(), &terms).await), TokenFault::AlreadySpent);
            assert_eq!(wallet.token_state(&token).await.unwrap(), TokenState::Spent);

            let (job, terms, token) = (id(), world.receive_terms(&verified, unit, 21), verified);
            assert_eq!(wallet.redeem(job, &terms, None).await.unwrap(), 21);
            assert_eq!(wallet.redeem(job, &terms, None).await.unwrap(), 21);
            assert_eq!(fault(wallet.redeem(id(), &terms, None).await), TokenFault::AlreadySpent);
            assert_eq!(wallet.token_state(&token).await.unwrap(), TokenState::Spent);
            assert_eq!(world.balance(&wallet, unit).await, 21);

            let (job, terms) = (id(), world.withdraw_terms(unit, 5));
            let out = wallet.withdraw(job, &terms, None).await.unwrap();
            assert_eq!(out, wallet.withdraw(job, &terms, None).await.unwrap());
            assert_eq!(wallet.read_token(&out).unwrap().amount, 5);
            assert_eq!(world.balance(&wallet, unit).await, 16);
            let too_much = wallet.withdraw(id(), &world.withdraw_terms(unit, 17), None).await;
            let expected = matches!(too_much, Err(TicketError::InsufficientFunds { available: 16, needed: 17 }));
            assert!(expected, "{too_much:?}");

            let other = wallet.mint(job, &world.mint_terms(unit, 5), None).await;
            assert!(matches!(other, Err(TicketError::OtherJob)), "{other:?}");
            assert_eq!(world.totals(unit).await.outstanding(), 21);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fees_are_accounted_for() {
    let world = World::with(MintOptions::new().input_fee_ppk(100)).await;
    let wallet = world.wallet().await;
    let token = world.token(&wallet, "sat", 100).await;
    let too_little = fault(wallet.redeem(id(), &world.receive_terms(&token, "sat", 100), None).await);
    assert_eq!(too_little, TokenFault::TooLittle { amount: 100, fee: 1, at_least: 100 });
    world.redeem(&wallet, &token, "sat", 99).await;
    let one = world.token(&wallet, "sat", 1).await;
    let worthless = wallet.redeem(id(), &world.receive_terms(&one, "sat", 0), None).await;
    assert_eq!(fault(worthless), TokenFault::WorthNothing);
    // Of the token that it is swapped for, nothing redeemable would be left.
    let two = world.token(&wallet, "sat", 2).await;
    for token in [&one, &two] {
        let worthless = wallet.verify(id(), &world.receive_terms(token, "sat", 1)).await;
        assert_eq!(fault(worthless), TokenFault::WorthNothing);
        assert_eq!(wallet.token_state(token).await.unwrap(), TokenState::Unspent);
    }
    let token = wallet.withdraw(id(), &world.withdraw_terms("sat", 50), None).await.unwrap();
    assert_eq!(wallet.read_token(&token).unwrap().amount, 50);
    assert_eq!(world.balance(&wallet, "sat").await, 48, "99, 50 and a fee of 1");
}

/// With and without DLEQ proofs. Redeeming what is handed on costs its own fee.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_amount_is_what_is_left_after_the_fee() {
    let world = World::with(MintOptions::new().input_fee_ppk(100)).await;
    let wallet = world.wallet().await;
    for (contains, has_dleq, accepted) in [(8, true, false), (8, false, false), (9, true, true), (9, false, true)] {
        let mut token = world.token(&wallet, "sat", contains).await;
        if !has_dleq {
            token = without_dleq(&token);
        }
        let terms = world.receive_terms(&token, "sat", 8);
        match wallet.verify(id(), &terms).await {
            Ok(verified) => {
                assert!(accepted, "{contains} {has_dleq}");
                assert_eq!(wallet.read_token(&verified).unwrap().amount, 8);
                world.redeem(&wallet, &verified, "sat", 7).await;
            }
            Err(TicketError::Token(TokenFault::TooLittle { amount, fee, at_least: 8 })) => {
                assert!(!accepted && amount == contains && amount - fee < 8, "{contains} {has_dleq}: {fee}");
                assert_eq!(wallet.token_state(&token).await.unwrap(), TokenState::Unspent, "its owner still has it");
            }
            other => panic!("{contains} {has_dleq}: {other:?}"),
        }
        if contains == 8 {
            let too_little = fault(wallet.redeem(id(), &terms, None).await);
            assert!(matches!(too_little, TokenFault::TooLittle { .. }), "{too_little:?}");
            assert_eq!(wallet.with_fee(&world.url, "sat", 8).await.unwrap(), 9);
        }
    }
}

/// Whoever asked without a key has been answered by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_token_of_a_request_that_cannot_be_repeated_joins_the_balance() {
    let world = World::with(MintOptions::new().quotes(QuotePayment::Manual)).await;
    let wallet = world.wallet_with(|options| options.wait = Duration::from_secs(3)).await;
    let (job, mut terms) = (id(), world.mint_terms("sat", 9));
    terms.repeatable = false;
    let began = Instant::now();
    let asked = wallet.mint(job, &terms, None).await.unwrap();
    let Minted::PaymentNeeded { invoice, .. } = asked else { panic!("{asked:?}") };
    tokio::time::sleep(Duration::from_secs(3).saturating_sub(began.elapsed())).await;
    world.mint.pay_quote(&invoice).await.unwrap();
    let late = wallet.mint(job, &terms, None).await;
    assert!(matches!(late, Err(TicketError::TimedOut)), "{late:?}");
    settled(&wallet).await;
    assert_eq!(world.balance(&wallet, "sat").await, 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operators_mint_wants_its_token() {
    let world = World::with(MintOptions::new().auth_token("open sesame")).await;
    let wallet = world.wallet().await;
    let (job, mut terms) = (id(), world.mint_terms("multi", 1));
    refusal(wallet.mint(job, &terms, None).await);
    terms.auth = Some(MintAuthToken("open sesame".to_owned()));
    let token = minted(wallet.mint(job, &terms, None).await);
    let mut terms = world.receive_terms(&token, "multi", 1);
    terms.auth = Some(MintAuthToken("open sesame".to_owned()));
    terms.token = wallet.verify(id(), &terms).await.unwrap();
    // A wrong token changes nothing and holds nothing up: with the right one, the same id or another one redeems it.
    let (job, right) = (id(), terms.auth.clone());
    terms.auth = Some(MintAuthToken("open barley".to_owned()));
    for _ in 0..2 {
        refusal(wallet.redeem(job, &terms, None).await);
    }
    terms.auth = right;
    assert_eq!(wallet.redeem(job, &terms, None).await.unwrap(), 1);
}

/// A failed job has changed nothing: its id may be used for what was meant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_id_of_a_failed_job_takes_a_corrected_request() {
    let world = World::new().await;
    let wallet = world.wallet().await;
    world.fund(&wallet, "sat", 10).await;
    let job = id();
    let too_much = wallet.withdraw(job, &world.withdraw_terms("sat", 1000), None).await;
    assert!(matches!(too_much, Err(TicketError::InsufficientFunds { .. })), "{too_much:?}");
    let token = wallet.withdraw(job, &world.withdraw_terms("sat", 4), None).await.unwrap();
    assert_eq!(wallet.withdraw(job, &world.withdraw_terms("sat", 4), None).await.unwrap(), token);
    let other = wallet.withdraw(job, &world.withdraw_terms("sat", 5), None).await;
    assert!(matches!(other, Err(TicketError::OtherJob)), "{other:?}");
    assert_eq!(world.balance(&wallet, "sat").await, 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_redemptions_one_succeeds() {
    let world = World::new().await;
    let wallet = world.wallet().await;
    for _ in 0..10 {
        let token = world.token(&wallet, "sat", 7).await;
        let terms = world.receive_terms(&token, "sat", 7);
        let (first, second) = (id(), id());
        let (one, other) = tokio::join!(wallet.redeem(first, &terms, None), wallet.redeem(second, &terms, None));
        let (redeemed, refused) = if one.is_ok() { (one, other) } else { (other, one) };
        assert_eq!((redeemed.unwrap(), fault(refused)), (7, TokenFault::AlreadySpent));
    }
    assert_eq!(world.balance(&wallet, "sat").await, 70);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_token_is_refused() {
    let world = World::new().await;
    let wallet = world.wallet().await;
    let token = world.token(&wallet, "sat", 3).await;
    let read = |text: &str| wallet.read_token(&Token(text.to_owned()));
    for text in ["", "cashu", "cashuA", "cashuB", "cashuC1234", "cashuBo2Ft", "x".repeat(1000).as_str(), "cashu:cashu:"]
    {
        assert_eq!(read(text), Err(TokenFault::Malformed), "{text}");
    }
    assert!(matches!(read(&"c".repeat(1 << 20)), Err(TokenFault::TooLarge { of: "bytes", .. })));
    assert_eq!(read(&format!("cashu:{}", token.0)).unwrap().amount, 3);
    let elsewhere = "http://127.0.0.1:1".to_owned();
    for (terms, expected) in [
        (world.receive_terms(&token, "multi", 3), TokenFault::OtherUnit),
        (ReceiveTerms { mint_url: elsewhere, ..world.receive_terms(&token, "sat", 3) }, TokenFault::OtherMint),
        (world.receive_terms(&token, "sat", 4), TokenFault::TooLittle { amount: 3, fee: 0, at_least: 4 }),
    ] {
        assert_eq!(fault(wallet.verify(id(), &terms).await), expected);
    }
}
