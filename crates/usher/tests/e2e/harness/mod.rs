//! What every test here uses: [`TestUsher`] (the program), [`Api`] (its interface), [`HandmadeWallet`] (a wallet made by hand)
//! and a login from end to end.

mod api;
mod app;
mod handmade_wallet;
mod login;
mod openapi_check;
mod page;
mod sse;
mod test_tasks;
mod usher;

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use usher_testing::soak;

pub(crate) use api::{Api, CallError, Event, refusal, statuses, stream_of};
pub(crate) use app::{App, Reply};
pub(crate) use handmade_wallet::{HandmadeWallet, device, now};
pub(crate) use login::{User, caught_up, introduce, run_logins, wallet_for};
pub(crate) use page::{EXTENSION_BUTTON, has, is_for_everybody, shows, state_is, text};
pub(crate) use sse::Sse;
pub(crate) use test_tasks::TestTasks;
pub(crate) use usher::{Builder, TestUsher, files_below, is_not_logged};
pub(crate) use usher_testing::until;

/// Longer than anything takes, on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(180);

/// Dice that fall the same way all day.
pub(crate) fn dice() -> StdRng {
    StdRng::seed_from_u64(soak::day())
}

/// Waits at most so many milliseconds.
pub(crate) async fn pause(dice: &mut StdRng, longest: u64) {
    tokio::time::sleep(Duration::from_millis(dice.random_range(0..=longest))).await;
}
