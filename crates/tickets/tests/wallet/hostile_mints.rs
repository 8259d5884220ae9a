//! A mint that publishes the keysets and keys of another one gains nothing by it, at either.

use usher_engine::ports::{MintTerms, ReceiveTerms, TicketError, TicketWallet as _, Token, TokenState};
use usher_mint::{KeysetVersion, MintOptions, Rotation};
use usher_testing::mint::{FalseResponse, Fault, FaultyMint, ImpostorMint, MintRoute};

use crate::fixture::{World, altered, faulty_world_with, id, minted, new_store, refusal, refuse, wallet_on};

fn of_mint(token: &Token, url: &str) -> Token {
    altered(token, |parsed| parsed.mint_url = url.parse().unwrap())
}

fn mint_at(url: &str, world: &World, amount: u64) -> MintTerms {
    MintTerms { mint_url: url.to_owned(), ..world.mint_terms("sat", amount) }
}

fn receive_at(url: &str, world: &World, token: &Token) -> ReceiveTerms {
    ReceiveTerms { mint_url: url.to_owned(), ..world.receive_terms(token, "sat", 0) }
}

async fn token_of_a_stranger(world: &World, amount: u64) -> Token {
    let (store, _folder) = new_store();
    let stranger = wallet_on(&store, &[7; 32], |_| {}).await;
    let token = world.token(&stranger, "sat", amount).await;
    stranger.close().await;
    token
}

/// The hostile mint gives the signatures of the honest one as its own. Were the outputs the same at both, the app would be
/// given a ticket of a user of the honest mint, and hand it to the hostile mint by redeeming it there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_of_an_honest_mint_cannot_be_taken_by_one_that_publishes_its_keys() {
    for version in [KeysetVersion::V1, KeysetVersion::V2] {
        let world = World::with(MintOptions::new().keysets(version)).await;
        let hostile = ImpostorMint::start(world.url.clone()).await.unwrap();
        let wallet = world.impatient(20_000, 3_000).await;
        let ticket = world.token(&wallet, "sat", 5).await;
        // Also proofs of the balance, which the hostile mint could put into the balance that is kept with it.
        world.fund(&wallet, "sat", 3).await;

        for amount in [5, 3] {
            let job = id();
            if let Ok(got) = wallet.mint(job, &mint_at(&hostile.url(), &world, amount), None).await {
                let token = minted(Ok(got));
                let _ = wallet.redeem(id(), &receive_at(&hostile.url(), &world, &token), None).await;
                panic!("{version:?}: {} sat are stolen", hostile.steal().await.unwrap());
            }
        }
        let given = token_of_a_stranger(&world, 3).await;
        let redeemed =
            wallet.redeem(id(), &receive_at(&hostile.url(), &world, &of_mint(&given, &hostile.url())), None).await;
        assert!(redeemed.is_err(), "{redeemed:?}");
        // What the stranger gave it is all that it has.
        assert_eq!(hostile.steal().await.unwrap(), 3, "{version:?}");
        assert_eq!(wallet.token_state(&ticket).await.unwrap(), TokenState::Unspent);
        world.redeem(&wallet, &ticket, "sat", 5).await;
        assert_eq!(world.balance(&wallet, "sat").await, 8);
        wallet.withdraw(id(), &world.withdraw_terms("sat", 8), None).await.unwrap();
    }
}

/// The hostile mint pays for the honest mint's signatures of the outputs that it was shown. Were they outputs for the honest
/// mint, it would refuse them from then on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_shut_out_of_a_mint_by_another_one() {
    let world = World::new().await;
    let hostile = ImpostorMint::start(world.url.clone()).await.unwrap();
    let wallet = world.impatient(20_000, 3_000).await;
    world.fund(&wallet, "sat", 20).await;
    // A keyset that was not used before.
    world.mint.rotate_keyset("sat", Rotation::default()).await.unwrap();
    let given = of_mint(&token_of_a_stranger(&world, 4).await, &hostile.url());
    wallet.close().await;
    let wallet = world.impatient(20_000, 3_000).await;
    let redeemed = wallet.redeem(id(), &receive_at(&hostile.url(), &world, &given), None).await;
    assert!(redeemed.is_err(), "{redeemed:?}");
    assert!(hostile.outputs_seen() > 0);
    assert!(hostile.sign_what_was_seen("sat", 10).await.unwrap() > 0);

    let out = wallet.withdraw(id(), &world.withdraw_terms("sat", 7), None).await.unwrap();
    world.redeem(&wallet, &out, "sat", 7).await;
    world.token(&wallet, "sat", 9).await;
    assert_eq!(world.balance(&wallet, "sat").await, 20);
}

/// A mint that claims to have signed everything before costs counters of its own keysets, and the tickets of nobody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mint_that_claims_to_have_signed_everything_does_not_shut_the_service_out() {
    let mut world = World::new().await;
    let hostile = ImpostorMint::start(world.url.clone()).await.unwrap();
    hostile.claim_all_signed();
    let wallet = world.impatient(20_000, 3_000).await;
    // It signs nothing, so nothing comes of it.
    assert!(wallet.mint(id(), &mint_at(&hostile.url(), &world, 5), None).await.is_err());
    world.fund(&wallet, "sat", 20).await;
    wallet.close().await;

    // The same claim by a mint that signs.
    let proxy = FaultyMint::start(world.url.clone()).await.unwrap();
    world.url = proxy.url();
    let wallet = world.impatient(20_000, 3_000).await;
    for route in [MintRoute::Mint, MintRoute::Swap] {
        proxy.once(route, refuse(400, 11003));
    }
    let token = world.token(&wallet, "sat", 5).await;
    world.redeem(&wallet, &token, "sat", 5).await;
    // Always: the request fails, and the next one that is not refused succeeds.
    let token = world.token(&wallet, "sat", 5).await;
    proxy.set(MintRoute::Swap, refuse(400, 11003));
    let (job, terms) = (id(), world.receive_terms(&token, "sat", 5));
    refusal(wallet.redeem(job, &terms, None).await);
    proxy.heal();
    assert_eq!(wallet.redeem(job, &terms, None).await.unwrap(), 5);
}

/// A keyset's id follows from its keys (NUT-02).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_do_not_match_the_id_of_their_keyset_are_refused() {
    for version in [KeysetVersion::V1, KeysetVersion::V2] {
        let (world, proxy) = faulty_world_with(MintOptions::new().keysets(version)).await;
        let wallet = world.impatient(20_000, 3_000).await;
        proxy.set(MintRoute::Keys, Fault::False(FalseResponse::OtherKeys));
        let failed = wallet.mint(id(), &world.mint_terms("sat", 5), None).await.unwrap_err();
        assert!(
            matches!(&failed, TicketError::InvalidResponse(it) if it.contains("do not match its id")),
            "{failed:?}"
        );
        proxy.heal();
        minted(wallet.mint(id(), &world.mint_terms("sat", 5), None).await);
    }
}
