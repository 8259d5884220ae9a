//! Tokens that a mint holds as pending: they stop nothing else, and nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use usher_engine::ports::{TicketError, TicketJobId, TicketWallet as _, Token, TokenFault, TokenState};
use usher_testing::mint::{Fault, MintRoute};
use usher_tickets::CashuWallet;

use crate::fixture::{World, fault, faulty_world, id, points, refuse, settled, until, without_dleq};

const TOKENS: usize = 12;

async fn wallet(world: &World, max_jobs_per_mint: usize) -> Arc<CashuWallet> {
    let wallet = world.wallet_with(|options| {
        options.request_timeout = Duration::from_secs(5);
        options.max_jobs_per_mint = max_jobs_per_mint;
    });
    Arc::new(wallet.await)
}

async fn tokens(world: &World, wallet: &CashuWallet) -> Vec<Token> {
    let mut tokens = Vec::new();
    for _ in 0..TOKENS {
        tokens.push(world.token(wallet, "multi", 3).await);
    }
    settled(wallet).await;
    tokens
}

type Redeemed = (TicketJobId, Token, Result<u64, TicketError>);

/// Redeems each, all at the same time.
fn redeem_all(world: &World, wallet: &Arc<CashuWallet>, tokens: &[Token]) -> JoinSet<Redeemed> {
    let mut redeeming = JoinSet::new();
    for token in tokens.iter().cloned() {
        let (wallet, terms, job) = (Arc::clone(wallet), world.receive_terms(&token, "multi", 0), id());
        redeeming.spawn(async move { (job, token, wallet.redeem(job, &terms, None).await) });
    }
    redeeming
}

/// Somebody else has begun to spend them, and does not finish.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_somebody_is_spending_is_refused_and_takes_no_place() {
    let (world, proxy) = faulty_world().await;
    let wallet = wallet(&world, TOKENS).await;
    let stuck = tokens(&world, &wallet).await;
    let good = world.token(&wallet, "multi", 5).await;
    settled(&wallet).await;
    stuck.iter().for_each(|token| proxy.hold(points(token), "PENDING"));
    let before = proxy.calls().len();
    let mut refused = Vec::new();
    for (job, token, result) in redeem_all(&world, &wallet, &stuck).join_all().await {
        assert_eq!(fault(result), TokenFault::Pending);
        refused.push((job, token));
    }
    let asked = proxy.calls().len() - before;
    assert!(asked <= TOKENS, "{asked} requests");
    for given in [stuck[0].clone(), without_dleq(&stuck[1])] {
        let verified = wallet.verify(id(), &world.receive_terms(&given, "multi", 3)).await;
        assert_eq!(fault(verified), TokenFault::Pending);
    }
    settled(&wallet).await;
    world.redeem(&wallet, &good, "multi", 5).await;
    // Nothing was done, so that it can be done with the same id when whoever spent it did not.
    proxy.heal();
    for (job, token) in &refused {
        assert_eq!(wallet.redeem(*job, &world.receive_terms(token, "multi", 0), None).await.unwrap(), 3);
    }
    assert_eq!(world.balance(&wallet, "multi").await, 5 + 3 * TOKENS as u64);
}

/// The responses to our own requests are lost, and then the mint calls the proofs pending. The jobs wait until it decides,
/// also after a restart, and stop nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_whose_own_requests_are_pending_leave_their_places_and_ask_together() {
    for lost in [Fault::Drop, Fault::ActAndDrop] {
        let (world, proxy) = faulty_world().await;
        let first = wallet(&world, TOKENS).await;
        let stuck = tokens(&world, &first).await;
        let good = [world.token(&first, "multi", 5).await, world.token(&first, "multi", 6).await];
        settled(&first).await;
        proxy.set(MintRoute::Swap, lost.clone());
        proxy.set(MintRoute::Restore, refuse(500, 0));
        let redeeming = redeem_all(&world, &first, &stuck);
        until("swapped", async || proxy.count(MintRoute::Swap) >= TOKENS).await;
        stuck.iter().for_each(|token| proxy.hold(points(token), "PENDING"));
        for (_, _, result) in redeeming.join_all().await {
            assert!(matches!(result, Err(TicketError::Pending)), "{lost:?} {result:?}");
        }
        proxy.clear(MintRoute::Swap);
        world.redeem(&first, &good[0], "multi", 5).await;
        first.close().await;

        // After a restart they wait as well, and none asks for itself. The first outputs of a start need the look-up of counters.
        proxy.clear(MintRoute::Restore);
        let before = proxy.calls().len();
        let second = wallet(&world, TOKENS / 2).await;
        world.redeem(&second, &good[1], "multi", 6).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(second.unfinished_jobs(), TOKENS, "they are not given up");
        let asked = proxy.calls().len() - before;
        assert!(asked < 2 * TOKENS, "{asked} requests for {TOKENS} tokens, and for one that is redeemed");
        let again = second.redeem(id(), &world.receive_terms(&stuck[0], "multi", 0), None).await;
        assert!(matches!(again, Err(TicketError::Pending)), "{lost:?} {again:?}");

        proxy.heal();
        settled(&second).await;
        let balance = 5 + 6 + 3 * TOKENS as u64;
        assert_eq!(world.balance(&second, "multi").await, balance, "{lost:?}");
        assert_eq!(world.totals("multi").await.outstanding(), balance, "{lost:?}");
        for token in &stuck {
            assert_eq!(second.token_state(token).await.unwrap(), TokenState::Spent);
        }
    }
}

/// Waits until no more than these jobs are unfinished.
async fn fall_to(jobs: usize, wallet: &CashuWallet) {
    until("fewer", async || wallet.unfinished_jobs() <= jobs).await;
    assert_eq!(wallet.unfinished_jobs(), jobs);
}

/// The mint clearly refuses swaps of tokens that it then holds as pending, for longer than anybody waits: more of them than
/// may work at a time. They are few that wait, nothing else is refused, and they are given up by the same rule after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_jobs_with_pending_inputs_make_room_for_others() {
    const PLACES: usize = 4;
    let (world, proxy) = faulty_world().await;
    let first = wallet(&world, PLACES).await;
    let stuck = tokens(&world, &first).await;
    let good = [world.token(&first, "multi", 5).await, world.token(&first, "multi", 6).await];
    settled(&first).await;
    // Unspent when they are looked at first, pending when they are swapped.
    for token in &stuck {
        proxy.hold_from_swap(points(token));
        let stays = first.redeem(id(), &world.receive_terms(token, "multi", 0), None).await.unwrap_err();
        assert!(matches!(stays, TicketError::Pending | TicketError::Token(TokenFault::Pending)), "{stays:?}");
    }
    fall_to(PLACES, &first).await;
    world.redeem(&first, &good[0], "multi", 5).await;
    world.token(&first, "multi", 1).await;
    first.withdraw(id(), &world.withdraw_terms("multi", 1), None).await.unwrap();
    first.close().await;

    // What was refused is known after a restart as well: half as many may wait, and the others end.
    let second = wallet(&world, PLACES / 2).await;
    fall_to(PLACES / 2, &second).await;
    world.redeem(&second, &good[1], "multi", 6).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(second.unfinished_jobs(), PLACES / 2);
    // The mint reports them as unspent.
    proxy.heal();
    settled(&second).await;
    for token in &stuck {
        if second.token_state(token).await.unwrap() == TokenState::Unspent {
            world.redeem(&second, token, "multi", 3).await;
        }
    }
    assert_eq!(world.balance(&second, "multi").await, 5 + 6 - 1 + 3 * TOKENS as u64);
}
