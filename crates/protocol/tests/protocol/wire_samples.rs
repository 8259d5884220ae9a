//! Wire samples pinned as files: each is parsed to exactly one message, which is written in exactly the same way.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use usher_protocol::calendar::Calendar;
use usher_protocol::message::*;
use usher_protocol::subkey::{Metadata, Permission, SubkeyProof};
use usher_protocol::{EventId, PublicKey};

pub(crate) const MAIN_KEY: &str = "196f10d0c0726e7c25ac48fb5cfc78f620a24158986f52400e154a068f04381c";
pub(crate) const OTHER_KEY: &str = "270512ff83d4a6eae9340a6a06144a7f7c37e1d59e59486a94f799eb86ff1e48";
const CHALLENGE: &str = "q3yTzB7kNwX0aPfRj5LmVh2sGd8uCeK1";
const INVOICE: &str = "lnbc100n1pjkkyv6pp5sample";
const ECASH: &str = "cashuBo2FteBtodHRwczovL21pbnQ";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

/// All samples: file name and text.
pub(crate) fn all() -> Vec<(String, String)> {
    let mut samples: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap().trim_end().to_owned())
        })
        .collect();
    samples.sort();
    samples
}

pub(crate) fn sample(name: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.json"))).unwrap().trim_end().to_owned()
}

/// The kind of a sample: its name begins with it.
pub(crate) fn kind(name: &str) -> u16 {
    name.split('-').next().unwrap().parse().unwrap()
}

pub(crate) fn about() -> EventId {
    EventId::from_byte_array([7; 32])
}

