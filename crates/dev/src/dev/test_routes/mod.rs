//! The routes that only `usher dev` has, for tests of apps: docs/testing.md describes them. They are not in the OpenAPI
//! document, which is the one of `usher serve`.

mod clock;
mod outcomes;
mod token;

use axum::Router;
use usher_api::ApiState;
use usher_sandbox::wallet::ScriptedOutcomes;

pub(super) use self::clock::ClockMover;

/// All of them.
pub(super) fn routes(outcomes: ScriptedOutcomes, mover: ClockMover) -> Router<ApiState> {
    outcomes::routes(outcomes).merge(clock::routes(mover))
}
