//! Any message within the bounds is read as it was written.

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::string::string_regex;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::*;
use usher_protocol::subkey::SubkeyProof;
use usher_protocol::{EventId, Keys, PublicKey, SecretKey};

use crate::subkey::any_metadata;

fn any_key() -> impl Strategy<Value = PublicKey> {
    any::<[u8; 32]>()
        .prop_filter_map("a secret key", |bytes| SecretKey::from_slice(&bytes).ok())
        .prop_map(|secret| Keys::new(secret).public_key())
}

fn any_proof() -> impl Strategy<Value = SubkeyProof> {
    (any_key(), any_metadata()).prop_map(|(main_key, metadata)| SubkeyProof { main_key, metadata })
}

fn id() -> impl Strategy<Value = String> {
    "[^\\p{C}]{1,60}"
}

fn words() -> impl Strategy<Value = String> {
    // Neither marks, which are dropped where they pile up, nor letters that nobody sees.
    let word = r"[^\p{C}\p{Z}\p{M}\x{115f}\x{1160}\x{2800}\x{3164}\x{ffa0}]{1,20}";
    string_regex(&format!("{word}( {word}){{0,5}}")).unwrap()
}

fn reason() -> impl Strategy<Value = Option<String>> {
    option::of(words())
}

fn visible() -> impl Strategy<Value = String> {
    "[!-~]{1,200}"
}

fn currency() -> impl Strategy<Value = Currency> {
    prop_oneof![Just(Currency::Millisats), "[A-Z]{3}".prop_map(|code| code.parse().unwrap())]
}

fn rate() -> impl Strategy<Value = Option<ExchangeRate>> {
    let rate = (any::<u32>(), words(), any::<u64>());
    option::of(rate.prop_map(|(rate, source, time)| ExchangeRate { rate: f64::from(rate) / 8.0, source, time }))
}

fn calendar() -> impl Strategy<Value = Calendar> {
    prop::sample::select(vec!["minutely", "weekly", "yearly", "*-*-15 12:00:00", "Sat,Sun *-*-* 00:00:00 Europe/Rome"])
        .prop_map(|text| text.parse().unwrap())
}

fn recurrence() -> impl Strategy<Value = Recurrence> {
    (option::of(any::<u64>()), calendar(), option::of(any::<u32>()), any::<u64>()).prop_map(
        |(until, calendar, max_payments, first_payment_due)| Recurrence {
            until,
            calendar,
            max_payments,
            first_payment_due,
        },
    )
}

fn handshake() -> impl Strategy<Value = KeyHandshake> {
    let info = (words(), words()).prop_map(|(name, version)| ClientInfo { name, version });
    let relays = btree_set("wss?://[a-z]{1,20}\\.example(/[a-z]{0,9})?", 0..=MAX_PREFERRED_RELAYS);
    (id(), option::of(info), relays).prop_map(|(token, client_info, relays)| KeyHandshake {
        token,
        client_info,
        preferred_relays: relays.into_iter().collect(),
    })
}

fn auth_response() -> impl Strategy<Value = AuthResponse> {
    let approved = (btree_set("[a-z:._-]{1,64}", 0..=MAX_PERMISSIONS), option::of(visible())).prop_map(
        |(granted, session_token)| AuthStatus::Approved {
            granted_permissions: granted.into_iter().collect(),
            session_token,
        },
    );
    let declined = reason().prop_map(|reason| AuthStatus::Declined { reason });
    (id(), option::of(any_proof()), prop_oneof![approved, declined])
        .prop_map(|(challenge, subkey_proof, status)| AuthResponse { challenge, subkey_proof, status })
}

fn payment_response() -> impl Strategy<Value = PaymentResponse> {
    let status = prop_oneof![
        Just(PaymentStatus::Approved),
        option::of(any::<[u8; 32]>().prop_map(Preimage::from_bytes))
            .prop_map(|preimage| PaymentStatus::Success { preimage }),
        reason().prop_map(|reason| PaymentStatus::Rejected { reason }),
        reason().prop_map(|reason| PaymentStatus::Failed { reason }),
    ];
    (id(), status).prop_map(|(request_id, status)| PaymentResponse { request_id, status })
}

fn recurring_response() -> impl Strategy<Value = RecurringResponse> {
    let confirmed = (id(), any::<u64>(), currency(), recurrence()).prop_map(
        |(subscription_id, authorized_amount, authorized_currency, authorized_recurrence)| RecurringStatus::Confirmed {
            subscription_id,
            authorized_amount,
            authorized_currency,
            authorized_recurrence,
        },
    );
    let rejected = reason().prop_map(|reason| RecurringStatus::Rejected { reason });
    (id(), prop_oneof![confirmed, rejected]).prop_map(|(request_id, status)| RecurringResponse { request_id, status })
}

fn close() -> impl Strategy<Value = CloseSubscription> {
    (id(), reason(), any::<bool>()).prop_map(|(subscription_id, reason, by_service)| CloseSubscription {
        subscription_id,
        reason,
        by_service,
    })
}

