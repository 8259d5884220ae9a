//! What events say: the schemas of their `data`.
//!
//! The engine writes the data; here it is described. The end-to-end tests hold each event that they see against this.

#![expect(dead_code, reason = "describes what the engine writes")]

use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::endpoints::subscriptions::subscription::Recurrence;

/// What happened. Its form depends on the event's `type` and on the request that started the stream. Missing values
/// are left out. Later versions may add members.
pub(crate) struct EventData;

/// Adds a schema and those that it refers to.
fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

impl PartialSchema for EventData {
    fn schema() -> RefOr<Schema> {
        let forms = [
            KeyHandshakeData::name(),
            LoginData::name(),
            PaymentData::name(),
            SubscriptionData::name(),
            SubscriptionPaymentData::name(),
            SubscriptionClosedData::name(),
            InvoiceData::name(),
        ];
        let description = "What happened. Its form depends on the event's `type` and on the request that started the stream. \
                           Missing values are left out. Later versions may add members.";
        let any = AnyOfBuilder::new().description(Some(description));
        let any = forms.into_iter().fold(any, |any, name| any.item(Ref::from_schema_name(name)));
        RefOr::T(Schema::AnyOf(any.build()))
    }
}

impl ToSchema for EventData {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add::<KeyHandshakeData>(schemas);
        add::<LoginData>(schemas);
        add::<PaymentData>(schemas);
        add::<SubscriptionData>(schemas);
        add::<SubscriptionPaymentData>(schemas);
        add::<SubscriptionClosedData>(schemas);
        add::<InvoiceData>(schemas);
    }
}

/// Data of `KeyHandshake`: a user has told their key. It is not proven yet.
#[derive(ToSchema)]
struct KeyHandshakeData {
    /// The user's key.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// The relays at which the user wants to be reached, at most 8.
    #[schema(example = json!(["wss://relay.example"]))]
    preferred_relays: Vec<String>,
}

/// Data of `StatusUpdate` on streams of `POST /authenticate-key`, and of `POST /key-handshake` (only `timeout`).
#[derive(ToSchema)]
struct LoginData {
    /// Grant access only on `approved`.
    #[schema(pattern = "^(approved|declined|timeout|error)$", example = "approved")]
    status: String,
    /// The key that responded, itself or through a subkey; with `approved` and `declined`.
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
    )]
    main_key: Option<String>,
    /// The permissions that the wallet grants, in its own words; with `approved`.
    #[schema(nullable = false, example = json!([]))]
    granted_permissions: Option<Vec<String>>,
    /// The session token of the wallet, possibly a JWT (`POST /jwt/verify`); with `approved`.
    #[schema(nullable = false)]
    session_token: Option<String>,
    /// The reason; in the user's words with `declined`.
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Data of `StatusUpdate` on streams of payments, and of requests for invoices and subscriptions that failed.
#[derive(ToSchema)]
struct PaymentData {
    /// `user_approved` and `user_failed` are intermediate, the others final; `paid` may still follow them.
    #[schema(pattern = "^(user_approved|user_failed|paid|user_rejected|timeout|error)$", example = "paid")]
    status: String,
    /// With `paid`: the proof, whose hash is the payment hash of the invoice; if the Lightning backend tells it.
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "0001020304050607080900010203040506070809000102030405060708090102"
    )]
    preimage: Option<String>,
    /// With `paid` by the Lightning backend: fees in millisats.
    #[schema(nullable = false)]
    fees_paid: Option<u64>,
    /// The reason; in the user's words with `user_rejected` and `user_failed`.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// With `error` of the Lightning backend: whether it is certain that nothing was paid.
    #[schema(nullable = false, pattern = "^(not_paid|unknown)$")]
    outcome: Option<String>,
    /// Your own reference.
    #[schema(nullable = false)]
    request_id: Option<String>,
    /// The subscription that the payment is for.
    #[schema(nullable = false)]
    subscription_id: Option<String>,
}

/// Data of `Subscription`: the user has agreed to a subscription.
#[derive(ToSchema)]
struct SubscriptionData {
    /// `approved`.
    #[schema(pattern = "^approved$", example = "approved")]
    status: String,
    /// Its id, chosen by the user's wallet.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// Who pays.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// Millisats of each payment, as the user authorized: requests for more are refused.
    #[schema(example = 10000)]
    authorized_amount: u64,
    /// `millisats`.
    #[schema(pattern = "^millisats$", example = "millisats")]
    authorized_currency: String,
    authorized_recurrence: Recurrence,
    /// Whether the service asks for each due payment by itself.
    #[schema(example = false)]
    auto_charge: bool,
    /// Your own reference.
    #[schema(nullable = false)]
    request_id: Option<String>,
}

/// Data of `SubscriptionPayment`, on the stream `subscriptions`: an automatic charge succeeded or failed.
#[derive(ToSchema)]
struct SubscriptionPaymentData {
    /// Which subscription.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// Who pays.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// The number of the due date, from 1.
    #[schema(example = 1)]
    number: u64,
    /// The due date, in Unix seconds.
    #[schema(example = 1732137600)]
    due: u64,
    /// The number of the attempt at this due date, from 1.
    #[schema(example = 1)]
    attempt: u64,
    /// Millisats.
    #[schema(example = 10000)]
    amount: u64,
    /// The outcome.
    #[schema(pattern = "^(paid|user_rejected|timeout|error)$", example = "paid")]
    status: String,
    /// With `paid`: the proof.
    #[schema(nullable = false, pattern = "^[0-9a-f]{64}$")]
    preimage: Option<String>,
    /// Why not.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// When this due date is tried again, in Unix seconds; if missing, it is skipped.
    #[schema(nullable = false)]
    next_attempt_at: Option<u64>,
}

/// Data of `SubscriptionClosed`, on the stream `subscriptions`: the user has closed a subscription.
#[derive(ToSchema)]
struct SubscriptionClosedData {
    /// Which one.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// The user.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// Why, in the user's words.
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Data of `InvoiceResponse`: a verified invoice from a user's wallet.
#[derive(ToSchema)]
struct InvoiceData {
    /// The invoice (BOLT 11).
    #[schema(example = "lnbc250n1…")]
    invoice: String,
    /// Its payment hash.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "0001020304050607080900010203040506070809000102030405060708090102")]
    payment_hash: String,
    /// Millisats, as you requested.
    #[schema(example = 25000)]
    amount: u64,
    /// Your own reference.
    #[schema(nullable = false)]
    request_id: Option<String>,
}
