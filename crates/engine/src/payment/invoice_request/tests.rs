use lightning_invoice::Currency as Bolt11Currency;
use usher_protocol::message::Addressed;

use super::*;
use crate::operations::fixtures::*;

const TTL: std::time::Duration = std::time::Duration::from_secs(600);

fn asked() -> InvoiceRequest {
    let wanted = InvoiceContent {
        amount: 5_000,
        currency: RequestedCurrency::Millisats,
        description: Some("Prize".to_owned()),
        expires_at: None,
        reference: Some("prize-7".to_owned()),
    };
    let request =
        RequestInvoice { main_key: user(1).public_key(), subkeys: vec![user(2).public_key()], content: wanted };
    let (state, effects) =
        InvoiceRequest::start(request, (5_000, None), "r".to_owned(), NOW.plus(TTL), Network::Regtest);
    let [Effect::Send(message)] = &effects[..] else { panic!("{effects:?}") };
    let said = content(message);
    assert_eq!(
        (&said["request_id"], &said["amount"], &said["currency"], &said["description"]),
        (&json!("r"), &json!(5_000), &json!("Millisats"), &json!("Prize"))
    );
    assert_eq!(message.recipients, [user(1).public_key(), user(2).public_key()]);
    state
}

fn response(author: &Keys, request_id: &str, invoice: &str, payment_hash: Option<PaymentHash>) -> Input {
    let inner = message::InvoiceRequest {
        request_id: request_id.to_owned(),
        // The copy of the request in the reply is ignored: the invoice is checked against our own request.
        amount: 1,
        currency: Currency::Millisats,
        current_exchange_rate: None,
        expires_at: 0,
        description: None,
        refund_invoice: None,
    };
    let message = WalletMessage::InvoiceResponse(InvoiceResponse {
        request: Addressed { main_key: user(4).public_key(), recipient: user(200).public_key(), inner },
        invoice: invoice.to_owned(),
        payment_hash,
    });
    Input::Wallet { author: author.public_key(), sent_at: NOW, message }
}

fn gives(author: &Keys, invoice: &Invoice) -> Input {
    response(author, "r", invoice.as_str(), None)
}

#[test]
fn matching_invoice_is_reported() {
    let fitting = invoice(5_000, PREIMAGE, 3600);
    for (author, hash) in [(user(1), None), (user(2), Some(PREIMAGE.payment_hash()))] {
        let mut request = asked();
        let got = effects(request.step(&response(&author, "r", fitting.as_str(), hash), NOW));
        let data = json!({
            "invoice": fitting.as_str(),
            "payment_hash": PREIMAGE.payment_hash().to_string(),
            "amount": 5_000,
            "request_id": "prize-7",
        });
        assert_eq!(event(&got), ("InvoiceResponse", data));
        assert_eq!(got.last(), Some(&Effect::Finish));
    }
}

#[test]
fn mismatching_invoice_is_not_reported() {
    let fits = invoice(5_000, PREIMAGE, 3600);
    let other_hash = Some(Preimage::from_bytes([8; 32]).payment_hash());
    let mut broken = fits.as_str().to_owned();
    broken.pop();
    let cases = [
        (response(&user(1), "r", invoice(5_001, PREIMAGE, 3600).as_str(), None), "another amount"),
        (response(&user(1), "r", invoice_on(Bolt11Currency::Bitcoin, 5_000, PREIMAGE, 3600).as_str(), None), "network"),
        (response(&user(1), "r", fits.as_str(), other_hash), "another payment hash"),
        (response(&user(1), "r", &broken, None), "does not fit"),
        (response(&user(1), "r", "lnbcrt", None), "does not fit"),
    ];
    for (input, reason) in cases {
        let mut request = asked();
        let got = effects(request.step(&input, NOW));
        let (event_type, data) = event(&got);
        assert_eq!(
            (event_type, &data["status"], &data["request_id"]),
            ("StatusUpdate", &json!("error"), &json!("prize-7"))
        );
        assert!(data["reason"].as_str().unwrap().contains(reason), "{data}");
        assert!(data.get("invoice").is_none());
        assert_eq!(got.last(), Some(&Effect::Finish));
    }
    let mut request = asked();
    let short = invoice(5_000, PREIMAGE, 10);
    let got = effects(request.step(&gives(&user(1), &short), NOW.plus(std::time::Duration::from_secs(11))));
    assert!(event(&got).1["reason"].as_str().unwrap().contains("has expired"));
}

#[test]
fn messages_of_other_keys_are_ignored() {
    let mut request = asked();
    let fitting = invoice(5_000, PREIMAGE, 3600);
    assert_eq!(request.step(&gives(&user(3), &fitting), NOW), StepResult::Ignored);
    assert_eq!(request.step(&gives(&user(3), &invoice(1, PREIMAGE, 3600)), NOW), StepResult::Ignored);
    assert_eq!(request.step(&response(&user(1), "another", fitting.as_str(), None), NOW), StepResult::Ignored);
    // A device that may log in may not move money.
    let (key, proof) = device(&user(1), 1, Permission::Auth);
    assert_eq!(request.step(&cannot_read(key, proof), NOW), StepResult::Ignored);
}

#[test]
fn device_of_the_user_is_asked_too() {
    let mut request = asked();
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    let got = effects(request.step(&cannot_read(key, proof.clone()), NOW));
    let [Effect::SendAlso(message)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(message.recipients, [key], "those asked before are not asked again");
    assert_eq!(request.step(&cannot_read(key, proof), NOW), StepResult::Ignored, "once");
    let Input::Wallet { message, .. } = gives(&user(1), &invoice(5_000, PREIMAGE, 3600)) else { unreachable!() };
    let got = effects(request.step(&Input::Wallet { author: key, sent_at: NOW, message }, NOW));
    assert_eq!(event(&got).0, "InvoiceResponse");
}

#[test]
fn unanswered_request_times_out() {
    let mut request = asked();
    let end = NOW.plus(TTL);
    assert_eq!(request.step(&Input::Timer, NOW), StepResult::Ignored);
    let late = gives(&user(1), &invoice(5_000, PREIMAGE, 3600));
    assert_eq!(request.step(&late, end), StepResult::Ignored, "too late is too late");
    let (event_type, data) = event(&effects(request.step(&Input::Timer, end)));
    assert_eq!((event_type, &data["status"]), ("StatusUpdate", &json!("timeout")));
}
