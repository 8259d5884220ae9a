//! `POST /cashu/request`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::{FieldValues, RequestTicket};

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::{Error, Started, start_operation};
use crate::field_types::{Flag, Identifier, Key, MintAuth, MintUrl, Subkeys, TicketAmount, TicketUnit, UnixSeconds};
use crate::idempotency::IdempotencyContext;
use crate::request_body::{Aliased, RecipientKey, RequestBody, StaticAuthToken, ValuesToCheck, request_body};

request_body! {
    /// Asks a user for a ticket.
    pub(crate) struct Body = "TicketRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "mint_url": "https://mint.example",
        "unit": "multi",
        "amount": 1,
    } {
        /// Who is asked: 64 hex characters. Required, here or as `recipient_key`.
        main_key: Aliased<Key, RecipientKey>,
        /// Another name for `main_key`.
        recipient_key: Option<Key>,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// The mint that the ticket must be of: an `http` or `https` URL.
        mint_url: MintUrl,
        /// The unit that it must be in: `sat`, or one of the mint's own, such as `multi`.
        unit: TicketUnit,
        /// The least that it must be worth, in the unit.
        amount: TicketAmount,
        /// Whether the ticket is redeemed at once: then `success` means that nobody else can use it any more, and there is no
        /// `token` in the event.
        redeem: Option<Flag>,
        /// The token by which the mint knows who may use it (header `Clear-auth`), if it wants one.
        static_token: Aliased<Option<MintAuth>, StaticAuthToken>,
        /// Another name for `static_token`.
        static_auth_token: Option<MintAuth>,
        /// Your own reference, repeated in the events.
        request_id: Option<Identifier>,
        /// Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
        expires_at: Option<UnixSeconds>,
    }
}

impl RequestBody for Body {
    type Request = RequestTicket;

    fn complete(self) -> Option<RequestTicket> {
        Some(RequestTicket {
            main_key: self.main_key.or(self.recipient_key)?,
            subkeys: self.subkeys?,
            mint_url: self.mint_url?,
            unit: self.unit?,
            amount: self.amount?,
            redeem: self.redeem.unwrap_or_default(),
            auth: self.static_token.or(self.static_auth_token),
            reference: self.request_id,
            expires_at: self.expires_at,
        })
    }

    fn values(&self) -> Option<ValuesToCheck> {
        Some(ValuesToCheck::Engine(FieldValues::Ticket { amount: self.amount, expires_at: self.expires_at }))
    }
}

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
    request_body(content = Body, examples(
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
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn request_ticket(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Started>, Error> {
    start_operation(&state, idempotency, |engine, once| async move { engine.tickets().request(request, once).await })
        .await
}
