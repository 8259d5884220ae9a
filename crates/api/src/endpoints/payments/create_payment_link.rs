//! `POST /payment-links`

use axum::Json;
use serde::Serialize;
use usher_engine::{PaymentLinkCreated, PaymentLinkRequest};
use usher_protocol::lnurl;
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::request_log;

/// A payment link.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentLinkCreated)]
pub(crate) struct Created {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// A page at which anybody who has its address can pay, as often as they like.
    #[schema(example = "https://login.example/link/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/5b0c…")]
    page_url: String,
    /// The same for wallets (LNURL-pay), for a QR code: in upper case the code is smaller.
    #[schema(example = "lnurl1dp68gurn8ghj7…")]
    lnurl: String,
}

impl Created {
    fn on(created: &PaymentLinkCreated) -> Self {
        Self {
            stream_id: created.stream_id.to_string(),
            page_url: created.page_url.clone(),
            lnurl: lnurl::encode(&created.lnurl_url),
        }
    }
}

/// Creates a payment link, at which many people can pay.
///
/// Give out `page_url` as a link, or `lnurl` as a QR code: any wallet can scan it, also from paper. Each payer gets an invoice of
/// their own when they ask for it, which can be paid for five minutes. All pay `amount`, or each what they choose from `min` to
/// `max`.
///
/// The stream gets a `StatusUpdate` `{status: "paid", payment_id, amount, currency, amount_millisats, preimage, …}` for each payment
/// that was made, and nothing for invoices that nobody pays. `payment_id` names the payment: `GET /payments` lists it, and
/// `POST /payments/{payment_id}/refund` pays it back. `comment` is what the payer wrote with their wallet: untrusted text.
///
/// The link gives out no more invoices after `expires_at`, after `max_payments`, or once it is closed
/// (`DELETE /payment-links/{stream_id}`). An invoice that was given out before can still be paid, and the payment is an event as any
/// other: at most so many people pay more than `max_payments` as have an invoice when the last of these is made.
#[utoipa::path(
    post,
    path = "/payment-links",
    request_body(content = PaymentLinkRequest, examples(
        ("fixed" = (summary = "Each payer pays the same", value = json!({
            "amount": 350, "currency": "EUR", "description": "One coffee", "request_id": "table-7",
        }))),
        ("chosen" = (summary = "Each payer chooses", value = json!({
            "min": 1000, "max": 100_000_000, "description": "Donation",
        }))),
    )),
    responses(
        (status = 200, description = "The link is stored and open.", body = Created),
        (status = 503, description = "`wallet_not_configured`\n\n`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn create_payment_link(
    change: Change,
    body::Checked(request): body::Checked<PaymentLinkRequest>,
) -> Result<Json<Created>, Problem> {
    let once = change.once(Created::on);
    let created = change.state.engine.payment_links().create(&change.requester, request, once).await?;
    request_log::record_stream_id(&created.stream_id);
    Ok(Json(Created::on(&created)))
}
