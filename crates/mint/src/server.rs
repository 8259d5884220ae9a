use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::serve::ListenerExt as _;
use cdk_axum::cache::HttpCache;
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use crate::auth::{TokenPolicy, require_token};

/// The routes of a mint, behind the token if there is one. Responses are not cached (NUT-19).
pub(crate) async fn routes(mint: Arc<cdk::Mint>, policy: Option<TokenPolicy>) -> anyhow::Result<Router> {
    let cache = HttpCache::new(Duration::ZERO, Duration::ZERO, None);
    let routes = cdk_axum::create_mint_router_with_custom_cache(mint, cache, vec!["bolt11".to_owned()], false).await?;
    let routes = routes.layer(from_fn(run_to_its_end));
    Ok(match policy {
        Some(policy) => routes.layer(from_fn_with_state(policy, require_token)),
        None => routes,
    })
}

/// Runs a request to its end, even if its client goes away: otherwise a swap would leave its inputs pending.
async fn run_to_its_end(request: Request, next: Next) -> Response {
    let response = Handle::current().spawn(next.run(request)).await;
    response.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

pub(crate) async fn serve(listener: TcpListener, routes: Router) {
    // Without this a response that is written in two parts waits for the client's delayed acknowledgement.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    if let Err(error) = axum::serve(listener, routes).await {
        tracing::error!(%error, "the mint's listener failed");
    }
}
