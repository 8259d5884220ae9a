//! Mints that hang, lie, refuse and forget: nothing is lost, and success is never reported for what is not there.

use std::sync::Arc;
use std::time::Duration;

use cashu::nuts::nut00::ProofV4;
use usher_engine::ports::{TicketError, TicketWallet as _, Token, TokenFault};
use usher_testing::mint::{FalseResponse, Fault, Garbage, MintRoute};

use crate::fixture::{
    World, altered, fault, faulty_world, id, minted, refusal, refuse, settled, unspent, until, without_dleq,
};

/// The mint may have done it, or can be asked again.
fn unclear() -> Vec<Fault> {
    use FalseResponse::{DoubledAmounts, FewerSignatures, ForgedSignatures, NoDleq, OtherKeyset, WrongDleq};
    use Garbage::{Bytes, Empty, EmptyObject, Endless, Half, Html, Huge, Nested};
    let acts_and_refuses = |(status, code)| Fault::ActAndRefuse { status, code, detail: "no".to_owned() };
    let mut faults = vec![Fault::Hang, Fault::ActAndHang, Fault::Drop, Fault::ActAndDrop, Fault::ActAndCut];
    faults.extend([Fault::ActLate(Duration::from_millis(2500)), Fault::Redirect("http://127.0.0.1:1/".to_owned())]);
    faults.extend([refuse(500, 0), refuse(429, 0)]);
    faults.extend([(500, 0), (400, 11001), (400, 11002), (400, 11003), (400, 0)].map(acts_and_refuses));
    faults.extend([Empty, Html, Bytes, Half, EmptyObject, Nested(100_000), Huge(4 << 20), Endless].map(Fault::Garbage));
    let false_responses = [DoubledAmounts, FewerSignatures, OtherKeyset, ForgedSignatures, WrongDleq, NoDleq];
    faults.extend(false_responses.map(Fault::False));
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_one_response_is_the_job_is_done_once() {
    let (world, proxy) = faulty_world().await;
    let wallet = Arc::new(world.impatient(1_500, 15_000).await);
    world.fund(&wallet, "sat", 2000).await;
    let mut tokens = Vec::new();
    for fault in unclear() {
        let given = without_dleq(&world.token(&wallet, "sat", 37).await);
        tokens.push(given.clone());
        proxy.once(MintRoute::Mint, fault.clone());
        tokens.push(minted(wallet.mint(id(), &world.mint_terms("sat", 6), None).await));
        proxy.once(MintRoute::Swap, fault.clone());
        let (job, terms) = (id(), world.receive_terms(&given, "sat", 37));
        let verified = wallet.verify(job, &terms).await.unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
        assert_eq!(wallet.verify(job, &terms).await.unwrap(), verified);
        tokens.push(verified.clone());
        proxy.once(MintRoute::Swap, fault.clone());
        let terms = world.receive_terms(&verified, "sat", 37);
        assert_eq!(wallet.redeem(id(), &terms, None).await.unwrap(), 37, "{fault:?}");
        proxy.once(MintRoute::Swap, fault.clone());
        tokens.push(wallet.withdraw(id(), &world.withdraw_terms("sat", 11), None).await.unwrap());
        proxy.heal();
        world.assert_books_agree(&wallet, &tokens, &format!("{fault:?}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clear_refusal_changes_nothing() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.impatient(1_500, 15_000).await;
    world.fund(&wallet, "sat", 100).await;
    let token = world.token(&wallet, "sat", 9).await;
    let secret = "5f3c".repeat(16);
    let detail = format!("bad input {{'secret': '{secret}'}}");
    let refuse = Fault::Refuse { status: 400, code: 20003, detail };
    let check = |text: String| assert!(text.contains("bad input") && !text.contains(&secret), "{text}");
    let terms = world.receive_terms(&token, "sat", 9);
    let (redemption, withdrawal, job) = (id(), id(), id());
    proxy.once(MintRoute::Swap, refuse.clone());
    check(refusal(wallet.redeem(redemption, &terms, None).await));
    proxy.once(MintRoute::Swap, refuse.clone());
    check(refusal(wallet.withdraw(withdrawal, &world.withdraw_terms("sat", 5), None).await));
    proxy.once(MintRoute::CreateQuote, refuse.clone());
    check(refusal(wallet.mint(job, &world.mint_terms("sat", 5), None).await));
    assert_eq!(world.balance(&wallet, "sat").await, 100);
    // Once the mint works again, the same id is another attempt.
    minted(wallet.mint(job, &world.mint_terms("sat", 5), None).await);
    assert_eq!(wallet.redeem(redemption, &terms, None).await.unwrap(), 9);
    wallet.withdraw(withdrawal, &world.withdraw_terms("sat", 5), None).await.unwrap();
    assert_eq!(world.balance(&wallet, "sat").await, 104);
    // A quote that had to be paid is not given up because of one refusal.
    proxy.once(MintRoute::Mint, refuse);
    minted(wallet.mint(id(), &world.mint_terms("sat", 5), None).await);
}

/// The mint refuses the keyset that it names itself: the wallet does not ask it again and again, nor use up counters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mint_that_refuses_its_own_keyset_is_not_asked_without_end() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.impatient(20_000, 5_000).await;
    let token = world.token(&wallet, "sat", 9).await;
    for (route, code) in [(MintRoute::Swap, 12002), (MintRoute::Mint, 12001)] {
        proxy.set(route, refuse(400, code));
    }
    let asked = |route| proxy.count(route);
    let (before, terms, job) = (asked(MintRoute::Swap), world.receive_terms(&token, "sat", 9), id());
    refusal(wallet.redeem(job, &terms, None).await);
    assert_eq!(asked(MintRoute::Swap) - before, 1);
    // The quote had to be paid, so the wallet does not give it up.
    let (before, other) = (asked(MintRoute::Mint), id());
    wallet.mint(other, &world.mint_terms("sat", 5), None).await.unwrap_err();
    assert!(asked(MintRoute::Mint) - before < 20, "{}", asked(MintRoute::Mint) - before);
    proxy.heal();
    assert_eq!(wallet.redeem(job, &terms, None).await.unwrap(), 9);
    minted(wallet.mint(other, &world.mint_terms("sat", 5), None).await);
}

/// The signatures are worthless, also when they are asked for again: nothing is reported, until the mint is honest again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worthless_signatures_are_never_a_success() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.impatient(5_000, 6_000).await;
    let token = world.token(&wallet, "sat", 9).await;
    for route in [MintRoute::Swap, MintRoute::Restore] {
        proxy.set(route, Fault::False(FalseResponse::WrongDleq));
    }
    let (job, terms) = (id(), world.receive_terms(&token, "sat", 9));
    let failed = wallet.redeem(job, &terms, None).await;
    assert!(matches!(failed, Err(TicketError::InvalidResponse(_))), "{failed:?}");
    assert_eq!(world.balance(&wallet, "sat").await, 0);
    proxy.heal();
    while wallet.redeem(job, &terms, None).await.is_err() {}
    assert_eq!(world.balance(&wallet, "sat").await, 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mint_that_hangs_slows_no_other_and_its_jobs_are_bounded() {
    let (hanging, proxy) = faulty_world().await;
    let wallet = hanging
        .wallet_with(|options| {
            options.wait = Duration::from_secs(10);
            options.max_jobs_per_mint = 3;
        })
        .await;
    let token = hanging.token(&wallet, "sat", 9).await;
    // The job that minted it no longer takes a place.
    settled(&wallet).await;
    proxy.set_all(&Fault::Hang);
    let wallet = Arc::new(wallet);
    let stuck: Vec<_> = (0..3)
        .map(|_| {
            let (wallet, terms) = (Arc::clone(&wallet), hanging.mint_terms("sat", 1));
            tokio::spawn(async move { wallet.mint(id(), &terms, None).await })
        })
        .collect();
    until("stuck", async || wallet.unfinished_jobs() == 3).await;
    let one_more = wallet.redeem(id(), &hanging.receive_terms(&token, "sat", 9), None).await;
    assert!(matches!(one_more, Err(TicketError::Overloaded)), "{one_more:?}");

    let good = World::new().await;
    let token = good.token(&wallet, "multi", 5).await;
    good.redeem(&wallet, &token, "multi", 5).await;
    // The last job has answered; it gives up its place a moment later. Those at the mint that hangs keep theirs.
    until("three", async || wallet.unfinished_jobs() == 3).await;
    for job in stuck {
        assert!(matches!(job.await.unwrap(), Err(TicketError::TimedOut)));
    }
    proxy.heal();
    settled(&wallet).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_say_of_a_token_is_checked() {
    let (world, _proxy) = faulty_world().await;
    let wallet = world.impatient(1_500, 15_000).await;
    let verified = async |token: &Token| wallet.verify(id(), &world.receive_terms(token, "sat", 1)).await;
    // A proof with the signature of another one.
    let token = world.token(&wallet, "sat", 12).await;
    let swapped: [fn(&mut ProofV4, ProofV4); 3] = [
        |proof, other| proof.dleq = other.dleq,
        |proof, other| (proof.dleq, proof.c) = (None, other.c),
        |proof, other| *proof = other,
    ];
    for swap in swapped {
        let forged = altered(&token, |parsed| {
            let proofs = &mut parsed.token[0].proofs;
            let (mut proof, other) = (proofs[0].clone(), proofs[1].clone());
            swap(&mut proof, other);
            proofs[0] = proof;
        });
        assert_eq!(fault(verified(&forged).await), TokenFault::Forged);
    }
    // Of version 3, which names the unit and keysets in another way.
    let v3 = Token(cashu::TokenV3::from(token.0.parse::<cashu::TokenV4>().unwrap()).to_string());
    let new = wallet.verify(id(), &world.receive_terms(&v3, "sat", 12)).await.unwrap();
    world.redeem(&wallet, &new, "sat", 12).await;
    for spent in [&token, &without_dleq(&token)] {
        assert_eq!(fault(verified(spent).await), TokenFault::AlreadySpent);
    }
    // A keyset that the mint does not know.
    let foreign = World::new().await.token(&wallet, "sat", 3).await;
    let foreign = altered(&foreign, |parsed| parsed.mint_url = world.url.parse().unwrap());
    assert_eq!(fault(verified(&foreign).await), TokenFault::UnknownKeyset);
    // Ten thousand proofs; a secret that no mint takes.
    let many = altered(&foreign, |parsed| parsed.token[0].proofs = vec![parsed.token[0].proofs[0].clone(); 10_000]);
    assert!(matches!(fault(verified(&many).await), TokenFault::TooLarge { .. }));
    let long = altered(&foreign, |parsed| {
        parsed.token[0].proofs[0].secret = cashu::secret::Secret::new("5".repeat(1025));
    });
    assert!(matches!(fault(verified(&long).await), TokenFault::TooLarge { limit: 1024, .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_refused() {
    let world = World::new().await;
    let wallet = world.wallet_with(|options| options.allow_private = false).await;
    let mut terms = world.mint_terms("sat", 1);
    for url in [world.url.clone(), world.url.replace("http:", "https:"), "https://localhost".to_owned()] {
        terms.mint_url = url;
        let refused = wallet.mint(id(), &terms, None).await;
        assert!(matches!(refused, Err(TicketError::AddressNotAllowed(_))), "{}: {refused:?}", terms.mint_url);
    }
    // Decided by the address alone, without a connection.
    for (url, is_allowed) in
        [(world.url.as_str(), false), ("https://[::ffff:127.0.0.1]", false), ("https://1.1.1.1", true)]
    {
        assert_eq!(wallet.check_mint(url).is_ok(), is_allowed, "{url}");
    }
}

/// Asks until it is done: a loaded machine may need longer than one caller waits.
async fn in_the_end<T>(ask: impl AsyncFn() -> Result<T, TicketError>) -> T {
    loop {
        if let Ok(done) = ask().await {
            return done;
        }
    }
}

/// The response to a swap or to a mint request is lost, and then the mint says for a while that it has signed nothing, although
/// the inputs are spent. The job's own request may have spent them: it is not ended on the mint's word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_response_a_mint_that_finds_no_signatures_is_asked_again() {
    let (world, proxy) = faulty_world().await;
    let mut wallet = world.impatient(1_500, 5_000).await;
    world.fund(&wallet, "sat", 8).await;
    for restarts in [false, true] {
        let token = world.token(&wallet, "sat", 4).await;
        let unproven = without_dleq(&world.token(&wallet, "sat", 2).await);
        let before = world.balance(&wallet, "sat").await;
        let jobs = [id(), id(), id(), id()];
        proxy.set(MintRoute::Restore, Fault::False(FalseResponse::NothingToRestore));
        let (redeem, verify) = (world.receive_terms(&token, "sat", 4), world.receive_terms(&unproven, "sat", 2));
        let (withdraw, mint) = (world.withdraw_terms("sat", 3), world.mint_terms("sat", 1));
        // All of them: the jobs may ask again meanwhile.
        proxy.set(MintRoute::Swap, Fault::ActAndDrop);
        proxy.once(MintRoute::Mint, Fault::ActAndDrop);
        let lost = tokio::join!(
            wallet.redeem(jobs[0], &redeem, None),
            wallet.verify(jobs[1], &verify),
            wallet.withdraw(jobs[2], &withdraw, None),
            wallet.mint(jobs[3], &mint, None),
        );
        for lost in [lost.0.unwrap_err(), lost.1.unwrap_err(), lost.2.unwrap_err()] {
            assert!(matches!(lost, TicketError::Pending | TicketError::TimedOut), "{lost:?}");
        }
        assert!(matches!(lost.3, Err(TicketError::InvalidResponse(_))), "{:?}", lost.3);
        if restarts {
            wallet.close().await;
            let asked = proxy.count(MintRoute::Restore);
            wallet = world.impatient(1_500, 5_000).await;
            until("each job has asked again", async || proxy.count(MintRoute::Restore) >= asked + 4).await;
        }
        assert_eq!(wallet.unfinished_jobs(), 4);
        assert!(wallet.balances().await.unwrap().iter().all(|balance| balance.set_aside == 0));
        proxy.heal();
        assert_eq!(in_the_end(async || wallet.redeem(jobs[0], &redeem, None).await).await, 4);
        let out = [
            in_the_end(async || wallet.verify(jobs[1], &verify).await).await,
            in_the_end(async || wallet.withdraw(jobs[2], &withdraw, None).await).await,
            minted(Ok(in_the_end(async || wallet.mint(jobs[3], &mint, None).await).await)),
        ];
        assert_eq!(unspent(&wallet, &out).await, 2 + 3 + 1);
        for (token, amount) in out.iter().zip([2, 3, 1]) {
            world.redeem(&wallet, token, "sat", amount).await;
        }
        assert_eq!(world.balance(&wallet, "sat").await, before + 4 + 2 + 1);
    }
}

/// The mint clearly refuses a swap, and calls the token spent. That ends the job, but only on the mint's word: the same id asks
/// it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_was_falsely_called_spent_can_be_redeemed_with_the_same_id() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.impatient(1_500, 15_000).await;
    let token = world.token(&wallet, "sat", 9).await;
    let (job, terms) = (id(), world.receive_terms(&token, "sat", 9));
    let spent = Fault::False(FalseResponse::ProofState("SPENT"));
    for swaps in [false, true] {
        // Before anything is stored, and after the swap was refused.
        if swaps {
            proxy.pass(MintRoute::CheckState);
            proxy.set(MintRoute::Swap, refuse(400, 11001));
        }
        proxy.set(MintRoute::CheckState, spent.clone());
        assert_eq!(fault(wallet.redeem(job, &terms, None).await), TokenFault::AlreadySpent);
        proxy.heal();
    }
    assert_eq!(wallet.redeem(job, &terms, None).await.unwrap(), 9);
}
