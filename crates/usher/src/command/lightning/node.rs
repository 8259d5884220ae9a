//! The node, as the service describes it.

use serde_json::Value;

use crate::command::service_client::ServiceClient;
use crate::failure::Failure;

const SAT: u64 = 1000;

/// The response of `GET /wallet/info`, for a service with a node.
pub(super) async fn node(service: &ServiceClient) -> Result<Value, Failure> {
    let info = service.get("/wallet/info").await?;
    if info["node"].is_object() {
        return Ok(info);
    }
    Err(Failure::said(format!(
        "the service runs no Lightning node of its own: wallet.ln_backend is {}, not \"embedded\"",
        info["backend"]
    )))
}

pub(super) fn millisats(sats: u64) -> Result<u64, Failure> {
    sats.checked_mul(SAT).ok_or_else(|| Failure::usage("the amount is too large"))
}
