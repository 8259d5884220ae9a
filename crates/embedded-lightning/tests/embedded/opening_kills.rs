//! The process is killed at each instant of the opening of a channel: one request opens one channel at most, and what its
//! repetition says after the restart is true.

use std::sync::Arc;
use std::time::Duration;

use ldk_node::bitcoin::{Address, Amount};
use usher_embedded_lightning::EmbeddedLightning;
use usher_engine::ports::{IdempotencyKey, LightningNode as _, NodeError, NodeState, OpeningState, WantedChannel};
use usher_testing::soak;

use crate::child_process;
use crate::fixture::{Fixture, LONG, Setup, until, until_state};

/// Millisats of each channel.
const CAPACITY: u64 = 1_000_000_000;

/// More than the miner fees of opening a channel and closing it by force, in millisats.
const FEES: u64 = 20_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_before_the_library_has_the_opening_opens_nothing() {
    let mut fixture = with_money_on_the_chain().await;
    assert_eq!(kill_and_check(&mut fixture, 1, "before-channel-opening=return").await, OpeningState::Open);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_after_the_library_has_the_opening() {
    let mut fixture = with_money_on_the_chain().await;
    kill_and_check(&mut fixture, 1, "after-channel-opening=return").await;
}

/// The channel is funded, its record does not name it, and the library has not listed it: nothing but the channel's monitor
/// tells that the opening must not be repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_funded_channel_that_is_not_listed_is_not_opened_again() {
    let mut fixture = with_money_on_the_chain().await;
    let fail_points = "after-channel-opening=sleep(60000);after-channel-monitor-write=return";
    assert_eq!(kill_and_check(&mut fixture, 1, fail_points).await, OpeningState::Closed);
}

/// The record, the peer, the record's channel, the wallet's change, the channel's monitor, the list of channels …
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_each_write_of_an_opening() {
    let mut fixture = with_money_on_the_chain().await;
    for write in soak::chosen(9) {
        kill_and_check(&mut fixture, key(write), &format!("before-lightning-write={write}*off->return")).await;
    }
}

/// The library may fund the channel before the record names it.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_each_write_of_an_opening_whose_record_is_slow() {
    let mut fixture = with_money_on_the_chain().await;
    for write in soak::chosen(6).into_iter().map(|number| 5 + number) {
        let fail_points = format!("after-channel-opening=sleep(20000);before-lightning-write={write}*off->return");
        kill_and_check(&mut fixture, key(write), &fail_points).await;
    }
}

/// The library hands a funding transaction to the chain source once.
#[tokio::test(flavor = "multi_thread")]
async fn a_funding_transaction_that_a_kill_kept_from_the_chain_is_published_after_the_restart() {
    let mut fixture = with_money_on_the_chain().await;
    fixture.network.chain.set_takes_transactions(false);
    let wanted = wanted(1);
    kill(&mut fixture, "in_another_process_until_funded", 1, "none=off").await;
    fixture.network.chain.set_takes_transactions(true);
    fixture.start_again().await;
    assert_eq!(settle(&fixture, &wanted, "not published").await, OpeningState::Open);
}

/// The same without a kill: the chain source was away, or all others paid more.
#[tokio::test(flavor = "multi_thread")]
async fn a_funding_transaction_that_the_chain_source_refused_is_published_again() {
    let fixture = with_money_on_the_chain().await;
    fixture.network.chain.set_takes_transactions(false);
    let wanted = wanted(1);
    assert_eq!(repeat(&fixture, &wanted).await, OpeningState::Opening);
    until_funded(&fixture.backend).await;
    assert_eq!(fixture.network.chain.unconfirmed(), 0);
    fixture.network.chain.set_takes_transactions(true);
    assert_eq!(settle(&fixture, &wanted, "refused").await, OpeningState::Open);
}

async fn with_money_on_the_chain() -> Fixture {
    let fixture = Fixture::start().await;
    let address: Address<_> = fixture.backend.new_address().await.unwrap().parse().unwrap();
    fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(5_000_000)).unwrap();
    until_state(&fixture, "balance on the chain", |state| state.on_chain.spendable == 5 * CAPACITY).await;
    fixture
}

