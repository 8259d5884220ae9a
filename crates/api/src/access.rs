//! The rights that an endpoint requires of a key, and the streams visible to a key.

use usher_engine::access::{OperatorClient, Role, Scope};

use crate::auth::Authorization;
use crate::problem::{ErrorCode, Problem};

/// The rights that an endpoint requires of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) scope: Scope,
    pub(crate) reach: Reach,
    /// Its spending is not counted towards a key's budget: the endpoint refuses keys with a budget.
    pub(crate) is_uncounted: bool,
    /// Operators with the role `support` may change what the endpoint changes.
    pub(crate) is_for_support: bool,
}

/// The reach of an endpoint, for keys that see only their own streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Streams: the one in the path, or those that the request starts or lists. Other streams are treated as missing
    /// ([`Requester::sees`](usher_engine::Requester::sees)).
    Streams,
    /// No stream, and no data of another client.
    Nothing,
    /// The whole service: refused.
    Service,
}

impl From<Scope> for Access {
    fn from(scope: Scope) -> Self {
        Self { scope, reach: Reach::Streams, is_uncounted: false, is_for_support: false }
    }
}

/// Combines a scope with the reach of the endpoint.
pub(crate) trait ScopeExt {
    /// The endpoint concerns the whole service.
    fn of_service(self) -> Access;

    /// The endpoint concerns no stream.
    fn of_nothing(self) -> Access;

    /// Operators with the role `support` may use the endpoint.
    fn for_support(self) -> Access;
}

impl ScopeExt for Scope {
    fn of_service(self) -> Access {
        Access { reach: Reach::Service, ..self.into() }
    }

    fn of_nothing(self) -> Access {
        Access { reach: Reach::Nothing, ..self.into() }
    }

    fn for_support(self) -> Access {
        Access::from(self).for_support()
    }
}

impl Access {
    /// The spending of the endpoint is not counted towards the budget of a key.
    pub(crate) fn uncounted(self) -> Self {
        Self { is_uncounted: true, ..self }
    }

    /// Operators with the role `support` may use the endpoint.
    pub(crate) fn for_support(self) -> Self {
        Self { is_for_support: true, ..self }
    }

    /// Passes if the client may use an endpoint with this access, which `changes` something or only reads.
    pub(crate) fn check(self, authorization: &Authorization, changes: bool) -> Result<(), Problem> {
        let Some(terms) = authorization.terms() else { return Ok(()) };
        if let Some(client) = authorization.operator() {
            return self.check_operator(client, changes);
        }
        if !terms.scopes.contains(&self.scope) {
            return Err(Problem::scope_missing(self.scope));
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

    /// Passes if an operator may read what the endpoint shows, or change what it `changes`. Money, keys and operators need a
    /// fresh login.
    fn check_operator(self, client: &OperatorClient, changes: bool) -> Result<(), Problem> {
        let user = &client.user;
        let is_allowed = match (self.scope, user.role) {
            (Scope::Approvals, _) if changes => user.is_approver,
            (Scope::Approvals, _) => true,
            (_, None) => false,
            (_, Some(Role::Viewer)) => !changes,
            (_, Some(Role::Support)) => !changes || self.is_for_support,
            (_, Some(Role::Admin)) => true,
        };
        if !is_allowed {
            let detail = match (self.scope, user.role) {
                (Scope::Approvals, _) => "only people in wallet.approvers decide about payments".to_owned(),
                (_, None) => "you have no role in the console: you only approve payments".to_owned(),
                (_, Some(role)) => format!("your role, {}, does not include this", role.as_str()),
            };
            return Err(Problem::new(ErrorCode::RoleNotAllowed, detail));
        }
        let is_sensitive = changes
            && match self.scope {
                Scope::PaymentsSend | Scope::Tickets | Scope::Approvals => true,
                Scope::Admin => !self.is_for_support,
                _ => false,
            };
        if is_sensitive && !client.session.is_fresh {
            let detail = "log in again at /console/step-up: your last login was more than five minutes ago";
            return Err(Problem::new(ErrorCode::StepUpRequired, detail));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::endpoint_group::EndpointGroup;
    use crate::endpoints;

    /// Path parameters that name a stream.
    const STREAMS: [&str; 3] = ["{stream_id}", "{session_id}", "{subscription_id}"];

    /// So that a key restricted to its own streams gets no list of all streams.
    #[test]
    fn endpoints_that_name_no_stream_say_what_they_are_about() {
        /// Endpoints that list only data of the client.
        const FILTERED: [&str; 8] = [
            "/events",
            "/key-handshake",
            "/logins",
            "/payments",
            "/payment-links",
            "/subscriptions",
            "/cashu/outgoing",
            "/verification/sessions",
        ];
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