fn key(hex: &str) -> PublicKey {
    PublicKey::from_hex(hex).unwrap()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

pub(crate) fn proof() -> SubkeyProof {
    SubkeyProof {
        main_key: key(MAIN_KEY),
        metadata: Metadata {
            name: "phone".to_owned(),
            nonce: std::array::from_fn(|i| i as u8),
            valid_from: 1_732_137_600,
            expires_at: 1_763_673_600,
            permissions: [Permission::Auth, Permission::Payment].into_iter().collect(),
            version: 2,
        },
    }
}

fn rate() -> Option<ExchangeRate> {
    Some(ExchangeRate { rate: 64_123.5, source: "example.com".to_owned(), time: 1_732_137_600 })
}

fn monthly() -> Recurrence {
    Recurrence { until: None, calendar: Calendar::Monthly, max_payments: Some(12), first_payment_due: 1_732_137_600 }
}

fn preimage() -> Preimage {
    Preimage::from_bytes(std::array::from_fn(|i| (i as u8 % 16) * 0x11))
}

fn approved(granted: &[&str], session_token: Option<&str>) -> AuthStatus {
    AuthStatus::Approved {
        granted_permissions: granted.iter().map(|name| (*name).to_owned()).collect(),
        session_token: session_token.map(str::to_owned),
    }
}

fn auth_response(subkey_proof: Option<SubkeyProof>, status: AuthStatus) -> WalletMessage {
    WalletMessage::AuthResponse(AuthResponse { challenge: CHALLENGE.to_owned(), subkey_proof, status })
}

fn payment(status: PaymentStatus) -> PaymentResponse {
    PaymentResponse { request_id: "req-1".to_owned(), status }
}

fn recurring(status: RecurringStatus) -> WalletMessage {
    WalletMessage::RecurringResponse(RecurringResponse { request_id: "req-2".to_owned(), status })
}

fn confirmed() -> WalletMessage {
    recurring(RecurringStatus::Confirmed {
        subscription_id: "sub-1".to_owned(),
        authorized_amount: 10_000,
        authorized_currency: Currency::Millisats,
        authorized_recurrence: monthly(),
    })
}

fn close(reason: Option<String>, by_service: bool) -> CloseSubscription {
    CloseSubscription { subscription_id: "sub-1".to_owned(), reason, by_service }
}

fn invoice_request() -> InvoiceRequest {
    InvoiceRequest {
        request_id: "req-3".to_owned(),
        amount: 25_000,
        currency: Currency::Millisats,
        current_exchange_rate: None,
        expires_at: 1_732_137_900,
        description: text("Refund of order 17"),
        refund_invoice: None,
    }
}

fn cashu_request() -> CashuRequest {
    CashuRequest {
        request_id: "req-5".to_owned(),
        mint_url: "https://mint.example.com".to_owned(),
        unit: "multi".to_owned(),
        amount: 1,
        expires_at: 1_732_137_900,
    }
}

fn addressed<T>(inner: T) -> Addressed<T> {
    Addressed { inner, main_key: key(MAIN_KEY), recipient: key(OTHER_KEY) }
}

fn invoice(payment_hash: Option<PaymentHash>) -> WalletMessage {
    let request = addressed(invoice_request());
    WalletMessage::InvoiceResponse(InvoiceResponse { request, invoice: INVOICE.to_owned(), payment_hash })
}

fn cashu(status: CashuStatus) -> WalletMessage {
    WalletMessage::CashuResponse(CashuResponse { request: addressed(cashu_request()), status })
}

fn ecash() -> Sensitive {
    Sensitive::from(ECASH.to_owned())
}

fn from_wallets() -> Vec<(&'static str, WalletMessage)> {
    let hash = hex::decode("8b1a9953c4611296a827abf8c47804d7e6c49c6b2b1a9953c4611296a827abf8").unwrap();
    let handshake = KeyHandshake {
        token: "Zk3vQ9".to_owned(),
        client_info: Some(ClientInfo { name: "Example Wallet".to_owned(), version: "1.4.0".to_owned() }),
        preferred_relays: vec!["wss://relay.example.com".to_owned(), "wss://relay.example.org/inbox".to_owned()],
    };
    let minimal = KeyHandshake { client_info: None, preferred_relays: vec![], ..handshake.clone() };
    let success = PaymentStatus::Success { preimage: Some(preimage()) };
    vec![
        ("27001-approved", auth_response(None, approved(&[], Some("eyJhbGciOiJFUzI1NksifQ.e30.c2ln")))),
        ("27001-approved-by-subkey", auth_response(Some(proof()), approved(&["profile"], None))),
        ("27001-declined", auth_response(None, AuthStatus::Declined { reason: text("not now") })),
        ("27001-declined-without-reason", auth_response(None, AuthStatus::Declined { reason: None })),
        ("27010-handshake", WalletMessage::KeyHandshake(handshake)),
        ("27010-handshake-minimal", WalletMessage::KeyHandshake(minimal)),
        ("28001-approved", WalletMessage::PaymentResponse(payment(PaymentStatus::Approved))),
        ("28001-success", WalletMessage::PaymentResponse(payment(success.clone()))),
        (
            "28001-success-without-preimage",
            WalletMessage::PaymentResponse(payment(PaymentStatus::Success { preimage: None })),
        ),
        (
            "28001-rejected",
            WalletMessage::PaymentResponse(payment(PaymentStatus::Rejected { reason: text("too dear") })),
        ),
        ("28001-failed", WalletMessage::PaymentResponse(payment(PaymentStatus::Failed { reason: None }))),
        ("28002-success", WalletMessage::PaymentConfirmation(payment(success))),
        ("28006-confirmed", confirmed()),
        ("28006-rejected", recurring(RecurringStatus::Rejected { reason: text("no subscriptions") })),
        ("28007-close-by-wallet", WalletMessage::CloseSubscription(close(None, false))),
        ("28009-invoice", invoice(Some(PaymentHash::from_bytes(hash.try_into().unwrap())))),
        ("28009-invoice-without-hash", invoice(None)),
        ("29501-success", cashu(CashuStatus::Success { token: ecash() })),
        ("29501-insufficient-funds", cashu(CashuStatus::InsufficientFunds)),
        ("29501-rejected", cashu(CashuStatus::Rejected { reason: text("no") })),
        ("30000-proof", WalletMessage::SubkeyProof { proof: proof(), about: about() }),
    ]
}

fn from_services() -> Vec<(&'static str, ServiceMessage)> {
    let challenge = AuthChallenge {
        challenge: CHALLENGE.to_owned(),
        expires_at: 1_732_137_900,
        required_permissions: vec![],
        subkey_proof: None,
    };
    let from_subkey = AuthChallenge {
        required_permissions: vec!["profile".to_owned()],
        subkey_proof: Some(proof()),
        ..challenge.clone()
    };
    let payment = PaymentRequest {
        amount: 10_000,
        currency: Currency::Millisats,
        current_exchange_rate: None,
        invoice: INVOICE.to_owned(),
        auth_token: None,
        expires_at: 1_732_137_900,
        subscription_id: None,
        description: "Coffee".to_owned(),
        request_id: "req-1".to_owned(),
    };
    let of_subscription = PaymentRequest {
        amount: 499,
        currency: "USD".parse().unwrap(),
        current_exchange_rate: rate(),
        auth_token: Some(Sensitive::from("let-me-in".to_owned())),
        subscription_id: text("sub-1"),
        description: String::new(),
        ..payment.clone()
    };
    let recurring = RecurringRequest {
        amount: 10_000,
        currency: Currency::Millisats,
        recurrence: monthly(),
        current_exchange_rate: None,
        expires_at: 1_732_137_900,
        auth_token: None,
        description: text("Magazine"),
        request_id: "req-2".to_owned(),
    };
    let until = RecurringRequest {
        recurrence: Recurrence {
            until: Some(1_763_673_600),
            calendar: Calendar::Weekly,
            max_payments: None,
            ..monthly()
        },
        description: None,
        ..recurring.clone()
    };
    let fiat = InvoiceRequest {
        request_id: "req-4".to_owned(),
        amount: 1250,
        currency: "EUR".parse().unwrap(),
        current_exchange_rate: rate(),
        description: None,
        refund_invoice: text(INVOICE),
        ..invoice_request()
    };
    vec![
        ("27000-challenge", ServiceMessage::AuthChallenge(challenge)),
        ("27000-challenge-from-subkey", ServiceMessage::AuthChallenge(from_subkey)),
        ("28000-payment", ServiceMessage::PaymentRequest(payment)),
        ("28000-payment-of-subscription", ServiceMessage::PaymentRequest(of_subscription)),
        ("28005-recurring", ServiceMessage::RecurringRequest(recurring)),
        ("28005-recurring-until", ServiceMessage::RecurringRequest(until)),
        ("28007-close-by-service", ServiceMessage::CloseSubscription(close(text("discontinued"), true))),
        ("28008-invoice", ServiceMessage::InvoiceRequest(invoice_request())),
        ("28008-invoice-fiat", ServiceMessage::InvoiceRequest(fiat)),
        ("29500-cashu", ServiceMessage::CashuRequest(cashu_request())),
        ("29502-token", ServiceMessage::CashuDirect(CashuDirect { token: ecash() })),
        ("30000-proof", ServiceMessage::SubkeyProof { proof: proof(), about: about() }),
    ]
}

#[test]
fn wallet_samples_are_read_and_written_exactly() {
    for (name, message) in from_wallets() {
        let text = sample(name);
        assert_eq!(message.kind(), kind(name), "{name}");
        assert_eq!(WalletMessage::parse(kind(name), message.about(), &text), Ok(message.clone()), "{name}");
        assert_eq!(message.to_json(), text, "{name}");
    }
}

#[test]
fn service_samples_are_read_and_written_exactly() {
    for (name, message) in from_services() {
        let text = sample(name);
        assert_eq!(message.kind(), kind(name), "{name}");
        assert_eq!(ServiceMessage::parse(kind(name), message.about(), &text), Ok(message.clone()), "{name}");
        assert_eq!(message.to_json(), text, "{name}");
    }
}

/// Deployed wallets expand the calendar that they send back; the operator gets the plain word.
#[test]
fn expanded_calendar_is_read_as_its_keyword() {
    let text = sample("28006-confirmed-expanded");
    assert_eq!(WalletMessage::parse(28006, None, &text), Ok(confirmed()));
    assert_eq!(confirmed().to_json(), sample("28006-confirmed"));
}

/// No sample lies there untested, and every kind has one.
#[test]
fn every_sample_file_and_every_kind_is_tested() {
    let mut tested: BTreeSet<String> = from_wallets().into_iter().map(|(name, _)| name.to_owned()).collect();
    tested.extend(from_services().into_iter().map(|(name, _)| name.to_owned()));
    tested.insert("28006-confirmed-expanded".to_owned());
    assert_eq!(all().into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>(), tested);

    let wallets: BTreeSet<u16> = from_wallets().iter().map(|(_, message)| message.kind()).collect();
    assert_eq!(wallets, usher_protocol::kind::FROM_WALLET.into_iter().collect());
    let services: BTreeSet<u16> = from_services().iter().map(|(_, message)| message.kind()).collect();
    assert_eq!(services, usher_protocol::kind::FROM_SERVICE.into_iter().collect());
}
