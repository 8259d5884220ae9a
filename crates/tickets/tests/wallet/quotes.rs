//! Quotes that must be paid, and unpaid ones.

use usher_engine::ports::{MintAuthToken, Minted, TicketError, TicketWallet as _};
use usher_mint::{MintOptions, QuotePayment};
use usher_testing::mint::{FalseResponse, Fault, MintRoute};

use crate::fixture::{World, faulty_world, faulty_world_with, id, minted, refuse, settled};

async fn world() -> World {
    World::with(MintOptions::new().quotes(QuotePayment::Manual)).await
}

fn invoice(minted: Minted) -> String {
    let Minted::PaymentNeeded { invoice, .. } = minted else { panic!("{minted:?}") };
    invoice
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_job_of_a_quote_that_nobody_pays_ends_and_begins_again_with_a_new_quote() {
    let world = world().await;
    let wallet = world.impatient(20_000, 2_000).await;
    let (job, terms) = (id(), world.mint_terms("sat", 9));
    let first = invoice(wallet.mint(job, &terms, None).await.unwrap());
    // The quote is the job's own until it is abandoned.
    assert_eq!(invoice(wallet.mint(job, &terms, None).await.unwrap()), first);
    wallet.abandon_quote(job).await;
    settled(&wallet).await;
    let second = invoice(wallet.mint(job, &terms, None).await.unwrap());
    assert_ne!(second, first);
    world.mint.pay_quote(&second).await.unwrap();
    let token = minted(wallet.mint(job, &terms, None).await);
    assert_eq!(wallet.read_token(&token).unwrap().amount, 9);
    // Too late: there is a token.
    wallet.abandon_quote(job).await;
    assert_eq!(minted(wallet.mint(job, &terms, None).await), token);
}

/// Mints of before 2024 write `paid` instead. Nobody could see that such a quote was paid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quote_without_state_is_never_paid() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.wallet().await;
    for fault in [FalseResponse::NoField("state"), FalseResponse::Field("state", serde_json::Value::Null)] {
        proxy.set(MintRoute::CreateQuote, Fault::False(fault));
        let refused = wallet.mint(id(), &world.mint_terms("sat", 9), None).await;
        assert!(matches!(&refused, Err(TicketError::InvalidResponse(why)) if why.contains("state")), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quote_that_was_paid_before_it_is_abandoned_is_minted() {
    let world = world().await;
    let wallet = world.wallet().await;
    let (job, terms) = (id(), world.mint_terms("sat", 9));
    let invoice = invoice(wallet.mint(job, &terms, None).await.unwrap());
    world.mint.pay_quote(&invoice).await.unwrap();
    wallet.abandon_quote(job).await;
    let token = minted(wallet.mint(job, &terms, None).await);
    assert_eq!(wallet.read_token(&token).unwrap().amount, 9);
    assert_eq!(world.totals("sat").await.outstanding(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_asks_again_with_another_token_of_the_mint_helps_the_running_job() {
    let (world, proxy) = faulty_world_with(MintOptions::new().quotes(QuotePayment::Manual)).await;
    let wallet = world.impatient(20_000, 2_000).await;
    let (job, mut terms) = (id(), world.mint_terms("sat", 9));
    terms.auth = Some(MintAuthToken("old".to_owned()));
    let invoice = loop {
        if let Ok(minted) = wallet.mint(job, &terms, None).await {
            break invoice(minted);
        }
    };
    world.mint.pay_quote(&invoice).await.unwrap();
    // The mint no longer accepts the old token.
    proxy.set(MintRoute::QuoteState, refuse(401, 30002));
    assert!(wallet.mint(job, &terms, None).await.is_err());
    terms.auth = Some(MintAuthToken("new".to_owned()));
    while !proxy.calls().iter().any(|call| call.auth.as_deref() == Some("new")) {
        assert!(wallet.mint(job, &terms, None).await.is_err());
    }
    proxy.heal();
    let token = loop {
        if let Ok(Minted::Token(token)) = wallet.mint(job, &terms, None).await {
            break token;
        }
    };
    assert_eq!(wallet.read_token(&token).unwrap().amount, 9);
}
