use super::*;
use crate::operations::fixtures::*;

fn order() -> OnChainOrder {
    OnChainOrder {
        id: crate::StreamId::SUBSCRIPTIONS,
        address: "bcrt1q".to_owned(),
        amount: OnChainAmount::Exactly(50_000),
        fee_rate: 250,
        most: 50_282,
    }
}

fn ordering() -> OnChainPayment {
    let mut payment = OnChainPayment::new(order(), Some("theirs".to_owned()), (50_000, 282), NOW);
    assert_eq!(payment.begin(NOW), [Effect::CallLightning(LightningRequest::SendOnChain(order()))]);
    payment
}

fn status(state: OnChainState) -> Input {
    Input::OnChain(Ok(Some(OnChainStatus { transaction: "ab".repeat(32), amount: 50_000, fee: 141, state })))
}

#[test]
fn it_is_ordered_until_the_node_tells_of_a_transaction_and_then_only_looked_up() {
    let mut payment = ordering();
    for _ in 0..3 {
        let away = Input::OnChain(Err(NodeError::Unavailable("away".to_owned())));
        assert_eq!(effects(payment.step(&away, NOW)), []);
        let mut restarted = reread(&payment);
        let asked = [Effect::CallLightning(LightningRequest::SendOnChain(order()))];
        assert_eq!(effects(restarted.step(&Input::Resumed, NOW)), asked);
        assert_eq!(effects(payment.step(&Input::Timer, payment.wake_at().unwrap())), asked);
    }
    assert_eq!(payment.spending().unwrap().allocation(), 50_282);
    let told = effects(payment.step(&status(OnChainState::Unconfirmed), NOW));
    let sending = json!({
        "status": "sending", "txid": "ab".repeat(32), "amount_millisats": 50_000, "fees_paid": 141, "request_id": "theirs",
    });
    assert_eq!(event(&told).1, sending);
    assert_eq!(payment.spending().unwrap().allocation(), 50_141);
    let record = payment.payment_record().unwrap();
    assert_eq!(record.status, PaymentRecordStatus::Open);
    assert_eq!(record.payment_hash.unwrap().to_string(), "ab".repeat(32));
    let mut payment = reread(&payment);
    let looked_up = [Effect::CallLightning(LightningRequest::LookUpOnChain(order().id))];
    assert_eq!(effects(payment.step(&Input::Resumed, NOW)), looked_up);
    // It is lost there: it is not ordered again.
    assert_eq!(effects(payment.step(&Input::OnChain(Ok(None)), NOW)), []);
    assert_eq!(effects(payment.step(&Input::Timer, payment.wake_at().unwrap())), looked_up);
    let refused = Input::OnChain(Err(NodeError::Refused("no".to_owned())));
    assert_eq!(effects(payment.step(&refused, NOW)), []);
}

#[test]
fn it_is_paid_with_the_first_block_and_counts_for_a_day() {
    let mut payment = ordering();
    let told = effects(payment.step(&status(OnChainState::Confirmed { confirmations: 1 }), NOW));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(payment.is_done());
    let record = payment.payment_record().unwrap();
    assert_eq!((record.status, record.settled, record.fee), (PaymentRecordStatus::Paid, Some(50_000), Some(141)));
    assert_eq!(effects(payment.step(&status(OnChainState::Unconfirmed), NOW)), [], "told once");
    assert_eq!(effects(payment.step(&status(OnChainState::Confirmed { confirmations: 6 }), NOW)), []);
    let end = NOW.plus(BUDGET_WINDOW);
    assert_eq!(payment.spending().unwrap().until, Some(end));
    assert_eq!(payment.step(&Input::Timer, after(3600)), StepResult::Ignored);
    assert_eq!(effects(payment.step(&Input::Timer, end)), [Effect::Finish]);
}

#[test]
fn a_refusal_and_a_replacement_are_not_paid() {
    let mut refused = ordering();
    let told = effects(refused.step(&Input::OnChain(Err(NodeError::InvalidAmount("too much".to_owned()))), NOW));
    let error = json!({ "status": "error", "reason": "too much", "outcome": "not_paid", "request_id": "theirs" });
    assert_eq!(event(&told).1, error);
    assert_eq!(told.last(), Some(&Effect::Finish));

    let mut replaced = ordering();
    effects(replaced.step(&status(OnChainState::Unconfirmed), NOW));
    let told = effects(replaced.step(&status(OnChainState::Replaced), NOW));
    assert_eq!(event(&told).1["outcome"], "not_paid");
    for payment in [refused, replaced] {
        assert_eq!(payment.spending().unwrap().allocation(), 0);
        assert_eq!(payment.payment_record().unwrap().status, PaymentRecordStatus::NotPaid);
    }
}
