//! A group of endpoints: one task of the app, one section of the OpenAPI document.

use axum::routing::MethodRouter;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::ApiState;
use crate::auth::AuthPolicy;

pub(crate) struct EndpointGroup {
    /// The tag of its operations.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// The endpoints, each with who may call it.
    pub(crate) endpoints: Vec<(AuthPolicy, OpenApiRouter<ApiState>)>,
}

impl EndpointGroup {
    pub(crate) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, endpoints: Vec::new() }
    }

    /// Adds an endpoint (`routes!(module::handler)`) for clients with the token.
    pub(crate) fn endpoint(self, routes: UtoipaMethodRouter<ApiState>) -> Self {
        self.endpoint_for(AuthPolicy::Token, routes)
    }

    /// Adds an endpoint with another policy.
    pub(crate) fn endpoint_for(mut self, policy: AuthPolicy, routes: UtoipaMethodRouter<ApiState>) -> Self {
        self.endpoints.push((policy, OpenApiRouter::default().routes(routes)));
        self
    }

    /// Adds a path that is not part of the API: a file that a page loads.
    pub(crate) fn file(mut self, policy: AuthPolicy, path: &str, file: MethodRouter<ApiState>) -> Self {
        self.endpoints.push((policy, OpenApiRouter::default().route(path, file)));
        self
    }
}
