use super::*;
use crate::operations::fixtures::*;
use crate::payment::refund::RefundTerms;

const DAY: u64 = 24 * 3600;

fn of_invoice(ttl: u64, attempts_until: Option<u64>) -> UnstartedPayment {
    let (payment, _) = OutgoingPayment::start(invoice(5_000, PREIMAGE, ttl), Some("theirs".to_owned()), NOW, 250, NOW);
    UnstartedPayment::Invoice { payment, attempts_until }
}

fn of_refund(expires_at: UnixMillis) -> UnstartedPayment {
    UnstartedPayment::Refund(Refund::new(RefundTerms {
        payment: StreamId::SUBSCRIPTIONS,
        refunded_invoice: None,
        amount: 5_000,
        description: "Coffee".to_owned(),
        reference: Some("theirs".to_owned()),
        payer: Some(Payer { main_key: user(1).public_key(), subkeys: Vec::new() }),
        request_id: "ours".to_owned(),
        expires_at,
        fees_allowed: 250,
        network: Network::Regtest,
    }))
}

fn on_chain() -> UnstartedPayment {
    let order = OnChainOrder {
        id: StreamId::SUBSCRIPTIONS,
        address: "bcrt1q".to_owned(),
        amount: OnChainAmount::Exactly(5_000),
        fee_rate: 250,
        most: 5_250,
    };
    UnstartedPayment::OnChain(OnChainPayment::new(order, Some("theirs".to_owned()), (5_000, 250), NOW))
}

/// As the store gives it back.
fn held(payment: UnstartedPayment) -> HeldPayment {
    let (held, told) = HeldPayment::start(payment, NOW);
    assert_eq!(told.len(), 1, "nothing is asked of anybody: {told:?}");
    assert_eq!(event(&told), ("StatusUpdate", json!({ "status": "approval_required", "request_id": "theirs" })));
    restored(Operation::HeldPayment(held.clone()));
    held
}

#[test]
fn while_it_waits_it_is_what_it_holds_to_the_budget_and_the_books_and_takes_no_input() {
    for (payment, kind) in [
        (of_invoice(3600, None), OperationKind::OutgoingPayment),
        (of_refund(after(7 * DAY)), OperationKind::Refund),
        (on_chain(), OperationKind::OnChainPayment),
    ] {
        let mut held = held(payment.clone());
        let machine = payment.machine();
        assert_eq!((held.kind(), held.correlations()), (kind, machine.correlations()));
        let spending = Spending { amount: 5_000, fees_allowed: 250, fees_paid: None, until: None };
        assert_eq!((held.spending(), held.payment_record()), (Some(spending), machine.payment_record()));
        assert_eq!(held.payment_record().unwrap().status, PaymentRecordStatus::Open);
        for input in [Input::Resumed, Input::Timer, Input::OnChain(Ok(None)), Input::CorrelationTaken] {
            assert_eq!(held.step(&input, NOW), StepResult::Ignored, "{input:?}");
        }
    }
}

#[test]
fn it_waits_as_long_as_it_makes_sense_and_at_most_a_day() {
    for (payment, until) in [
        (of_invoice(3600, None), after(3590)),
        (of_invoice(3600, Some(after(60).secs())), after(50)),
        (of_invoice(3600, Some(after(7200).secs())), after(3590)),
        (of_invoice(7 * DAY, None), after(DAY)),
        (of_refund(after(60)), after(60)),
        (of_refund(after(7 * DAY)), after(DAY)),
        (on_chain(), after(DAY)),
    ] {
        let held = held(payment);
        assert_eq!(held.wake_at(), Some(until));
        assert!(held.waits(until.minus(Duration::from_millis(1))) && !held.waits(until));
    }
}

#[test]
fn approved_it_begins_as_if_it_had_been_started_then() {
    let later = after(1_800);
    let (begun, effects) = held(of_invoice(3600, None)).approve(later);
    let (expected, first) = OutgoingPayment::start(
        invoice(5_000, PREIMAGE, 3600),
        Some("theirs".to_owned()),
        after(1_800 + 300),
        250,
        later,
    );
    assert_eq!((begun, effects), (Operation::OutgoingPayment(expected), first));
    // Within the invoice's time, and the request's.
    for (attempts_until, until) in [(None, 3600), (Some(after(3_000).secs()), 3_000)] {
        let at = after(if attempts_until.is_some() { 60 } else { 3_500 });
        let (_, effects) = held(of_invoice(3600, attempts_until)).approve(at);
        assert!(
            matches!(&effects[..], [Effect::CallLightning(LightningRequest::PreparePayment { until: at, .. })] if *at == after(until).secs()),
            "{effects:?}"
        );
    }

    let (begun, effects) = held(of_refund(after(7 * DAY))).approve(later);
    assert_eq!(begun.kind(), OperationKind::Refund);
    assert!(matches!(&effects[..], [Effect::Send(_)]), "the payer's wallet is asked: {effects:?}");

    let (begun, effects) = held(on_chain()).approve(later);
    assert_eq!(begun.kind(), OperationKind::OnChainPayment);
    assert!(matches!(&effects[..], [Effect::CallLightning(LightningRequest::SendOnChain(_))]), "{effects:?}");
}

#[test]
fn declined_or_too_late_it_ends_unpaid_and_frees_the_budget() {
    for payment in [of_invoice(3600, None), of_refund(after(3600)), on_chain()] {
        for is_declined in [true, false] {
            let mut held = held(payment.clone());
            let at = if is_declined { NOW } else { held.until() };
            let told = if is_declined { held.end("no", at) } else { effects(held.step(&Input::Timer, at)) };
            let (_, data) = event(&told);
            let reason = if is_declined { "no" } else { "nobody approved it in time" };
            let expected =
                json!({ "status": "error", "outcome": "not_paid", "reason": reason, "request_id": "theirs" });
            assert_eq!(data, expected);
            assert_eq!(told.last(), Some(&Effect::Finish));
            assert!(held.is_done() && !held.waits(NOW));
            let kept: Vec<_> = held.kept_correlations().into_iter().map(|(key, _)| key).collect();
            let of_invoice = payment.invoice().map(|invoice| CorrelationKey::paying(invoice.payment_hash()));
            assert_eq!(kept, of_invoice.into_iter().collect::<Vec<_>>());
            assert_eq!(held.spending().unwrap().allocation(), 0);
            assert_eq!(held.payment_record().unwrap().status, PaymentRecordStatus::NotPaid);
        }
    }
}

#[test]
fn the_user_of_a_refund_is_found_in_its_state() {
    let state = Operation::HeldPayment(held(of_refund(after(60)))).to_state().unwrap();
    let state: serde_json::Value = serde_json::from_str(&state.0).unwrap();
    assert_eq!((&state["operation"], &state["holds"]), (&json!("held_payment"), &json!("refund")));
    assert_eq!(state["main_key"], user(1).public_key().to_hex());
}
