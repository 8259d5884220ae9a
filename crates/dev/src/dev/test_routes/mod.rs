//! The routes that only `usher dev` has, for tests of apps: docs/testing.md describes them. They are not in the OpenAPI
//! document, which is the one of `usher serve`.

mod clock;
mod outcomes;

use axum::Router;
use usher_api::{ApiState, ErrorCode, Problem};
use usher_engine::Requester;
use usher_sandbox::wallet::ScriptedOutcomes;

pub(super) use self::clock::ClockMover;

/// All of them.
pub(super) fn routes(outcomes: ScriptedOutcomes, mover: ClockMover) -> Router<ApiState> {
    outcomes::routes(outcomes).merge(clock::routes(mover))
}

/// An API key does not change how the tests of others end.
fn require_token(requester: &Requester) -> Result<(), Problem> {
    match requester {
        Requester::Service => Ok(()),
        _ => {
            Err(Problem::new(ErrorCode::TokenRequired, "`usher dev` is controlled with the token, not with an API key"))
        }
    }
}
