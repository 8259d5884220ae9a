//! `POST /payments/recurring`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::{FieldValues, RecurringPaymentRequest};
use usher_protocol::message::Recurrence;

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::{Error, Started, start_operation};
use crate::field_types::{
    CalendarWord, Currency, Description, Flag, Identifier, Key, Millisats, PaymentCount, Subkeys, UnixSeconds,
};
use crate::idempotency::IdempotencyContext;
use crate::request_body::{RequestBody, ValuesToCheck, request_body};

request_body! {
    /// Asks a user to agree to a subscription.
    pub(crate) struct Body = "RecurringPaymentRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "description": "Membership",
        "amount": 10000,
        "currency": "millisats",
        "recurrence": { "calendar": "monthly", "first_payment_due": 4102444800_u64, "max_payments": 12 },
        "expires_at": 4102444800_u64,
    } {
        /// Who pays: 64 hex characters.
        main_key: Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// What the subscription is for. At most 639 bytes of UTF-8.
        description: Description,
        /// Millisats of each payment, at most `limits.max_amount_millisats`.
        amount: Millisats,
        /// The least that the user must authorize for each payment, in millisats; by default all of `amount`. A subscription for
        /// less is closed at once, and the stream gets `user_rejected` with the reason.
        minimum_amount: Option<Millisats>,
        /// `millisats`, in either case.
        currency: Currency,
        /// When, and how often, the user pays.
        recurrence: RecurrenceBody,
        /// Unix seconds until which the user can respond: in the future, within a year, and not after `recurrence.until`.
        expires_at: UnixSeconds,
        /// Your own reference, repeated in the events.
        request_id: Option<Identifier>,
        /// Whether the service asks for each due payment by itself, from `first_payment_due` on, or from the last due date
        /// before the user agreed. It reports each on the stream `subscriptions`. Needs a Lightning backend.
        auto_charge: Option<Flag>,
    }
}

request_body! {
    /// When, and how often, a subscription is paid.
    pub(crate) struct RecurrenceBody = "Recurrence" {
        /// When the payments after the first are due.
        calendar: CalendarWord,
        /// Unix seconds of the first payment; may be now.
        first_payment_due: UnixSeconds,
        /// After how many payments the subscription ends.
        max_payments: Option<PaymentCount>,
        /// Unix seconds after which no payment is due.
        until: Option<UnixSeconds>,
    }
}

impl RecurrenceBody {
    fn complete(self) -> Option<Recurrence> {
        Some(Recurrence {
            until: self.until,
            calendar: self.calendar?,
            max_payments: self.max_payments,
            first_payment_due: self.first_payment_due?,
        })
    }
}

impl RequestBody for Body {
    type Request = RecurringPaymentRequest;

    fn complete(self) -> Option<RecurringPaymentRequest> {
        self.currency?;
        Some(RecurringPaymentRequest {
            main_key: self.main_key?,
            subkeys: self.subkeys?,
            description: self.description?,
            amount: self.amount?,
            minimum_amount: self.minimum_amount,
            recurrence: self.recurrence?.complete()?,
            expires_at: self.expires_at?,
            reference: self.request_id,
            auto_charge: self.auto_charge.unwrap_or_default(),
        })
    }

    fn values(&self) -> Option<ValuesToCheck> {
        let recurrence = self.recurrence.as_ref();
        Some(ValuesToCheck::Engine(FieldValues::RecurringPayment {
            amount: self.amount,
            minimum_amount: self.minimum_amount,
            expires_at: self.expires_at,
            first_payment_due: recurrence.and_then(|recurrence| recurrence.first_payment_due),
            until: recurrence.and_then(|recurrence| recurrence.until),
            auto_charge: self.auto_charge.unwrap_or_default(),
        }))
    }
}

/// Asks a user to agree to a subscription.
///
/// The stream gets one event: `Subscription` `{status: "approved", subscription_id, main_key, authorized_amount,
/// authorized_recurrence, …}` if the user agrees, otherwise `StatusUpdate` `{status: "user_rejected", reason?}`,
/// `{status: "timeout"}` or `{status: "error", reason}`. With `minimum_amount` the user may authorize less than
/// `amount`: then request no more than what was authorized. With `auto_charge` the service requests each due payment
/// by itself and reports it on the stream `subscriptions`.
#[utoipa::path(
    post,
    path = "/payments/recurring",
    request_body(content = Body, examples(
        ("plain" = (summary = "Twelve monthly payments that your app asks for", value = json!({
            "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "subkeys": [],
            "description": "Membership",
            "amount": 10000,
            "currency": "millisats",
            "recurrence": { "calendar": "monthly", "first_payment_due": 4102444800_u64, "max_payments": 12 },
            "expires_at": 4102444800_u64,
        }))),
        ("with auto_charge" = (summary = "Monthly payments that the service asks for by itself", value = json!({
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
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`wallet_not_configured`: `auto_charge` needs a Lightning backend, and `wallet.ln_backend` is \
            `none`.\n\n`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn request_subscription(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Started>, Error> {
    start_operation(
        &state,
        idempotency,
        |engine, once| async move { engine.subscriptions().request(request, once).await },
    )
    .await
}
