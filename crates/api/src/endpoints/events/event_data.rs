//! What events say: the schemas of their `data`.
//!
//! The engine writes the data; here it is described. The end-to-end tests hold each event that they see against this.

#![expect(dead_code, reason = "describes what the engine writes")]

use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::endpoints::subscriptions::subscription::Recurrence;

/// What happened: its form goes by the event's `type` and by the call that started the stream. What there is nothing to
/// say of is left out. More members may come in later versions.
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
        let description = "What happened: its form goes by the event's `type` and by the call that started the stream. What \
                           there is nothing to say of is left out. More members may come in later versions.";
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

/// Of `KeyHandshake`: a user says who they are. It is not proved yet.
#[derive(ToSchema)]
struct KeyHandshakeData {
    /// The user's key.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// Where the user wants to be reached from now on, at most 8.
    #[schema(example = json!(["wss://relay.example"]))]
    preferred_relays: Vec<String>,
}

/// Of `StatusUpdate` on streams of `POST /authenticate-key`; on those of `POST /key-handshake` there is `timeout` alone.
#[derive(ToSchema)]
struct LoginData {
    /// Grant access on `approved`, and on nothing else.
    #[schema(pattern = "^(approved|declined|timeout|error)$", example = "approved")]
    status: String,
    /// The key that answered for itself, or through a device of its own; with `approved` and `declined`.
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
    )]
    main_key: Option<String>,
    /// What the wallet says that it grants, in its own words; with `approved`.
    #[schema(nullable = false, example = json!([]))]
    granted_permissions: Option<Vec<String>>,
    /// What the wallet gave as a session, perhaps a JWT (`POST /jwt/verify`); with `approved`.
    #[schema(nullable = false)]
    session_token: Option<String>,
    /// Why not; in the user's words with `declined`.
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Of `StatusUpdate` on streams of payments, of requests for invoices, and of requests for subscriptions that came to
/// nothing.
#[derive(ToSchema)]
struct PaymentData {
    /// `user_approved` and `user_failed` are on the way, the others the end; a later `paid` may come all the same.
    #[schema(pattern = "^(user_approved|user_failed|paid|user_rejected|timeout|error)$", example = "paid")]
    status: String,
    /// With `paid`: the proof, which hashes to the invoice's payment hash; where the service's wallet tells it.
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "0001020304050607080900010203040506070809000102030405060708090102"
    )]
    preimage: Option<String>,
    /// With `paid` by the service's own wallet: fees in millisats.
    #[schema(nullable = false)]
    fees_paid: Option<u64>,
    /// Why not; in the user's words with `user_rejected` and `user_failed`.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// With `error` of the service's own wallet: how sure it is that nothing was paid.
    #[schema(nullable = false, pattern = "^(not_paid|unknown)$")]
    outcome: Option<String>,
    /// Your own reference, as you gave it.
    #[schema(nullable = false)]
    request_id: Option<String>,
    /// The subscription that the payment is for, as you gave it.
    #[schema(nullable = false)]
    subscription_id: Option<String>,
}

/// Of `Subscription`: the user has agreed to one.
#[derive(ToSchema)]
struct SubscriptionData {
    /// `approved`.
    #[schema(pattern = "^approved$", example = "approved")]
    status: String,
    /// Its id, as the user's wallet gave it.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// Who pays.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// Millisats each time, as the user authorized: payments that ask for more are refused.
    #[schema(example = 10000)]
    authorized_amount: u64,
    /// `millisats`.
    #[schema(pattern = "^millisats$", example = "millisats")]
    authorized_currency: String,
    authorized_recurrence: Recurrence,
    /// Whether the service asks for each due payment by itself.
    #[schema(example = false)]
    auto_charge: bool,
    /// Your own reference, as you gave it.
    #[schema(nullable = false)]
    request_id: Option<String>,
}

/// Of `SubscriptionPayment`, on the stream `subscriptions`: a due date was charged, or could not be.
#[derive(ToSchema)]
struct SubscriptionPaymentData {
    /// Which subscription.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// Who pays.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// Which due date, counted.
    #[schema(example = 1)]
    number: u64,
    /// The due date, in Unix seconds.
    #[schema(example = 1732137600)]
    due: u64,
    /// The first, second, … try at this date.
    #[schema(example = 1)]
    attempt: u64,
    /// Millisats.
    #[schema(example = 10000)]
    amount: u64,
    /// What came of it.
    #[schema(pattern = "^(paid|user_rejected|timeout|error)$", example = "paid")]
    status: String,
    /// With `paid`: the proof.
    #[schema(nullable = false, pattern = "^[0-9a-f]{64}$")]
    preimage: Option<String>,
    /// Why not.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// When this date is tried again, in Unix seconds; without, it is passed over.
    #[schema(nullable = false)]
    next_attempt_at: Option<u64>,
}

/// Of `SubscriptionClosed`, on the stream `subscriptions`: the user has closed one.
#[derive(ToSchema)]
struct SubscriptionClosedData {
    /// Which.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// Whose it was.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// Why, in the user's words.
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// Of `InvoiceResponse`: an invoice that a user's wallet made and that was checked.
#[derive(ToSchema)]
struct InvoiceData {
    /// The invoice (BOLT 11).
    #[schema(example = "lnbc250n1…")]
    invoice: String,
    /// Its payment hash.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "0001020304050607080900010203040506070809000102030405060708090102")]
    payment_hash: String,
    /// Millisats, as you asked.
    #[schema(example = 25000)]
    amount: u64,
    /// Your own reference, as you gave it.
    #[schema(nullable = false)]
    request_id: Option<String>,
}