fn addressed<T: std::fmt::Debug>(inner: impl Strategy<Value = T>) -> impl Strategy<Value = Addressed<T>> {
    (inner, any_key(), any_key()).prop_map(|(inner, main_key, recipient)| Addressed { inner, main_key, recipient })
}

fn invoice_request() -> impl Strategy<Value = InvoiceRequest> {
    (id(), any::<u64>(), currency(), rate(), any::<u64>(), reason(), option::of(visible())).prop_map(
        |(request_id, amount, currency, current_exchange_rate, expires_at, description, refund_invoice)| {
            InvoiceRequest {
                request_id,
                amount,
                currency,
                current_exchange_rate,
                expires_at,
                description,
                refund_invoice,
            }
        },
    )
}

fn cashu_request() -> impl Strategy<Value = CashuRequest> {
    (id(), visible(), "[!-~]{1,64}", any::<u64>(), any::<u64>()).prop_map(
        |(request_id, mint_url, unit, amount, expires_at)| CashuRequest {
            request_id,
            mint_url,
            unit,
            amount,
            expires_at,
        },
    )
}

fn from_wallet() -> impl Strategy<Value = WalletMessage> {
    let invoice = (addressed(invoice_request()), visible(), option::of(any::<[u8; 32]>())).prop_map(
        |(request, invoice, hash)| InvoiceResponse {
            request,
            invoice,
            payment_hash: hash.map(PaymentHash::from_bytes),
        },
    );
    let status = prop_oneof![
        visible().prop_map(|token| CashuStatus::Success { token: token.into() }),
        Just(CashuStatus::InsufficientFunds),
        reason().prop_map(|reason| CashuStatus::Rejected { reason }),
    ];
    let cashu = (addressed(cashu_request()), status).prop_map(|(request, status)| CashuResponse { request, status });
    let proof = (any_proof(), any::<[u8; 32]>())
        .prop_map(|(proof, about)| WalletMessage::SubkeyProof { proof, about: EventId::from_byte_array(about) });
    prop_oneof![
        handshake().prop_map(WalletMessage::KeyHandshake),
        auth_response().prop_map(WalletMessage::AuthResponse),
        payment_response().prop_map(WalletMessage::PaymentResponse),
        payment_response().prop_map(WalletMessage::PaymentConfirmation),
        recurring_response().prop_map(WalletMessage::RecurringResponse),
        close().prop_map(WalletMessage::CloseSubscription),
        invoice.prop_map(WalletMessage::InvoiceResponse),
        cashu.prop_map(WalletMessage::CashuResponse),
        proof,
    ]
}

fn from_service() -> impl Strategy<Value = ServiceMessage> {
    let challenge = (id(), any::<u64>(), vec("[a-z]{1,9}[0-9]{9}", 0..3), option::of(any_proof())).prop_map(
        |(challenge, expires_at, mut required_permissions, subkey_proof)| {
            required_permissions.dedup();
            AuthChallenge { challenge, expires_at, required_permissions, subkey_proof }
        },
    );
    let secret = || option::of(visible().prop_map(Sensitive::from));
    let payment =
        (any::<u64>(), currency(), rate(), visible(), secret(), any::<u64>(), option::of(id()), words(), id())
            .prop_map(
                |(
                    amount,
                    currency,
                    current_exchange_rate,
                    invoice,
                    auth_token,
                    expires_at,
                    subscription_id,
                    description,
                    request_id,
                )| {
                    PaymentRequest {
                        amount,
                        currency,
                        current_exchange_rate,
                        invoice,
                        auth_token,
                        expires_at,
                        subscription_id,
                        description,
                        request_id,
                    }
                },
            );
    let recurring = (any::<u64>(), currency(), recurrence(), rate(), any::<u64>(), secret(), reason(), id()).prop_map(
        |(amount, currency, recurrence, current_exchange_rate, expires_at, auth_token, description, request_id)| {
            RecurringRequest {
                amount,
                currency,
                recurrence,
                current_exchange_rate,
                expires_at,
                auth_token,
                description,
                request_id,
            }
        },
    );
    let proof = (any_proof(), any::<[u8; 32]>())
        .prop_map(|(proof, about)| ServiceMessage::SubkeyProof { proof, about: EventId::from_byte_array(about) });
    prop_oneof![
        challenge.prop_map(ServiceMessage::AuthChallenge),
        payment.prop_map(ServiceMessage::PaymentRequest),
        recurring.prop_map(ServiceMessage::RecurringRequest),
        close().prop_map(ServiceMessage::CloseSubscription),
        invoice_request().prop_map(ServiceMessage::InvoiceRequest),
        cashu_request().prop_map(ServiceMessage::CashuRequest),
        visible().prop_map(|token| ServiceMessage::CashuDirect(CashuDirect { token: token.into() })),
        proof,
    ]
}

proptest! {
    #[test]
    fn wallet_messages_round_trip(message in from_wallet()) {
        let read = WalletMessage::parse(message.kind(), message.about(), &message.to_json());
        prop_assert_eq!(read, Ok(message));
    }

    #[test]
    fn service_messages_round_trip(message in from_service()) {
        let read = ServiceMessage::parse(message.kind(), message.about(), &message.to_json());
        prop_assert_eq!(read, Ok(message));
    }
}
