//! `POST /wallet/send`

use axum::Json;
use usher_engine::SendOnChainRequest;

use crate::body;
use crate::endpoints::change::{Change, Started};
use crate::problem::Problem;

/// Sends money of the node's on-chain balance to a Bitcoin address.
///
/// The stream gets `{status: "sending", txid, amount_millisats, fees_paid}` when the transaction is made and stored, and
/// `{status: "paid", …}` with the same members when it is in a block. Until then the service publishes it again every 30
/// seconds. `{status: "error", reason, outcome: "not_paid"}`: nothing was sent.
///
/// A transaction cannot be taken back. Send an `Idempotency-Key`: the same request with the same key sends once, whatever
/// happens. Coins of earlier transactions are not spent again. The node keeps 25,000 sat for each channel with a peer
/// other than the liquidity provider (`reserved` in `GET /wallet/info`), also when `amount` is `all`.
///
/// The amount and twice the expected fee (with `all`: the fee) must fit into what is left of
/// `wallet.daily_budget_millisats`. If they are together more than `wallet.approval_above_millisats`, the stream first gets
/// `{status: "approval_required"}`, and the money is sent when somebody else approves (`POST /approvals/{stream_id}`).
#[utoipa::path(
    post,
    path = "/wallet/send",
    request_body(content = SendOnChainRequest, examples(
        ("an amount" = (value = json!({
            "address": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "amount": 50000000, "fee_rate": 5,
        }))),
        ("all" = (value = json!({ "address": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "amount": "all" }))),
    )),
    responses(
        (status = 200, description = "The payment is stored, and is made once.", body = Started),
        (status = 422, description = "`invalid_request`: Some fields are wrong: `/address` is of another network, `/amount` is dust, \
            no multiple of 1,000, or more than the node can spend, or `/fee_rate` is missing and the chain source names none. \
            Nothing was sent."),
        (status = 429, description = "`budget_exhausted`: too little is left of `wallet.daily_budget_millisats`. There is \
            room again after `Retry-After` seconds, if nothing else is paid until then."),
        (status = 502, description = "`wallet_error`: The node does not run, or has not seen the funding transaction of a channel \
            on the chain yet: then repeat the request in a minute. Nothing was sent."),
        (status = 503, description = "`wallet_not_configured`: `wallet.ln_backend` is not `embedded`.\n\n\
            `storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn send_on_chain(
    change: Change,
    body::Json(request): body::Json<SendOnChainRequest>,
) -> Result<Json<Started>, Problem> {
    change.start(async |engine, requester, once| engine.payments().send_on_chain(requester, request, once).await).await
}
