//! What every test here uses: [`TestUsher`] (the program), [`Api`] (its interface), [`HandmadeWallet`] (a wallet made by hand)
//! and a login from end to end.

mod api;
mod handmade_wallet;
mod login;
mod openapi_check;
mod python;
mod sse;
mod test_tasks;
mod usher;

use std::time::Duration;

pub(crate) use api::{Api, CallError, Event, Handshake};
pub(crate) use handmade_wallet::{HandmadeWallet, device, now};
pub(crate) use login::{User, caught_up, introduce, run_logins, wallet_for};
pub(crate) use python::python;
pub(crate) use sse::Sse;
pub(crate) use test_tasks::TestTasks;
pub(crate) use usher::{Builder, TestUsher};

/// Longer than anything takes, on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(180);

/// Long enough to see that nothing comes, where nothing else shows that it would have come.
pub(crate) const QUIET: Duration = Duration::from_millis(1500);
