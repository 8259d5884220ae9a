//! Mint jobs whose caller has gone: their value is neither lost nor handed out twice.

use usher_engine::ports::{TicketError, TicketWallet as _};
use usher_testing::mint::{Fault, MintRoute};

use crate::fixture::{faulty_world, id, minted, settled, without_dleq};

/// The mint signs, or not; its responses do not arrive. Later it is back, in the same process or another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_mint_signs_later_joins_the_balance() {
    for (fault, restarts) in
        [(Fault::ActAndHang, false), (Fault::ActAndHang, true), (Fault::Hang, false), (Fault::Drop, true)]
    {
        let (world, proxy) = faulty_world().await;
        let mut wallet = world.impatient(700, 1_500).await;
        // Before a keyset's first use the mint is asked for signatures, which it does not give later.
        let other = world.token(&wallet, "multi", 5).await;
        let (job, terms) = (id(), world.mint_terms("multi", 7));
        proxy.set(MintRoute::Mint, fault.clone());
        proxy.set(MintRoute::Restore, Fault::Hang);
        // On a slow machine the quote takes longer than the caller waits.
        while proxy.count(MintRoute::Mint) == 1 {
            let cut_off = wallet.mint(job, &terms, None).await.unwrap_err();
            assert!(!cut_off.is_definite(), "{cut_off:?}");
        }
        assert_eq!(wallet.give_up(job).await.unwrap(), None, "{fault:?}");
        assert_eq!(wallet.give_up(job).await.unwrap(), None, "the same again");
        if restarts {
            wallet.close().await;
            wallet = world.impatient(700, 1_500).await;
        }
        assert_eq!(world.balance(&wallet, "multi").await, 0);
        proxy.heal();
        settled(&wallet).await;
        assert_eq!(world.balance(&wallet, "multi").await, 7, "{fault:?}");
        let held = wallet.read_token(&other).unwrap().amount;
        assert_eq!(world.totals("multi").await.outstanding(), 7 + held, "minted once");
        assert_eq!(wallet.give_up(job).await.unwrap(), None, "it is in the balance");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_there_is_the_callers() {
    let (world, _proxy) = faulty_world().await;
    let wallet = world.impatient(700, 1_500).await;
    let job = id();
    assert_eq!(wallet.give_up(job).await.unwrap(), None, "there is no such job");
    let token = minted(wallet.mint(job, &world.mint_terms("multi", 7), None).await);
    assert_eq!(wallet.give_up(job).await.unwrap(), Some(token));
    assert_eq!(world.balance(&wallet, "multi").await, 0);
}

/// The mint refuses after an attempt that had no response, so that attempt may still have an effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_not_definite_while_the_job_goes_on() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.impatient(700, 1_500).await;
    let token = without_dleq(&world.token(&wallet, "multi", 7).await);
    proxy.once(MintRoute::Swap, Fault::Hang);
    proxy.set(MintRoute::Swap, Fault::Refuse { status: 400, code: 20003, detail: "closed".to_owned() });
    let (job, terms) = (id(), world.receive_terms(&token, "multi", 7));
    // Its waiter may still give up after the first attempt.
    loop {
        match wallet.verify(job, &terms).await.unwrap_err() {
            TicketError::InvalidResponse(text) if text.contains("closed") => break,
            error => assert!(!error.is_definite(), "{error:?}"),
        }
    }
    proxy.heal();
    while wallet.verify(job, &terms).await.is_err() {}
}
