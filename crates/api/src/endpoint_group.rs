//! A group of endpoints: one task of the app, one section of the OpenAPI document.

use axum::routing::MethodRouter;
use http::Method;
use usher_engine::access::Scope;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::ApiState;
use crate::access::{Access, ScopeExt as _};
use crate::auth::AuthPolicy;
use crate::route::{Audit, Route, operation_id};

pub(crate) struct EndpointGroup {
    /// The tag of its operations.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) endpoints: Vec<Endpoint>,
}

/// An endpoint, with who may call it.
pub(crate) struct Endpoint {
    pub(crate) policy: AuthPolicy,
    /// What a key needs; `None`: nothing.
    pub(crate) access: Option<Access>,
    pub(crate) audit: Audit,
    pub(crate) waits_for_mint: bool,
    pub(crate) router: OpenApiRouter<ApiState>,
}

impl EndpointGroup {
    pub(crate) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, endpoints: Vec::new() }
    }

    /// Adds an endpoint (`routes!(module::handler)`) for clients with the token, or a key that has this. What its requests change is
    /// recorded so.
    pub(crate) fn endpoint(
        self,
        access: impl Into<Access>,
        audit: Audit,
        routes: UtoipaMethodRouter<ApiState>,
    ) -> Self {
        self.add(AuthPolicy::Client, Some(access.into()), audit, OpenApiRouter::default().routes(routes))
    }

    /// The same, for requests that wait for a mint. They have places of their own, so that mints that do not respond hold up nothing else.
    pub(crate) fn mint_call(
        self,
        access: impl Into<Access>,
        audit: Audit,
        routes: UtoipaMethodRouter<ApiState>,
    ) -> Self {
        let mut group = self.endpoint(access, audit, routes);
        if let Some(added) = group.endpoints.last_mut() {
            added.waits_for_mint = true;
        }
        group
    }

    /// Adds an endpoint with another policy. It changes nothing.
    pub(crate) fn endpoint_for(self, policy: AuthPolicy, routes: UtoipaMethodRouter<ApiState>) -> Self {
        self.add(policy, access_of(policy), Audit::Nothing, OpenApiRouter::default().routes(routes))
    }

    /// Adds a path that is not part of the API: a file that a page loads.
    pub(crate) fn file(self, policy: AuthPolicy, path: &str, file: MethodRouter<ApiState>) -> Self {
        self.add(policy, None, Audit::Nothing, OpenApiRouter::default().route(path, file))
    }

    fn add(
        mut self,
        policy: AuthPolicy,
        access: Option<Access>,
        audit: Audit,
        router: OpenApiRouter<ApiState>,
    ) -> Self {
        self.endpoints.push(Endpoint { policy, access, audit, waits_for_mint: false, router });
        self
    }

    /// Its endpoints, by method and path.
    pub(crate) fn routes(&self) -> impl Iterator<Item = (Method, String, Route)> + '_ {
        self.endpoints.iter().flat_map(|endpoint| {
            let paths = &endpoint.router.get_openapi().paths.paths;
            paths.iter().flat_map(|(path, item)| {
                let operations = [
                    (Method::GET, &item.get),
                    (Method::POST, &item.post),
                    (Method::PUT, &item.put),
                    (Method::DELETE, &item.delete),
                ];
                operations.into_iter().filter_map(|(method, operation)| {
                    let operation = operation.as_ref()?;
                    let route = Route {
                        access: endpoint.access,
                        audit: endpoint.audit,
                        waits_for_mint: endpoint.waits_for_mint,
                        takes_body: operation.request_body.is_some(),
                        operation_id: operation_id(operation.operation_id.as_deref().unwrap_or_default()).into(),
                    };
                    Some((method, path.clone(), route))
                })
            })
        })
    }
}

/// The documentation is for whoever operates the service.
fn access_of(policy: AuthPolicy) -> Option<Access> {
    (policy == AuthPolicy::Docs).then(|| Scope::Admin.of_nothing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints;

    #[test]
    fn only_endpoints_of_clients_change_something() {
        for group in endpoints::groups() {
            let others = group.endpoints.into_iter().filter(|endpoint| endpoint.policy != AuthPolicy::Client);
            let group = EndpointGroup { endpoints: others.collect(), ..EndpointGroup::new("", "") };
            assert!(group.routes().all(|(method, ..)| method.is_safe()));
        }
    }
}
