//! Crashes: the program is killed (SIGKILL) at random instants under load and started again on the same data.
//!
//! Every start call that was answered goes into a [`Ledger`], and every event that was read. After each crash all of it
//! must be there, unchanged; at the end every stream has ended with the right result.
//!
//! `usher_test_tools::soak` sets how often it is killed, and which instants.

mod at_fail_points;
mod stream_ledger;
mod under_load;

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_test_tools::soak;

use crate::harness::{LONG, TestUsher};

/// How long handshakes and challenges of these tests live, in seconds: nobody answers after it.
const TTL: u64 = 12;

/// Dice that fall the same way all day.
pub(crate) fn dice() -> StdRng {
    StdRng::seed_from_u64(soak::day())
}

async fn service() -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set("HANDSHAKE__TTL_SECONDS", TTL)
        .set("AUTH__CHALLENGE_TTL_SECONDS", TTL)
        .start()
        .await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

pub(crate) async fn pause(dice: &mut StdRng, longest: u64) {
    tokio::time::sleep(Duration::from_millis(dice.random_range(0..=longest))).await;
}
