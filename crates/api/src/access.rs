//! What a key needs for an endpoint, and what it may see.

use serde_json::{Map, Value};
use usher_engine::access::Scope;

use crate::auth::Authorization;
use crate::problem::{ErrorCode, Problem};

/// What a key needs for an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) scope: Scope,
    pub(crate) reach: Reach,
    /// What it spends is not counted by the budget of a key: refused to those that have one.
    pub(crate) is_uncounted: bool,
}

/// What an endpoint is about, for keys that see only the streams that they have started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Streams: that of its path, or those that it starts or lists. Others are treated as if they did not exist
    /// ([`Requester::sees`](usher_engine::Requester::sees)).
    Streams,
    /// No stream, and nothing that another client has done.
    Nothing,
    /// The whole service: refused.
    Service,
}

impl From<Scope> for Access {
    fn from(scope: Scope) -> Self {
        Self { scope, reach: Reach::Streams, is_uncounted: false }
    }
}

/// A scope on a route's line, with the reach of the endpoint.
pub(crate) trait ScopeExt {
    /// The endpoint is about the whole service.
    fn of_service(self) -> Access;

    /// The endpoint is about no stream.
    fn of_nothing(self) -> Access;
}

impl ScopeExt for Scope {
    fn of_service(self) -> Access {
        Access { reach: Reach::Service, ..self.into() }
    }

    fn of_nothing(self) -> Access {
        Access { reach: Reach::Nothing, ..self.into() }
    }
}

impl Access {
    /// What the endpoint spends is not counted by the budget of a key.
    pub(crate) fn uncounted(self) -> Self {
        Self { is_uncounted: true, ..self }
    }

    /// Passes when the client may use an endpoint that needs this.
    pub(crate) fn check(self, authorization: &Authorization) -> Result<(), Problem> {
        let Some(terms) = authorization.terms() else { return Ok(()) };
        if !terms.scopes.contains(&self.scope) {
            return Err(scope_missing(self.scope));
        }
        if terms.own_streams_only && self.reach == Reach::Service {
            let detail = "the key sees only the streams that it has started (own_streams_only), and this is about the whole service";
            return Err(Problem::new(ErrorCode::OwnStreamsOnly, detail));
        }
        if terms.daily_budget_millisats.is_some() && self.is_uncounted {
            let detail = "the key has a daily_budget_millisats, and what this spends is not counted by it";
            return Err(Problem::new(ErrorCode::BudgetNotCounted, detail));
        }
        Ok(())
    }
}

/// The key lacks this scope.
pub(crate) fn scope_missing(scope: Scope) -> Problem {
    let scope = scope.as_str();
    Problem::new(ErrorCode::ScopeMissing, format!("the key lacks the scope {scope}"))
        .with_members(Map::from_iter([("scope".to_owned(), Value::from(scope))]))
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::endpoint_group::EndpointGroup;
    use crate::endpoints;

    /// What names a stream in a path.
    const STREAMS: [&str; 3] = ["{stream_id}", "{session_id}", "{subscription_id}"];

    /// So that no list of everything is shown to a key that may see only its own.
    #[test]
    fn endpoints_that_name_no_stream_say_what_they_are_about() {
        /// Those that show only what is of the client.
        const FILTERED: [&str; 6] =
            ["/events", "/key-handshake", "/payments", "/payment-links", "/subscriptions", "/cashu/outgoing"];
        for (method, path, route) in endpoints::groups::<()>().iter().flat_map(EndpointGroup::routes) {
            let Some(access) = route.access else { continue };
            let names_stream = STREAMS.iter().any(|name| path.contains(name));
            if *method == Method::POST || access.reach != Reach::Streams {
                continue;
            }
            assert!(names_stream || FILTERED.contains(&path), "{method} {path} names no stream");
        }
    }
}