/// Opens a channel in another process that ends at `fail_point`, repeats the request here, and follows it to its end.
async fn kill_and_check(fixture: &mut Fixture, key: u8, fail_point: &str) -> OpeningState {
    let before = fixture.backend.state().await.unwrap();
    kill(fixture, "in_another_process", key, fail_point).await;
    fixture.start_again().await;

    let opening = settle(fixture, &wanted(key), fail_point).await;
    let channels = fixture.backend.channels().await.unwrap();
    if opening == OpeningState::Open {
        assert_eq!(channels.len(), 1, "{fail_point}: {channels:?}");
        let state = fixture.backend.state().await.unwrap();
        assert!(
            state.on_chain.total + CAPACITY + FEES >= before.on_chain.total,
            "{fail_point}: funded twice: {state:?}"
        );
        assert_eq!(state.pending.closing, 0, "{fail_point}: {state:?}");
        fixture.backend.close_channel(&channels[0].id, false).await.unwrap();
        // The closure is counted, although the kill may have lost the report of the opening.
        until_state(fixture, "closure", |state| state.closures.cooperative == before.closures.cooperative + 1).await;
    } else {
        assert!(channels.is_empty(), "{fail_point}: it is not closed: {channels:?}");
        // The funding transaction may have been published a moment before the kill: the wallet looks every two seconds.
        for _ in 0..12 {
            fixture.network.mine(1).await.unwrap();
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
    // All of the money returns, or never left: none is shown as on its way.
    until_state_with_blocks(fixture, "money back on the chain", |state| {
        state.channels.usable + state.channels.unusable == 0
            && state.on_chain.spendable + FEES >= before.on_chain.total
            && state.pending.closing == 0
    })
    .await;
    opening
}

/// Opens a channel in another process that runs `what` and ends itself.
async fn kill(fixture: &mut Fixture, what: &str, key: u8, fail_point: &str) {
    fixture.release_folder().await;
    let key = &[("USHER_TEST_KEY", key.to_string())];
    child_process::run(fixture, &format!("opening_kills::{what}"), fail_point, key).await;
}

/// Waits until a channel has a funding transaction, and the library has had the time to publish it, which it tries once.
async fn until_funded(backend: &EmbeddedLightning) {
    let is_funded = async || backend.channels().await.unwrap().iter().any(|channel| channel.funding.is_some());
    until("a funding transaction", is_funded).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
}

/// Repeats the request until the opening has ended, while blocks come.
async fn settle(fixture: &Fixture, wanted: &WantedChannel, what: &str) -> OpeningState {
    let mut opening = repeat(fixture, wanted).await;
    let settling = async {
        while opening == OpeningState::Opening {
            fixture.network.mine(1).await.unwrap();
            tokio::time::sleep(Duration::from_millis(200)).await;
            opening = repeat(fixture, wanted).await;
        }
    };
    if tokio::time::timeout(LONG, settling).await.is_err() {
        panic!(
            "{what}: the opening does not end: {:?}; {} unconfirmed; {:?}",
            fixture.backend.channels().await,
            fixture.network.chain.unconfirmed(),
            fixture.backend.state().await
        );
    }
    opening
}

/// Asks for the channel, as often as the peer cannot be reached yet.
async fn repeat(fixture: &Fixture, wanted: &WantedChannel) -> OpeningState {
    until("a response", async || match fixture.backend.open_channel(wanted).await {
        Ok(opened) => Some(opened.state),
        Err(NodeError::Refused(_) | NodeError::Unavailable(_)) => None,
        Err(error) => panic!("{error:?}"),
    })
    .await
}

fn key(write: usize) -> u8 {
    write.try_into().unwrap()
}

fn wanted(key: u8) -> WantedChannel {
    WantedChannel { key: Some(IdempotencyKey([key; 32])), peer: None, amount: CAPACITY }
}

/// Waits until the state of the node is as wanted, while blocks come: more and more, because a channel that was closed by force is locked for long.
async fn until_state_with_blocks(fixture: &Fixture, what: &str, holds: impl Fn(&NodeState) -> bool) {
    for round in 0..60 {
        if holds(&fixture.backend.state().await.unwrap()) {
            return;
        }
        fixture.network.mine(if round < 20 { 1 } else { 50 }).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("no {what}: {:?}", fixture.backend.state().await);
}

/// Not a test: the body of the child process, without effect otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn in_another_process() {
    let Some((setup, fail_point)) = child_process::requested() else { return };
    let backend = ready(&setup).await;
    child_process::arm(&fail_point);
    let opened = backend.open_channel(&wanted_of_this_process()).await;
    assert!(opened.is_ok() || fail_point.contains("write"), "{opened:?}");
    // The fail point is on the way of the funding: it comes in a moment.
    tokio::time::sleep(LONG).await;
}

/// Not a test: what the other process does that ends when the library has stored the channel and published its funding
/// transaction.
#[tokio::test(flavor = "multi_thread")]
async fn in_another_process_until_funded() {
    let Some((setup, _)) = child_process::requested() else { return };
    let backend = ready(&setup).await;
    assert_eq!(backend.open_channel(&wanted_of_this_process()).await.unwrap().state, OpeningState::Opening);
    until_funded(&backend).await;
    std::process::abort();
}

/// A node that can open a channel.
async fn ready(setup: &Setup) -> Arc<EmbeddedLightning> {
    let (backend, mut notifications) = setup.start().await;
    tokio::spawn(async move { while notifications.recv().await.is_some() {} });
    let waits = |code: &str| ["not_running", "not_synced", "provider_away"].contains(&code);
    let is_ready = |state: NodeState| {
        state.on_chain.spendable >= 2 * CAPACITY && !state.warnings.iter().any(|warning| waits(warning.code))
    };
    until("a node that can open channels", async || backend.state().await.is_ok_and(is_ready)).await;
    backend
}

fn wanted_of_this_process() -> WantedChannel {
    wanted(child_process::variable("USHER_TEST_KEY").parse().unwrap())
}
