//! A group of endpoints: one task of the app, one section of the OpenAPI document.

use axum::routing::MethodRouter;
use http::Method;
use usher_engine::access::Scope;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::ApiState;
use crate::access::{Access, ScopeExt as _};
use crate::auth::AuthPolicy;

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

    /// What a key needs for each of its endpoints, by method and path.
    pub(crate) fn access(&self) -> impl Iterator<Item = (Method, String, Access)> + '_ {
        self.endpoints.iter().filter_map(|endpoint| Some((endpoint, endpoint.access?))).flat_map(
            |(endpoint, access)| {
                let paths = &endpoint.router.get_openapi().paths.paths;
                paths.iter().flat_map(move |(path, item)| {
                    let methods = [
                        (Method::GET, item.get.is_some()),
                        (Method::POST, item.post.is_some()),
                        (Method::PUT, item.put.is_some()),
                        (Method::DELETE, item.delete.is_some()),
                    ];
                    methods.into_iter().filter(|(_, has)| *has).map(move |(method, _)| (method, path.clone(), access))
                })
            },
        )
    }
}

/// The documentation is for whoever operates the service.
fn access_of(policy: AuthPolicy) -> Option<Access> {
    (policy == AuthPolicy::Docs).then(|| Scope::Admin.of_nothing())
}
