//! Who may control `usher dev`.

use usher_api::{ErrorCode, Problem};
use usher_engine::Requester;
use usher_engine::access::Role;

/// An API key does not change how the tests of others end. The console's administrator does.
pub(super) fn require_token(requester: &Requester) -> Result<(), Problem> {
    match requester {
        Requester::Service => Ok(()),
        Requester::Key { terms, .. } if terms.role == Some(Role::Admin) => Ok(()),
        _ => {
            Err(Problem::new(ErrorCode::TokenRequired, "`usher dev` is controlled with the token, not with an API key"))
        }
    }
}
