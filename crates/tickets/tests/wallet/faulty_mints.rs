//! Mints that hang, lie, refuse and forget: nothing is lost, and success is never reported for what is not there.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::{TicketError, TicketWallet as _, Token, TokenFault};
use usher_faults::mint::{FalseResponse, Fault, Garbage, MintRoute};
use usher_tickets::CashuWallet;

use crate::fixture::{World, faulty_world, id, minted, settled, unspent, without_dleq};

/// With a deadline that tests can wait for.
async fn impatient(world: &World) -> CashuWallet {
    world.wallet_with(|options| options.request_timeout = Duration::from_millis(1500)).await
}

fn refuse(status: u16, code: u32) -> Fault {
    Fault::Refuse { status, code, detail: "no".to_owned() }
}

fn act_and_refuse(status: u16, code: u32) -> Fault {
    Fault::ActAndRefuse { status, code, detail: "no".to_owned() }
}

/// The mint may have done it, or can be asked again.
fn unclear() -> Vec<Fault> {
    let mut faults = vec![
        Fault::Hang,
        Fault::ActAndHang,
        Fault::Drop,
        Fault::ActAndDrop,
        Fault::ActAndCut,
        Fault::ActLate(Duration::from_millis(2500)),
        Fault::Redirect("http://127.0.0.1:1/".to_owned()),
        refuse(500, 0),
        refuse(429, 0),
        act_and_refuse(500, 0),
        act_and_refuse(400, 11001),
        act_and_refuse(400, 11002),
        act_and_refuse(400, 11003),
        act_and_refuse(400, 0),
    ];
    let garbage = [Garbage::Empty, Garbage::Html, Garbage::Bytes, Garbage::Half, Garbage::EmptyObject];
    faults.extend(garbage.map(Fault::Garbage));
    faults.extend([Garbage::Nested(100_000), Garbage::Huge(4 << 20), Garbage::Endless].map(Fault::Garbage));
    let false_responses = [
        FalseResponse::DoubledAmounts,
        FalseResponse::FewerSignatures,
        FalseResponse::OtherKeyset,
        FalseResponse::ForgedSignatures,
        FalseResponse::WrongDleq,
        FalseResponse::NoDleq,
    ];
    faults.extend(false_responses.map(Fault::False));
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_one_response_is_the_job_is_done_once() {
    let (world, proxy) = faulty_world().await;
    let wallet = Arc::new(impatient(&world).await);
    world.fund(&wallet, "sat", 2000).await;
    let mut tokens = Vec::new();
    for fault in unclear() {
        let given = without_dleq(&world.token(&wallet, "sat", 37).await);
        tokens.push(given.clone());
        proxy.once(MintRoute::Mint, fault.clone());
        tokens.push(minted(wallet.mint(id(), &world.mint_terms("sat", 6)).await));
        proxy.once(MintRoute::Swap, fault.clone());
        let (job, terms) = (id(), world.receive_terms(&given, "sat", 37));
        let verified = wallet.verify(job, &terms).await.unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
        assert_eq!(wallet.verify(job, &terms).await.unwrap(), verified);
        tokens.push(verified.clone());
        proxy.once(MintRoute::Swap, fault.clone());
        let terms = world.receive_terms(&verified, "sat", 37);
        assert_eq!(wallet.redeem(id(), &terms).await.unwrap(), 37, "{fault:?}");
        proxy.once(MintRoute::Swap, fault.clone());
        tokens.push(wallet.withdraw(id(), &world.withdraw_terms("sat", 11)).await.unwrap());
        proxy.heal();
        let (held, balance) = (unspent(&wallet, &tokens).await, world.balance(&wallet, "sat").await);
        assert_eq!(world.totals("sat").await.outstanding(), held + balance, "{fault:?}");
    }
    wallet.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clear_refusal_changes_nothing() {
    let (world, proxy) = faulty_world().await;
    let wallet = impatient(&world).await;
    world.fund(&wallet, "sat", 100).await;
    let token = world.token(&wallet, "sat", 9).await;
    let secret = "5f3c".repeat(16);
    let detail = format!("bad input {{'secret': '{secret}'}}");
    let refuse = Fault::Refuse { status: 400, code: 20003, detail };
    let check = |error: TicketError| {
        let TicketError::Refused(text) = &error else { panic!("{error:?}") };
        assert!(text.contains("bad input") && !text.contains(&secret), "{text}");
    };
    let terms = world.receive_terms(&token, "sat", 9);
    let (redemption, withdrawal, job) = (id(), id(), id());
    proxy.once(MintRoute::Swap, refuse.clone());
    check(wallet.redeem(redemption, &terms).await.unwrap_err());
    proxy.once(MintRoute::Swap, refuse.clone());
    check(wallet.withdraw(withdrawal, &world.withdraw_terms("sat", 5)).await.unwrap_err());
    proxy.once(MintRoute::CreateQuote, refuse.clone());
    check(wallet.mint(job, &world.mint_terms("sat", 5)).await.unwrap_err());
    assert_eq!(world.balance(&wallet, "sat").await, 100);
    // Once the mint works again, the same id is another attempt.
    minted(wallet.mint(job, &world.mint_terms("sat", 5)).await);
    assert_eq!(wallet.redeem(redemption, &terms).await.unwrap(), 9);
    wallet.withdraw(withdrawal, &world.withdraw_terms("sat", 5)).await.unwrap();
    assert_eq!(world.balance(&wallet, "sat").await, 104);
    // A quote that had to be paid is not given up because of one refusal.
    proxy.once(MintRoute::Mint, refuse);
    minted(wallet.mint(id(), &world.mint_terms("sat", 5)).await);
    wallet.close().await;
}

/// The mint refuses the keyset that it names itself: the wallet does not ask it again and again, nor use up counters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mint_that_refuses_its_own_keyset_is_not_asked_without_end() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.wallet_with(|options| options.wait = Duration::from_secs(5)).await;
    let token = world.token(&wallet, "sat", 9).await;
    for (route, code) in [(MintRoute::Swap, 12002), (MintRoute::Mint, 12001)] {
        proxy.set(route, refuse(400, code));
    }
    let asked = |route| proxy.count(route);
    let (before, terms, job) = (asked(MintRoute::Swap), world.receive_terms(&token, "sat", 9), id());
    let refused = wallet.redeem(job, &terms).await;
    assert!(matches!(refused, Err(TicketError::Refused(_))), "{refused:?}");
    assert_eq!(asked(MintRoute::Swap) - before, 1);
    // The quote had to be paid, so the wallet does not give it up.
    let (before, other) = (asked(MintRoute::Mint), id());
    let refused = wallet.mint(other, &world.mint_terms("sat", 5)).await;
    assert!(refused.is_err(), "{refused:?}");
    assert!(asked(MintRoute::Mint) - before < 20, "{}", asked(MintRoute::Mint) - before);
    proxy.heal();
    assert_eq!(wallet.redeem(job, &terms).await.unwrap(), 9);
    minted(wallet.mint(other, &world.mint_terms("sat", 5)).await);
    wallet.close().await;
}

/// The signatures are worthless, also when they are asked for again: nothing is reported, until the mint is honest again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worthless_signatures_are_never_a_success() {
    let (world, proxy) = faulty_world().await;
    let wallet = world
        .wallet_with(|options| {
            options.request_timeout = Duration::from_millis(1500);
            options.wait = Duration::from_millis(1500);
        })
        .await;
    let token = world.token(&wallet, "sat", 9).await;
    for route in [MintRoute::Swap, MintRoute::Restore] {
        proxy.set(route, Fault::False(FalseResponse::WrongDleq));
    }
    let (job, terms) = (id(), world.receive_terms(&token, "sat", 9));
    let failed = wallet.redeem(job, &terms).await;
    assert!(matches!(failed, Err(TicketError::InvalidResponse(_))), "{failed:?}");
    assert_eq!(world.balance(&wallet, "sat").await, 0);
    proxy.heal();
    while wallet.redeem(job, &terms).await.is_err() {}
    assert_eq!(world.balance(&wallet, "sat").await, 9);
    wallet.close().await;
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
            tokio::spawn(async move { wallet.mint(id(), &terms).await })
        })
        .collect();
    while wallet.unfinished_jobs() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let one_more = wallet.redeem(id(), &hanging.receive_terms(&token, "sat", 9)).await;
    assert!(matches!(one_more, Err(TicketError::Overloaded)), "{one_more:?}");

    let good = World::new().await;
    let token = good.token(&wallet, "multi", 5).await;
    assert_eq!(wallet.redeem(id(), &good.receive_terms(&token, "multi", 5)).await.unwrap(), 5);
    // The last job has answered; it gives up its place a moment later. Those at the mint that hangs keep theirs.
    while wallet.unfinished_jobs() > 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(wallet.unfinished_jobs(), 3, "the other mint hangs all the time");
    for job in stuck {
        assert!(matches!(job.await.unwrap(), Err(TicketError::TimedOut)));
    }
    proxy.heal();
    settled(&wallet).await;
    wallet.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_say_of_a_token_is_checked() {
    let (world, _proxy) = faulty_world().await;
    let wallet = impatient(&world).await;
    let fault = async |token: &Token| match wallet.verify(id(), &world.receive_terms(token, "sat", 1)).await {
        Err(TicketError::Token(fault)) => fault,
        other => panic!("{other:?}"),
    };
    // A proof with the signature of another one.
    let token = world.token(&wallet, "sat", 12).await;
    let mut parsed: cashu::TokenV4 = token.0.parse().unwrap();
    let other = parsed.token[0].proofs[1].clone();
    parsed.token[0].proofs[0].dleq = other.dleq.clone();
    assert_eq!(fault(&Token(parsed.to_string())).await, TokenFault::Forged, "a wrong DLEQ proof");
    parsed.token[0].proofs[0].dleq = None;
    parsed.token[0].proofs[0].c = other.c;
    assert_eq!(fault(&Token(parsed.to_string())).await, TokenFault::Forged, "a wrong signature");
    parsed.token[0].proofs[0] = other;
    assert_eq!(fault(&Token(parsed.to_string())).await, TokenFault::Forged, "one secret twice");
    // Of version 3, which names the unit and keysets in another way.
    let v3 = cashu::TokenV3::from(token.0.parse::<cashu::TokenV4>().unwrap());
    assert_eq!(
        wallet.verify(id(), &world.receive_terms(&Token(v3.to_string()), "sat", 12)).await.unwrap().0,
        v3.to_string()
    );
    // Spent.
    wallet.redeem(id(), &world.receive_terms(&token, "sat", 12)).await.unwrap();
    assert_eq!(fault(&token).await, TokenFault::AlreadySpent);
    assert_eq!(fault(&without_dleq(&token)).await, TokenFault::AlreadySpent);
    // A keyset that the mint does not know.
    let other_mint = World::new().await;
    let foreign = other_mint.token(&wallet, "sat", 3).await;
    let mut parsed: cashu::TokenV4 = foreign.0.parse().unwrap();
    parsed.mint_url = world.url.parse().unwrap();
    assert_eq!(fault(&Token(parsed.to_string())).await, TokenFault::UnknownKeyset);
    // Ten thousand proofs.
    let many = vec![parsed.token[0].proofs[0].clone(); 10_000];
    parsed.token[0].proofs = many;
    let TokenFault::TooLarge { .. } = fault(&Token(parsed.to_string())).await else { panic!() };
    // A secret that no mint takes.
    parsed.token[0].proofs.truncate(1);
    parsed.token[0].proofs[0].secret = cashu::secret::Secret::new("5".repeat(1025));
    let TokenFault::TooLarge { limit: 1024, .. } = fault(&Token(parsed.to_string())).await else { panic!() };
    wallet.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_refused() {
    let world = World::new().await;
    let wallet = world.wallet_with(|options| options.allow_private = false).await;
    let mut terms = world.mint_terms("sat", 1);
    for url in [world.url.clone(), world.url.replace("http:", "https:"), "https://localhost".to_owned()] {
        terms.mint_url = url;
        let refused = wallet.mint(id(), &terms).await;
        assert!(matches!(refused, Err(TicketError::AddressNotAllowed(_))), "{}: {refused:?}", terms.mint_url);
    }
    // What an address tells by itself, without a connection.
    for (url, is_allowed) in [
        (world.url.as_str(), false),
        ("https://10.0.0.1:3338", false),
        ("https://[::1]/mint", false),
        ("https://[::ffff:127.0.0.1]", false),
        ("https://mint.example", true),
        ("https://1.1.1.1", true),
    ] {
        let checked = wallet.check_mint(url);
        assert_eq!(checked.is_ok(), is_allowed, "{url}: {checked:?}");
    }
    wallet.close().await;
}

/// The response to a swap or to a mint request is lost, and then the mint says for a while that it has signed nothing, although
/// the inputs are spent. The job's own request may have spent them: it is not ended on the mint's word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lost_response_a_mint_that_finds_no_signatures_is_asked_again() {
    let (world, proxy) = faulty_world().await;
    let mut wallet = impatient(&world).await;
    world.fund(&wallet, "sat", 8).await;
    for restarts in [false, true] {
        let token = world.token(&wallet, "sat", 4).await;
        let unproven = without_dleq(&world.token(&wallet, "sat", 2).await);
        let before = world.balance(&wallet, "sat").await;
        let jobs = [id(), id(), id(), id()];
        proxy.set(MintRoute::Restore, Fault::False(FalseResponse::NothingToRestore));
        let (redeem, verify) = (world.receive_terms(&token, "sat", 4), world.receive_terms(&unproven, "sat", 2));
        let withdraw = world.withdraw_terms("sat", 3);
        // All of them: the jobs before may ask again meanwhile.
        proxy.set(MintRoute::Swap, Fault::ActAndDrop);
        let lost = wallet.redeem(jobs[0], &redeem).await;
        assert!(matches!(lost, Err(TicketError::Pending | TicketError::TimedOut)), "{lost:?}");
        let lost = wallet.verify(jobs[1], &verify).await;
        assert!(matches!(lost, Err(TicketError::Pending | TicketError::TimedOut)), "{lost:?}");
        let lost = wallet.withdraw(jobs[2], &withdraw).await;
        assert!(matches!(lost, Err(TicketError::Pending | TicketError::TimedOut)), "{lost:?}");
        proxy.once(MintRoute::Mint, Fault::ActAndDrop);
        let lost = wallet.mint(jobs[3], &world.mint_terms("sat", 1)).await;
        assert!(matches!(lost, Err(TicketError::InvalidResponse(_))), "{lost:?}");
        if restarts {
            wallet.close().await;
            wallet = impatient(&world).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(wallet.unfinished_jobs(), 4);
        assert!(wallet.balances().await.unwrap().iter().all(|balance| balance.set_aside == 0));
        proxy.heal();
        assert_eq!(wallet.redeem(jobs[0], &redeem).await.unwrap(), 4);
        let out = [
            wallet.verify(jobs[1], &verify).await.unwrap(),
            wallet.withdraw(jobs[2], &withdraw).await.unwrap(),
            minted(wallet.mint(jobs[3], &world.mint_terms("sat", 1)).await),
        ];
        assert_eq!(unspent(&wallet, &out).await, 2 + 3 + 1);
        for (token, amount) in out.iter().zip([2, 3, 1]) {
            assert_eq!(wallet.redeem(id(), &world.receive_terms(token, "sat", amount)).await.unwrap(), amount);
        }
        assert_eq!(world.balance(&wallet, "sat").await, before + 4 + 2 + 1);
    }
    wallet.close().await;
}

/// The mint clearly refuses a swap, and calls the token spent. That ends the job, but only on the mint's word: the same id asks
/// it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_was_falsely_called_spent_can_be_redeemed_with_the_same_id() {
    let (world, proxy) = faulty_world().await;
    let wallet = impatient(&world).await;
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
        let refused = wallet.redeem(job, &terms).await;
        assert!(matches!(refused, Err(TicketError::Token(TokenFault::AlreadySpent))), "{refused:?}");
        proxy.heal();
    }
    assert_eq!(wallet.redeem(job, &terms).await.unwrap(), 9);
    wallet.close().await;
}
