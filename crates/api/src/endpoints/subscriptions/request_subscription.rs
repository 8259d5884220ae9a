//! `POST /payments/recurring`

use axum::Json;
use usher_engine::RecurringPaymentRequest;

use crate::body;
use crate::endpoints::change::{Change, PricedStarted};
use crate::problem::Problem;

/// Asks a user to agree to a subscription.
///
/// The stream gets one event: `Subscription` `{status: "approved", subscription_id, main_key, authorized_amount,
/// authorized_recurrence, …}` if the user agrees, otherwise `StatusUpdate` `{status: "user_rejected", reason?}`,
/// `{status: "timeout"}` or `{status: "error", reason}`. With `minimum_amount` the user may authorize less than
/// `amount`: then request no more than what was authorized. With `auto_charge` the service requests each due payment
/// and reports it on the stream `subscriptions`.
///
/// An `amount` in another `currency` than millisats is converted again for each payment, rounded up to a whole sat. The user is
/// asked to authorize `max_amount_millisats`; a charge that comes to more, or for which there is no exchange rate, fails.
#[utoipa::path(
    post,
    path = "/payments/recurring",
    request_body(content = RecurringPaymentRequest, examples(
        ("plain" = (summary = "Twelve monthly payments that your app asks for", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "description": "Membership",
            "amount": 10000,
            "currency": "millisats",
            "recurrence": { "calendar": "monthly", "first_payment_due": 4102444800_u64, "max_payments": 12 },
            "expires_at": 4102444800_u64,
        }))),
        ("with auto_charge" = (summary = "Monthly payments that the service asks for", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "description": "Membership",
            "amount": 10000,
            "currency": "millisats",
            "recurrence": { "calendar": "monthly", "first_payment_due": 4102444800_u64 },
            "expires_at": 4102444800_u64,
            "auto_charge": true,
        }))),
    )),
    responses(
        (status = 200, description = "The operation is stored and has started.", body = PricedStarted),
        (status = 503, description = "`wallet_not_configured`: `auto_charge` needs a Lightning backend, and `wallet.ln_backend` is `none`.\n\n\
            `rate_unavailable`\n\n`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn request_subscription(
    change: Change,
    body::Checked(request): body::Checked<RecurringPaymentRequest>,
) -> Result<Json<PricedStarted>, Problem> {
    change
        .start_priced(async |engine, requester, once| engine.subscriptions().request(requester, request, once).await)
        .await
}
