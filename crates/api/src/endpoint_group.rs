//! A group of endpoints: one task of the app, one section of the OpenAPI document.

use axum::routing::MethodRouter;
use http::Method;
use usher_engine::access::Scope;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::ApiState;
use crate::access::{Access, ScopeExt as _};
use crate::auth::AuthPolicy;
use crate::route_table::Route;

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
    pub(crate) router: OpenApiRouter<ApiState>,
}

impl EndpointGroup {
    pub(crate) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, endpoints: Vec::new() }
    }

    /// Adds an endpoint (`routes!(module::handler)`) for clients with the token, or a key that has this.
    pub(crate) fn endpoint(self, access: impl Into<Access>, routes: UtoipaMethodRouter<ApiState>) -> Self {
        self.add(AuthPolicy::Client, Some(access.into()), OpenApiRouter::default().routes(routes))
    }

    /// Adds an endpoint with another policy.
    pub(crate) fn endpoint_for(self, policy: AuthPolicy, routes: UtoipaMethodRouter<ApiState>) -> Self {
        self.add(policy, access_of(policy), OpenApiRouter::default().routes(routes))
    }

    /// Adds a path that is not part of the API: a file that a page loads.
    pub(crate) fn file(self, policy: AuthPolicy, path: &str, file: MethodRouter<ApiState>) -> Self {
        self.add(policy, None, OpenApiRouter::default().route(path, file))
    }

    fn add(mut self, policy: AuthPolicy, access: Option<Access>, router: OpenApiRouter<ApiState>) -> Self {
        self.endpoints.push(Endpoint { policy, access, router });
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
                    let handler = operation.as_ref()?.operation_id.as_deref().unwrap_or_default();
                    let operation_id = operation_id(handler).into();
                    Some((method, path.clone(), Route { access: endpoint.access, operation_id }))
                })
            })
        })
    }
}

/// The name of an endpoint in the OpenAPI document and the audit log: `streamAllEvents` for the handler `stream_all_events`.
pub(crate) fn operation_id(handler: &str) -> String {
    let mut id = String::with_capacity(handler.len());
    for (index, word) in handler.split('_').enumerate() {
        match word.split_at_checked(1) {
            Some((first, rest)) if index > 0 => id.push_str(&(first.to_uppercase() + rest)),
            _ => id.push_str(word),
        }
    }
    id
}

/// The documentation is for whoever operates the service.
fn access_of(policy: AuthPolicy) -> Option<Access> {
    (policy == AuthPolicy::Docs).then(|| Scope::Admin.of_nothing())
}
