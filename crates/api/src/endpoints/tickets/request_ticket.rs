//! `POST /cashu/request`

use axum::Json;
use usher_engine::RequestTicket;

use crate::body;
use crate::endpoints::change::{Change, Started};
use crate::problem::Problem;

/// Asks a user's wallet for a ticket.
///
/// The response comes at once. The stream gets one event: `CashuResponse` `{status: "success", token, amount}` with a token
/// that the mint has confirmed to be unspent, of this mint and unit, and worth at least `amount`; or
/// `CashuResponse` `{status: "insufficient_funds" | "rejected", reason?}`; or `StatusUpdate` `{status: "timeout"}` or
/// `{status: "error", reason, token?}`. With `redeem` the ticket is redeemed before `success` is reported; without it,
/// redeem the `token` yourself, at once, with `POST /cashu/burn`.
#[utoipa::path(
    post,
    path = "/cashu/request",
    request_body(content = RequestTicket, examples(
        ("plain" = (summary = "One ticket, which you burn", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "mint_url": "https://mint.example",
            "unit": "multi",
            "amount": 1,
        }))),
        ("redeem" = (summary = "One ticket, which is redeemed at once", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "mint_url": "https://mint.example",
            "unit": "multi",
            "amount": 1,
            "redeem": true,
            "request_id": "entry-3",
        }))),
    )),
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn request_ticket(
    change: Change,
    body::Checked(request): body::Checked<RequestTicket>,
) -> Result<Json<Started>, Problem> {
    change.start(async |engine, requester, once| engine.tickets().request(requester, request, once).await).await
}
