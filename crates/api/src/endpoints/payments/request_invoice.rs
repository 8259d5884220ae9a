//! `POST /invoices/request`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::{FieldValues, RequestInvoice};

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::{Error, Started, start_operation};
use crate::field_types::{Currency, Description, Identifier, Key, Millisats, Subkeys, UnixSeconds};
use crate::idempotency::IdempotencyContext;
use crate::request_body::{RequestBody, ValuesToCheck, request_body};

request_body! {
    /// Asks a user for an invoice.
    pub(crate) struct Body = "InvoiceRequest", example {
        "recipient_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "content": { "amount": 10000, "currency": "millisats", "description": "Refund" },
    } {
        /// Whose wallet makes the invoice: 64 hex characters.
        recipient_key: Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// What the invoice is for.
        content: Content,
    }
}

request_body! {
    /// What the invoice is for.
    pub(crate) struct Content = "InvoiceRequestContent" {
        /// Millisats, at most `limits.max_amount_millisats`.
        amount: Millisats,
        /// `millisats`, in either case.
        currency: Currency,
        /// At most 639 bytes of UTF-8.
        description: Option<Description>,
        /// Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
        expires_at: Option<UnixSeconds>,
        /// Your own reference, repeated in the events.
        request_id: Option<Identifier>,
    }
}

impl RequestBody for Body {
    type Request = RequestInvoice;

    fn complete(self) -> Option<RequestInvoice> {
        let Content { amount, currency, description, expires_at, request_id } = self.content?;
        currency?;
        Some(RequestInvoice {
            main_key: self.recipient_key?,
            subkeys: self.subkeys?,
            amount: amount?,
            description,
            reference: request_id,
            expires_at,
        })
    }

    fn values(&self) -> Option<ValuesToCheck> {
        let Content { amount, expires_at, .. } = self.content.as_ref()?;
        Some(ValuesToCheck::Engine(FieldValues::InvoiceRequest { amount: *amount, expires_at: *expires_at }))
    }
}

/// Asks a user's wallet for an invoice.
///
/// The stream gets one event: `InvoiceResponse` `{invoice, payment_hash, amount}`, with a verified invoice (signature,
/// amount, network, expiry), or `StatusUpdate` `{status: "timeout"}` or `{status: "error", reason}`. Pay the invoice
/// with `POST /invoices/pay`.
#[utoipa::path(
    post,
    path = "/invoices/request",
    request_body = Body,
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn request_invoice(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Started>, Error> {
    start_operation(&state, idempotency, |engine, once| async move {
        engine.payments().request_invoice(request, once).await
    })
    .await
}
