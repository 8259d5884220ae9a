//! `POST /payments/recurring`

use axum::extract::State;
use axum::{Extension, Json};
use serde_json::Value;
use usher_engine::{Engine, FieldValues, RecurringPaymentRequest};
use usher_protocol::bolt11::MAX_DESCRIPTION_BYTES;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::Recurrence;
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody, Values};
use crate::endpoints::operation_started::{Error, Started};
use crate::field_reader::{self, Errors, Fields};
use crate::idempotency::IdempotencyContext;
use crate::tasks;

/// Asks a user to agree to a subscription.
#[derive(Debug, ToSchema)]
#[schema(as = RecurringPaymentRequest, example = json!({
    "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "subkeys": [],
    "description": "Membership",
    "amount": 10000,
    "currency": "millisats",
    "recurrence": { "calendar": "monthly", "first_payment_due": 4102444800_u64, "max_payments": 12 },
    "expires_at": 4102444800_u64,
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for RecurringPaymentRequest` reads")]
pub(crate) struct RequestBody {
    /// Who pays: 64 hex characters.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    main_key: String,
    /// Keys that may answer for it without a proof of delegation; usually none, and at most 8.
    subkeys: Vec<String>,
    /// What it is for. At most 639 bytes of UTF-8.
    #[schema(format = "text", max_length = 639)]
    description: String,
    /// Millisats each time, at most `limits.max_amount_millisats`.
    #[schema(format = "millisats", minimum = 1, maximum = 2_100_000_000_000_000_000_i64)]
    amount: u64,
    /// Millisats each time that the user must authorize at least; all of `amount` when it is left out. A subscription for less is
    /// closed at once, and the stream gets `user_rejected` with the reason.
    #[schema(format = "millisats", nullable = false, minimum = 1, maximum = 2_100_000_000_000_000_000_i64)]
    minimum_amount: Option<u64>,
    /// `millisats`, in either case.
    #[schema(pattern = "^[mM][iI][lL][lL][iI][sS][aA][tT][sS]$", example = "millisats")]
    currency: String,
    recurrence: RecurrenceBody,
    /// Unix seconds until which the user can answer; in the future, and within a year. Not longer than `recurrence.until`.
    #[schema(format = "unix-time", minimum = 0, maximum = 253_402_300_799_i64)]
    expires_at: u64,
    /// Your own reference; the events carry it.
    #[schema(format = "identifier", nullable = false, min_length = 1, max_length = 256)]
    request_id: Option<String>,
    /// Whether the service asks for each due payment by itself, from `first_payment_due` on, or from the latest date before the
    /// user agreed. It tells of each on the stream `subscriptions`. Needs a Lightning wallet.
    #[schema(nullable = false, default = false)]
    auto_charge: Option<bool>,
}

/// When, and how often, a subscription is paid.
#[derive(Debug, ToSchema)]
#[schema(as = Recurrence)]
#[expect(dead_code, reason = "describes what `recurrence` reads")]
pub(crate) struct RecurrenceBody {
    /// When the payments after the first fall due.
    #[schema(pattern = "^(minutely|hourly|daily|weekly|monthly|quarterly|semiannually|yearly)$", example = "monthly")]
    calendar: String,
    /// Unix seconds of the first payment; may be now.
    #[schema(format = "unix-time", minimum = 0, maximum = 253_402_300_799_i64)]
    first_payment_due: u64,
    /// After how many payments it ends.
    #[schema(format = "int64", nullable = false, minimum = 1, maximum = 4_294_967_295_i64)]
    max_payments: Option<u32>,
    /// Unix seconds after which no payment falls due.
    #[schema(format = "unix-time", nullable = false, minimum = 0, maximum = 253_402_300_799_i64)]
    until: Option<u64>,
}

impl JsonBody for RecurringPaymentRequest {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let main_key = fields.required("main_key", field_reader::public_key);
        let subkeys = fields.required("subkeys", field_reader::public_keys::<{ Engine::MAX_SUBKEYS }>);
        let description = fields.required("description", field_reader::words::<MAX_DESCRIPTION_BYTES>);
        let amount = fields.required("amount", field_reader::millisats);
        let minimum_amount = fields.optional("minimum_amount", field_reader::millisats);
        let currency = fields.required("currency", field_reader::currency);
        let recurrence = fields.required("recurrence", recurrence);
        let expires_at = fields.required("expires_at", field_reader::unix_seconds);
        let reference = fields.optional("request_id", field_reader::identifier);
        let auto_charge = fields.optional("auto_charge", field_reader::boolean).unwrap_or_default();
        currency?;
        Some(Self {
            main_key: main_key?,
            subkeys: subkeys?,
            description: description?,
            amount: amount?,
            minimum_amount,
            recurrence: recurrence?,
            expires_at: expires_at?,
            reference,
            auto_charge,
        })
    }

    fn values(fields: &mut Fields<'_>) -> Option<Values> {
        let recurrence = fields.optional("recurrence", |pointer, value, errors| {
            let mut fields = Fields::within(pointer, value, errors)?;
            let first_payment_due = fields.required("first_payment_due", field_reader::unix_seconds);
            Some((first_payment_due, fields.optional("until", field_reader::unix_seconds)))
        });
        let (first_payment_due, until) = recurrence.unwrap_or_default();
        Some(Values::Engine(FieldValues::RecurringPayment {
            amount: fields.required("amount", field_reader::millisats),
            minimum_amount: fields.optional("minimum_amount", field_reader::millisats),
            expires_at: fields.required("expires_at", field_reader::unix_seconds),
            first_payment_due,
            until,
            auto_charge: fields.optional("auto_charge", field_reader::boolean).unwrap_or_default(),
        }))
    }
}

fn recurrence(pointer: &str, value: &Value, errors: &mut Errors) -> Option<Recurrence> {
    let mut fields = Fields::within(pointer, value, errors)?;
    let calendar = fields.required("calendar", calendar);
    let first_payment_due = fields.required("first_payment_due", field_reader::unix_seconds);
    let max_payments = fields.optional("max_payments", field_reader::integer::<1, { u32::MAX as u64 }>);
    let until = fields.optional("until", field_reader::unix_seconds);
    Some(Recurrence {
        until,
        calendar: calendar?,
        max_payments: max_payments.and_then(|max| u32::try_from(max).ok()),
        first_payment_due: first_payment_due?,
    })
}

fn calendar(pointer: &str, value: &Value, errors: &mut Errors) -> Option<Calendar> {
    let word = field_reader::text(pointer, value, errors)?;
    Calendar::from_word(&word).or_else(|| {
        errors.note(pointer, "must be one of minutely, hourly, daily, weekly, monthly, quarterly, semiannually, yearly")
    })
}

/// Asks a user to agree to a subscription.
///
/// The stream gets one event: `Subscription` `{status: "approved", subscription_id, main_key, authorized_amount,
/// authorized_recurrence, …}` when the user agrees, else `StatusUpdate` `{status: "user_rejected", reason?}`,
/// `{status: "timeout"}` or `{status: "error", reason}`. With `minimum_amount` the user may authorize less than was asked: then
/// ask for no more than that. With `auto_charge` the service asks for each due payment itself and tells on the stream `subscriptions`.
#[utoipa::path(
    post,
    path = "/payments/recurring",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It is stored and has started.", body = Started),
        (status = 503, description = "`wallet_not_configured`: `auto_charge` needs a wallet, and `wallet.ln_backend` is \
            `none`.\n\n`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` are open."),
    ),
)]
pub(crate) async fn request_subscription(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<RecurringPaymentRequest>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Started::on));
    let stream =
        tasks::run_detached(&state, async move { engine.start_recurring_payment(request, once).await }).await??;
    Ok(Started::answer(&stream))
}
