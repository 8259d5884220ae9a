//! Crashes: the program is killed (SIGKILL) at random instants under load and started again on the same data.
//!
//! Every start call that was answered goes into a [`Ledger`], and every event that was read. After each crash all of it
//! must be there, unchanged; at the end every stream has ended with the right result.
//!
//! `usher_testing::soak` sets how often it is killed, and which instants.

mod stream_ledger;
mod under_load;

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use usher_testing::soak;

/// Dice that fall the same way all day.
pub(crate) fn dice() -> StdRng {
    StdRng::seed_from_u64(soak::day())
}

pub(crate) async fn pause(dice: &mut StdRng, longest: u64) {
    tokio::time::sleep(Duration::from_millis(dice.random_range(0..=longest))).await;
}
