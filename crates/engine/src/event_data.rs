//! The `data` of each type of event, with its schema for the OpenAPI document.
//!
//! An operation makes one of these types; [`EventData::to_json`] is the one place where it becomes text.

mod payments;
mod rate;
mod tickets;

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use usher_protocol::PublicKey;
use usher_protocol::message::Recurrence;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub use self::payments::{InvoiceData, PaymentData};
pub use self::rate::RateData;
pub use self::tickets::{CashuResponseData, CashuStatusData};
use crate::OperationOutcome;
use crate::event_type::EventType;
use crate::price::Price;

/// The data of an event. It has no `Debug`, because it may contain session tokens, preimages and ecash.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub enum EventData {
    /// A user completed a key handshake.
    KeyHandshake(KeyHandshakeData),
    /// A login, or a handshake that nobody answered, has its result.
    Login(LoginData),
    /// The status of a payment, or of a request that has failed.
    Payment(PaymentData),
    /// A user agreed to a subscription.
    Subscription(SubscriptionData),
    /// A due date of a subscription was charged, or could not be.
    SubscriptionPayment(SubscriptionPaymentData),
    /// A user closed a subscription.
    SubscriptionClosed(SubscriptionClosedData),
    /// A user's wallet sent an invoice.
    Invoice(InvoiceData),
    /// A ticket request, a verification or a ticket that was sent has its result.
    CashuResponse(CashuResponseData),
    /// One of these has ended without a result.
    CashuStatus(CashuStatusData),
    /// The operator tests the webhook.
    Test {},
}

impl PaymentData {
    /// A request that has ended without what it asked for; `request_id` is the caller's own reference.
    pub fn failed(status: &str, reason: Option<&str>, request_id: Option<&str>) -> EventData {
        Self::failed_at(None, status, reason, request_id)
    }

    /// As [`failed`](Self::failed), of a request with this price.
    pub fn failed_at(price: Option<&Price>, status: &str, reason: Option<&str>, request_id: Option<&str>) -> EventData {
        let data = Self {
            status: status.to_owned(),
            reason: reason.map(str::to_owned),
            request_id: request_id.map(str::to_owned),
            ..Self::default()
        };
        EventData::Payment(data.with_price(price))
    }
}

impl EventData {
    /// The type of the event.
    pub const fn event_type(&self) -> EventType {
        match self {
            Self::KeyHandshake(_) => EventType::KeyHandshake,
            Self::Login(_) | Self::Payment(_) | Self::CashuStatus(_) => EventType::StatusUpdate,
            Self::Subscription(_) => EventType::Subscription,
            Self::SubscriptionPayment(_) => EventType::SubscriptionPayment,
            Self::SubscriptionClosed(_) => EventType::SubscriptionClosed,
            Self::Invoice(_) => EventType::InvoiceResponse,
            Self::CashuResponse(_) => EventType::CashuResponse,
            Self::Test {} => EventType::Test,
        }
    }

    /// The outcome of an operation that ends with this event.
    pub fn outcome(&self) -> OperationOutcome {
        match self {
            Self::KeyHandshake(_) | Self::SubscriptionClosed(_) | Self::Invoice(_) | Self::Test {} => {
                OperationOutcome::Completed
            }
            Self::Login(LoginData { status, .. })
            | Self::Payment(PaymentData { status, .. })
            | Self::Subscription(SubscriptionData { status, .. })
            | Self::SubscriptionPayment(SubscriptionPaymentData { status, .. })
            | Self::CashuResponse(CashuResponseData { status, .. })
            | Self::CashuStatus(CashuStatusData { status, .. }) => OperationOutcome::of_status(status),
        }
    }

    /// The text of a JSON object. Members without a value are left out.
    pub fn to_json(&self) -> Arc<str> {
        // Structures of texts and numbers always serialise.
        let mut data = serde_json::to_value(self).unwrap_or_else(|_| Value::Object(serde_json::Map::new()));
        leave_out_nulls(&mut data);
        data.to_string().into()
    }
}

