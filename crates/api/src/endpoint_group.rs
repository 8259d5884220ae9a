//! A group of endpoints for one task of the app, and one section of the OpenAPI document.

use axum::routing::{MethodFilter, MethodRouter};
use http::Method;
use usher_engine::access::Scope;
use utoipa::Path;
use utoipa::openapi::path::HttpMethod;
use utoipa_axum::PathItemExt as _;
use utoipa_axum::router::UtoipaMethodRouter;

use crate::ApiState;
use crate::access::{Access, ScopeExt as _};
use crate::auth::AuthPolicy;
use crate::route::{Audit, Route, operation_id};

/// `D` is the detail of each endpoint beside its route: `()` for serving.
pub(crate) struct EndpointGroup<D = ()> {
    /// The tag of its operations in the OpenAPI document.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) endpoints: Vec<Endpoint<D>>,
}

/// An endpoint and its access policy.
pub(crate) struct Endpoint<D> {
    pub(crate) policy: AuthPolicy,
    pub(crate) path: String,
    pub(crate) router: MethodRouter<ApiState>,
    /// `None` for a file.
    pub(crate) documented: Option<(Method, Route, D)>,
}

pub(crate) trait Handler {
    type Path: Path;

    const NAME: &'static str;

    fn on(method: MethodFilter) -> MethodRouter<ApiState>;

    fn describe() -> Description;
}

pub(crate) type Description = UtoipaMethodRouter<ApiState>;

pub(crate) trait Detail {
    fn of<H: Handler>() -> Self;
}

impl Detail for () {
    fn of<H: Handler>() {}
}

impl Detail for Description {
    fn of<H: Handler>() -> Self {
        H::describe()
    }
}

/// `handler!(module::function)`: the function with the attribute `#[utoipa::path]`; `handler!(module)` if it has the module's name.
macro_rules! handler {
    ($module:ident) => {
        $crate::endpoint_group::handler!($module::$module)
    };
    ($module:ident::$function:ident) => {
        utoipa_axum::paste! {{
            struct Named;
            impl $crate::endpoint_group::Handler for Named {
                type Path = $module::[<__path_ $function>];
                const NAME: &'static str = stringify!($function);

                fn on(method: axum::routing::MethodFilter) -> axum::routing::MethodRouter<$crate::ApiState> {
                    axum::routing::on(method, $module::$function)
                }

                fn describe() -> $crate::endpoint_group::Description {
                    utoipa_axum::routes!($module::$function)
                }
            }
            Named
        }}
    };
}

pub(crate) use handler;

impl<D: Detail> EndpointGroup<D> {
    pub(crate) const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, endpoints: Vec::new() }
    }

    /// Adds an endpoint for clients with the token, or a key with this access, whose changes are recorded as `audit`.
    pub(crate) fn endpoint<H: Handler>(self, access: impl Into<Access>, audit: Audit, handler: H) -> Self {
        self.add(AuthPolicy::Client, Some(access.into()), audit, handler)
    }

    /// Adds an endpoint whose requests wait for a mint. They take separate places: unresponsive mints block no others.
    pub(crate) fn mint_call<H: Handler>(self, access: impl Into<Access>, audit: Audit, handler: H) -> Self {
        self.endpoint(access, audit, handler).change_last(|route| route.waits_for_mint = true)
    }

    /// The last added endpoint is a `DELETE` with a body.
    pub(crate) fn with_body(self) -> Self {
        self.change_last(|route| route.takes_body = true)
    }

    /// Adds an endpoint with another policy, which changes nothing.
    pub(crate) fn endpoint_for<H: Handler>(self, policy: AuthPolicy, handler: H) -> Self {
        self.add(policy, access_of(policy), Audit::Nothing, handler)
    }

    /// Adds a file of a page, which is not part of the API.
    pub(crate) fn file(mut self, policy: AuthPolicy, path: &str, router: MethodRouter<ApiState>) -> Self {
        self.endpoints.push(Endpoint { policy, path: path.to_owned(), router, documented: None });
        self
    }

    fn add<H: Handler>(mut self, policy: AuthPolicy, access: Option<Access>, audit: Audit, _handler: H) -> Self {
        for of in H::Path::methods() {
            let router = H::on(of.to_method_filter());
            let method = method(of);
            let route = Route {
                access,
                audit,
                waits_for_mint: false,
                takes_body: matches!(method, Method::POST | Method::PUT | Method::PATCH),
                operation_id: operation_id(H::NAME).into(),
            };
            let documented = Some((method, route, D::of::<H>()));
            self.endpoints.push(Endpoint { policy, path: H::Path::path(), router, documented });
        }
        self
    }

    fn change_last(mut self, change: impl FnOnce(&mut Route)) -> Self {
        if let Some(Endpoint { documented: Some((_, route, _)), .. }) = self.endpoints.last_mut() {
            change(route);
        }
        self
    }

    pub(crate) fn routes(&self) -> impl Iterator<Item = (&Method, &str, &Route)> + '_ {
        self.endpoints.iter().filter_map(|endpoint| {
            let (method, route, _) = endpoint.documented.as_ref()?;
            Some((method, &*endpoint.path, route))
        })
    }
}

fn method(of: HttpMethod) -> Method {
    match of {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Delete => Method::DELETE,
        HttpMethod::Options => Method::OPTIONS,
        HttpMethod::Head => Method::HEAD,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Trace => Method::TRACE,
    }
}

/// The documentation is for operators.
fn access_of(policy: AuthPolicy) -> Option<Access> {
    (policy == AuthPolicy::Docs).then(|| Scope::Admin.of_nothing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints;

    #[test]
    fn only_endpoints_of_clients_change_something() {
        for endpoint in endpoints::groups::<()>().into_iter().flat_map(|group| group.endpoints) {
            let changes = endpoint.documented.is_some_and(|(method, ..)| !method.is_safe());
            assert!(!changes || endpoint.policy == AuthPolicy::Client, "{}", endpoint.path);
        }
    }

    /// A request's body is read before its handler runs.
    #[test]
    fn endpoints_with_a_body_in_the_document_take_one() {
        for endpoint in endpoints::groups::<Description>().into_iter().flat_map(|group| group.endpoints) {
            let Some((method, route, (_, paths, _))) = endpoint.documented else { continue };
            let item = &paths.paths[&endpoint.path];
            let operations = [&item.post, &item.put, &item.delete, &item.patch];
            let has_body = operations.into_iter().flatten().any(|operation| operation.request_body.is_some());
            assert!(has_body == route.takes_body || method == Method::POST, "{method} {}", endpoint.path);
        }
    }
}
