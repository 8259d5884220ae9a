//! The router: all endpoints, with the middleware around them.

use axum::middleware::from_fn_with_state;
use axum::{Extension, Router};
use utoipa::openapi::OpenApi;

use crate::ApiState;
use crate::auth::AuthPolicy;
use crate::endpoints::{self, OpenApiSource};
use crate::idempotency::idempotency;
use crate::middleware::{self, Context};
use crate::openapi::document;
use crate::problem::{ErrorCode, Problem};

/// The OpenAPI 3.1 document of the API; the committed one is `docs/openapi.json`.
pub fn openapi() -> OpenApi {
    document(endpoints::groups())
}

/// The whole API.
///
/// Unknown paths need the token as well, so that unauthenticated peers learn nothing. The pages are beside the API, under the
/// same middleware.
pub(crate) fn router(state: ApiState) -> Router {
    let mut routers = AuthPolicy::ALL.map(|policy| (policy, Router::new()));
    for (policy, endpoint) in endpoints::groups().into_iter().flat_map(|group| group.endpoints) {
        if let Some((_, router)) = routers.iter_mut().find(|(of, _)| *of == policy) {
            *router = std::mem::take(router).merge(endpoint);
        }
    }
    let idempotency = from_fn_with_state(state.clone(), idempotency);
    let routers = routers.map(|(policy, router)| {
        let router = router.method_not_allowed_fallback(method_not_allowed);
        let router = match policy {
            AuthPolicy::Token => router.fallback(route_not_found).layer(idempotency.clone()),
            AuthPolicy::Docs => router.layer(Extension(OpenApiSource(openapi))),
            AuthPolicy::Public | AuthPolicy::WebSocket => router,
        };
        router.layer(from_fn_with_state(Context { state: state.clone(), policy }, middleware::handle))
    });
    let pages = state
        .pages
        .clone()
        .layer(from_fn_with_state(Context { state: state.clone(), policy: AuthPolicy::Public }, middleware::handle));
    routers.into_iter().fold(Router::new(), Router::merge).with_state(state).merge(pages)
}

async fn route_not_found() -> Problem {
    Problem::new(ErrorCode::RouteNotFound, "there is no such path; `/docs` and docs/api.md list all paths")
}

async fn method_not_allowed() -> Problem {
    Problem::new(ErrorCode::MethodNotAllowed, "the `Allow` header lists the methods of this path")
}