fn leave_out_nulls(value: &mut Value) {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
        members.values_mut().for_each(leave_out_nulls);
    }
}

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
            CashuResponseData::name(),
            CashuStatusData::name(),
        ];
        let description = "What happened. Its form depends on the event's `type` and on the request that started the stream. \
                           Missing values are left out. Later versions may add members.";
        let any = AnyOfBuilder::new().description(Some(description));
        let any = forms.into_iter().fold(any, |any, name| any.item(Ref::from_schema_name(name)));
        let test = ObjectBuilder::new().description(Some("Data of `Test`: empty.")).max_properties(Some(0));
        let any = any.item(test);
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
        add::<CashuResponseData>(schemas);
        add::<CashuStatusData>(schemas);
    }
}

/// Data of `KeyHandshake`: a user has told their key. It is not proven yet.
#[derive(Clone, Serialize, ToSchema)]
pub struct KeyHandshakeData {
    /// The user's key.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    pub main_key: String,
    /// The relays at which the user wants to be reached, at most 8.
    #[schema(example = json!(["wss://relay.example"]))]
    pub preferred_relays: Vec<String>,
}

/// Data of `StatusUpdate` on streams of `POST /login` and `POST /authenticate-key`, and of `POST /key-handshake` (only
/// `timeout`).
#[derive(Clone, Default, Serialize, ToSchema)]
pub struct LoginData {
    /// Grant access only on `approved`. `user_approved` is intermediate, on streams of `POST /login` with `return_url`: who
    /// the user is becomes known when your app redeems the code (`POST /login/{stream_id}/redeem`).
    #[schema(pattern = "^(user_approved|approved|declined|timeout|error)$", example = "approved")]
    pub status: String,
    /// The key that responded, itself or through a subkey; with `approved` and `declined`, and on streams of reusable logins
    /// always but with `user_approved`.
    #[schema(
        nullable = false,
        pattern = "^[0-9a-f]{64}$",
        example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
    )]
    pub main_key: Option<String>,
    /// What the user has proven the key with, or was asked with; with `user_approved` and `approved` on streams of
    /// `POST /login`, and always on those of reusable logins: `wallet`, `extension` (NIP-07), `signer` (NIP-46)
    /// or `passkey` (WebAuthn).
    #[schema(nullable = false, pattern = "^(wallet|extension|signer|passkey)$", example = "extension")]
    pub method: Option<String>,
    /// The permissions that the wallet grants, in its own words; with `approved`.
    #[schema(nullable = false, example = json!([]))]
    pub granted_permissions: Option<Vec<String>>,
    /// The session token of the wallet, possibly a JWT (`POST /jwt/verify`); with `approved`.
    #[schema(nullable = false)]
    pub session_token: Option<String>,
    /// The reason; in the user's words with `declined`.
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

/// Data of `Subscription`: the user has agreed to a subscription.
#[derive(Clone, Serialize, ToSchema)]
pub struct SubscriptionData {
    /// `approved`.
    #[schema(pattern = "^approved$", example = "approved")]
    pub status: String,
    /// Its id, chosen by the user's wallet.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    pub subscription_id: String,
    /// Who pays.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    pub main_key: String,
    /// The most of each payment in millisats, as the user authorized: requests for more are refused.
    #[schema(example = 10000)]
    pub authorized_amount: u64,
    /// `millisats`.
    #[schema(pattern = "^millisats$", example = "millisats")]
    pub authorized_currency: String,
    /// When, and how often, it is paid.
    pub authorized_recurrence: AuthorizedRecurrence,
    /// Whether the service asks for each due payment.
    #[schema(example = false)]
    pub auto_charge: bool,
    /// Your own reference.
    #[schema(nullable = false)]
    pub request_id: Option<String>,
    /// If requested in another currency than millisats: the amount of each payment, in its unit (sats, or the minor unit).
    #[schema(nullable = false)]
    pub amount: Option<u64>,
    /// If requested in another currency than millisats: the currency.
    #[schema(nullable = false)]
    pub currency: Option<String>,
    /// If requested in another currency than millisats: what the amount came to when you requested it, in millisats.
    #[schema(nullable = false)]
    pub amount_millisats: Option<u64>,
    /// If requested in another currency than millisats and sats: at which rate.
    #[schema(nullable = false)]
    pub rate: Option<RateData>,
}

/// Data of `SubscriptionPayment`, on the stream `subscriptions`: an automatic charge succeeded or failed.
#[derive(Clone, Serialize, ToSchema)]
pub struct SubscriptionPaymentData {
    /// Which subscription.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    pub subscription_id: String,
    /// Who pays.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    pub main_key: String,
    /// The number of the due date, from 1.
    #[schema(example = 1)]
    pub number: u64,
    /// The due date, in Unix seconds.
    #[schema(example = 1732137600)]
    pub due: u64,
    /// The number of the attempt at this due date, from 1.
    #[schema(example = 1)]
    pub attempt: u64,
    /// Millisats, sats, or the minor unit of `currency`.
    #[schema(example = 10000)]
    pub amount: u64,
    /// If requested in another currency than millisats: the currency.
    #[schema(nullable = false)]
    pub currency: Option<String>,
    /// If requested in another currency than millisats: what the charge came to, in millisats; missing if there was no rate.
    #[schema(nullable = false)]
    pub amount_millisats: Option<u64>,
    /// If requested in another currency than millisats and sats: at which rate.
    #[schema(nullable = false)]
    pub rate: Option<RateData>,
    /// The outcome.
    #[schema(pattern = "^(paid|user_rejected|timeout|error)$", example = "paid")]
    pub status: String,
    /// With `paid`: the proof.
    #[schema(nullable = false, pattern = "^[0-9a-f]{64}$")]
    pub preimage: Option<String>,
    /// Why not.
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// When this due date is tried again, in Unix seconds; if missing, it is skipped.
    #[schema(nullable = false)]
    pub next_attempt_at: Option<u64>,
}

/// Data of `SubscriptionClosed`, on the stream `subscriptions`: the user has closed a subscription.
#[derive(Clone, Serialize, ToSchema)]
pub struct SubscriptionClosedData {
    /// Which one.
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    pub subscription_id: String,
    /// The user.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    pub main_key: String,
    /// Why, in the user's words.
    #[schema(nullable = false)]
    pub reason: Option<String>,
}

/// When, and how often, a subscription is paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AuthorizedRecurrence {
    /// One of the eight words, or the wallet's expansion of it in systemd's calendar form.
    #[schema(example = "monthly")]
    pub calendar: String,
    /// Unix seconds of the first payment.
    #[schema(example = 1732137600)]
    pub first_payment_due: u64,
    /// After how many payments it ends.
    #[schema(example = 12)]
    pub max_payments: Option<u32>,
    /// Unix seconds after which no payment is due.
    #[schema(example = json!(null))]
    pub until: Option<u64>,
}

impl LoginData {
    /// The user holds this key.
    pub fn approved(main_key: PublicKey, granted_permissions: Vec<String>, session_token: Option<String>) -> Self {
        Self {
            status: "approved".to_owned(),
            main_key: Some(main_key.to_hex()),
            granted_permissions: Some(granted_permissions),
            session_token,
            ..Self::default()
        }
    }

    /// The user with this key refuses.
    pub fn declined(main_key: PublicKey, reason: Option<String>) -> Self {
        Self { status: "declined".to_owned(), main_key: Some(main_key.to_hex()), reason, ..Self::default() }
    }

    /// It has failed.
    pub fn error(reason: &str) -> Self {
        Self { status: "error".to_owned(), reason: Some(reason.to_owned()), ..Self::default() }
    }

    /// Nobody answered in time.
    pub fn timeout(reason: &str) -> EventData {
        EventData::Login(Self { status: "timeout".to_owned(), reason: Some(reason.to_owned()), ..Self::default() })
    }
}

impl From<&Recurrence> for AuthorizedRecurrence {
    fn from(recurrence: &Recurrence) -> Self {
        Self {
            calendar: recurrence.calendar.to_string(),
            first_payment_due: recurrence.first_payment_due,
            max_payments: recurrence.max_payments,
            until: recurrence.until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn outcome_follows_from_the_event_status() {
        for (status, outcome) in [
            ("approved", OperationOutcome::Approved),
            ("declined", OperationOutcome::Declined),
            ("timeout", OperationOutcome::Timeout),
            ("error", OperationOutcome::Error),
        ] {
            let data = EventData::Login(LoginData { status: status.to_owned(), ..LoginData::default() });
            assert_eq!(data.outcome(), outcome);
        }
        assert_eq!(PaymentData::failed("user_rejected", None, None).outcome(), OperationOutcome::Rejected);
        assert_eq!(PaymentData::failed("user_approved", None, None).outcome(), OperationOutcome::Error);
        let handshake = KeyHandshakeData { main_key: "k".to_owned(), preferred_relays: Vec::new() };
        assert_eq!(EventData::KeyHandshake(handshake).outcome(), OperationOutcome::Completed);
    }
}
