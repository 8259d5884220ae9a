use super::tests::{making, says, settled, terms};
use super::*;
use crate::operations::fixtures::*;

const END: UnixMillis = UnixMillis(NOW.0 + 300_000);
const LATE: UnixMillis = UnixMillis(END.0 + 24 * 3_600_000);
const MINUTE: Duration = Duration::from_secs(60);

fn preimage(n: u8) -> Preimage {
    Preimage::from_bytes([n; 32])
}

fn looked_up(status: InvoiceStatus) -> Input {
    Input::InvoiceStatus(Ok(status))
}

fn with_invoice(mut payment: Payment, n: u8) -> Payment {
    payment.step(&Input::InvoiceMade(Ok(invoice(5_000, preimage(n), 300))), NOW);
    payment
}

fn time_out(payment: &mut Payment) {
    payment.step(&Input::Timer, END);
    assert_eq!(event(&effects(payment.step(&looked_up(InvoiceStatus::Open), END))).1["status"], "timeout");
}

fn expired() -> Payment {
    let mut payment = with_invoice(making(), 1);
    time_out(&mut payment);
    payment
}

/// A further invoice of the payment, whose stream has this number.
fn renew(payment: &mut Payment, n: u8, now: UnixMillis) -> Payment {
    let expires_at = payment.next_expiry(now).unwrap();
    let terms = payment.renew(stream(1), stream(n), format!("renewal-{n}"), expires_at);
    let mut renewal = Payment::to_us(terms, 5_000, Network::Regtest, now).0;
    renewal.step(&Input::InvoiceMade(Ok(invoice_at(now, 5_000, preimage(n), 90_000))), now);
    assert_eq!(renewal.progress(), PaymentProgress::Asking);
    assert_eq!(renewal.payment_record(), None, "the books have the payment once");
    reread(&renewal)
}

fn stream(n: u8) -> StreamId {
    StreamId::from_parts(n.into(), [n; 10])
}

/// What the end of a further invoice tells the payment; it tells the app nothing.
fn signal_of(got: &[Effect]) -> Input {
    assert!(got.contains(&Effect::Finish) && !got.iter().any(|effect| matches!(effect, Effect::Emit(_))), "{got:?}");
    let signals: Vec<_> = got
        .iter()
        .filter_map(|effect| match effect {
            Effect::Signal(key, signal) => Some((*key, signal.clone())),
            _ => None,
        })
        .collect();
    let [(key, signal)] = &signals[..] else { panic!("{signals:?}") };
    assert_eq!(*key, CorrelationKey::request("ours"));
    Input::Signal(signal.clone())
}

fn pay(payment: &mut Payment, n: u8) -> StepResult {
    payment.step(&Input::Settled(settled(5_000, Some(preimage(n)))), LATE)
}

fn books(payment: &Payment) -> (u64, Option<u64>, Option<PaymentHash>) {
    let record = payment.payment_record().unwrap();
    (record.amount, record.settled, record.payment_hash)
}

#[test]
fn only_an_expired_payment_is_renewed_until_money_no_longer_counts() {
    let payment = expired();
    assert_eq!(payment.paid_late_until(), Some(LATE));
    for (now, expected) in [
        (END, Some(END.plus(15 * MINUTE))),
        (UnixMillis(LATE.0 - 300_000), Some(LATE)),
        (UnixMillis(LATE.0 - 60_000), Some(LATE)),
        (UnixMillis(LATE.0 - 59_999), None),
    ] {
        assert_eq!(payment.next_expiry(now), expected, "{now:?}");
    }
    // Also if the Lightning backend keeps the invoice valid for longer.
    let mut lasting = making();
    lasting.step(&Input::InvoiceMade(Ok(invoice(5_000, preimage(1), 3 * 24 * 3_600))), NOW);
    time_out(&mut lasting);
    assert!(lasting.paid_late_until() > Some(LATE));
    assert_eq!(lasting.next_expiry(UnixMillis(LATE.0 - 59_999)), None);
    let mut rejected = with_invoice(making(), 1);
    rejected.step(&says(PaymentStatus::Rejected { reason: None }), NOW);
    let mut withdrawn = with_invoice(making(), 1);
    withdrawn.step(&Input::Signal(Signal::CancelPayment), NOW);
    time_out(&mut withdrawn);
    let link = |charge| Some(SubscriptionLink { subscription_id: "s".to_owned(), charge });
    let of = |terms| {
        let mut payment = with_invoice(Payment::to_us(terms, 5_000, Network::Regtest, NOW).0, 1);
        payment.step(&Input::Timer, END);
        payment.step(&looked_up(InvoiceStatus::Open), END);
        payment
    };
    let charge = Charge { number: 1, due: 7, attempt: 0 };
    let of_link = PaymentOfLink { link: stream(1), payment: stream(1), comment: None, metadata: None, renews: None };
    let mut disputed = expired();
    disputed.step(&looked_up(InvoiceStatus::Disputed), END);
    for other in [
        with_invoice(making(), 1),
        rejected,
        withdrawn,
        disputed,
        of(PaymentTerms { subscription: link(None), ..terms() }),
        of(PaymentTerms { subscription: link(Some(charge)), ..terms() }),
        of(PaymentTerms { payer: None, of_link: Some(of_link), ..terms() }),
    ] {
        assert_eq!(other.next_expiry(END), None, "{other:?}");
    }
    // Whoever has the address of the page gets ten invoices at most.
    let mut payment = expired();
    let renewals = (2..100).take_while(|n| payment.next_expiry(END).map(|_| renew(&mut payment, *n, END)).is_some());
    assert_eq!(renewals.count(), 10);
}

#[test]
fn a_further_invoice_pays_the_payment_and_what_a_second_brings_is_added() {
    let mut payment = expired();
    let mut renewal = renew(&mut payment, 2, END);
    assert!(payment.is_done() && payment.watched() == Some(preimage(1).payment_hash()), "late money counts");
    let paid = signal_of(&effects(pay(&mut renewal, 2)));
    let got = effects(payment.step(&paid, LATE));
    assert_eq!(event(&got).1, json!({ "status": "paid", "preimage": preimage(2).to_hex(), "request_id": "theirs" }));
    assert!(!got.contains(&Effect::Finish));
    assert_eq!(books(&payment), (5_000, Some(5_000), Some(preimage(2).payment_hash())));
    assert_eq!((payment.next_expiry(END), payment.paid_late_until()), (None, None));
    assert_eq!(payment.step(&paid, LATE), StepResult::Ignored);
    let mut payment = reread(&payment);
    // The first one is paid as well, or is not, and the payment leaves.
    let mut unpaid = payment.clone();
    effects(unpaid.step(&Input::Timer, LATE));
    assert_eq!(effects(unpaid.step(&looked_up(InvoiceStatus::Open), LATE)), [Effect::Finish]);
    assert_eq!(effects(pay(&mut payment, 1)), [Effect::Finish]);
    assert_eq!(books(&payment), (5_000, Some(10_000), Some(preimage(2).payment_hash())));
}

#[test]
fn the_first_invoice_pays_the_payment_which_stays_for_the_others() {
    let mut payment = expired();
    let mut renewals = [2, 3].map(|n| renew(&mut payment, n, END));
    let got = effects(pay(&mut payment, 1));
    assert_eq!(event(&got).1["status"], "paid");
    assert!(!got.contains(&Effect::Finish) && payment.watched().is_none());
    assert_eq!(effects(payment.step(&Input::Timer, LATE)), []);
    let paid = signal_of(&effects(pay(&mut renewals[0], 2)));
    assert_eq!(effects(payment.step(&paid, LATE)), []);
    assert_eq!(books(&payment), (5_000, Some(10_000), Some(preimage(1).payment_hash())));
    // The last one is not paid: it says so once it no longer can be.
    let over = renewals[1].wake_at().unwrap();
    renewals[1].step(&Input::Timer, over);
    renewals[1].step(&looked_up(InvoiceStatus::Open), over);
    let leaving = renewals[1].wake_at().unwrap();
    renewals[1].step(&Input::Timer, leaving);
    let ended = signal_of(&effects(renewals[1].step(&looked_up(InvoiceStatus::Open), leaving)));
    assert_eq!(effects(payment.step(&ended, leaving)), [Effect::Finish]);
}

#[test]
fn the_price_is_that_of_the_invoice_that_was_paid() {
    let mut payment = expired();
    let expires_at = payment.next_expiry(END).unwrap();
    let of_renewal = payment.renew(stream(1), stream(2), "renewal".to_owned(), expires_at);
    let mut renewal = Payment::to_us(of_renewal, 7_000, Network::Regtest, END).0;
    renewal.step(&Input::InvoiceMade(Ok(invoice(7_000, preimage(2), 90_000))), END);
    let settlement = settled(7_000, Some(preimage(2)));
    let paid = signal_of(&effects(renewal.step(&Input::Settled(settlement), END)));
    payment.step(&paid, END);
    assert_eq!(books(&payment), (7_000, Some(7_000), Some(preimage(2).payment_hash())));
    pay(&mut payment, 1);
    assert_eq!(books(&payment), (7_000, Some(12_000), Some(preimage(2).payment_hash())));
}

#[test]
fn an_unpaid_payment_leaves_after_its_last_invoice() {
    let mut payment = expired();
    let mut renewal = renew(&mut payment, 2, UnixMillis(LATE.0 - 60_000));
    assert!(payment.paid_late_until().unwrap() > LATE);
    payment.step(&Input::Timer, LATE);
    assert_eq!(effects(payment.step(&looked_up(InvoiceStatus::Open), LATE)), [], "another may be paid");
    assert!(payment.next_expiry(LATE).is_none());
    let mut now = payment.wake_at().unwrap();
    assert!(now > LATE && now <= LATE.plus(60 * MINUTE));
    // It was paid at the last moment.
    let paid = signal_of(&effects(pay(&mut renewal, 2)));
    assert_eq!(event(&effects(payment.clone().step(&paid, now))).1["status"], "paid");
    // One that is lost with a damaged store does not hold it for ever.
    for _ in 0..24 * 70 {
        payment.step(&Input::Timer, now);
        if effects(payment.step(&looked_up(InvoiceStatus::Open), now)) == [Effect::Finish] {
            assert!(now > LATE.plus(60 * super::LINGER) && now < LATE.plus(65 * super::LINGER));
            return;
        }
        now = payment.wake_at().unwrap();
    }
    panic!("it stays");
}

#[test]
fn money_for_a_payment_that_is_gone_is_in_the_books() {
    let mut renewal = renew(&mut expired(), 2, END);
    pay(&mut renewal, 2);
    assert_eq!(renewal.payment_record(), None);
    assert_eq!(renewal.signal_without_recipient(), Some(vec![Effect::ClearOutbox, Effect::Finish]));
    assert_eq!(books(&renewal), (5_000, Some(5_000), Some(preimage(2).payment_hash())));
    assert_eq!(expired().signal_without_recipient(), None);
}

#[test]
fn an_invoice_that_could_not_be_made_leaves_the_next_to_the_payer() {
    let mut payment = expired();
    let expires_at = payment.next_expiry(END).unwrap();
    let of_renewal = payment.renew(stream(1), stream(2), "renewal".to_owned(), expires_at);
    let mut renewal = Payment::to_us(of_renewal, 5_000, Network::Regtest, END).0;
    let refused = LightningError::Refused { again: false, reason: "no".to_owned() };
    assert_eq!(effects(renewal.step(&Input::InvoiceMade(Err(refused)), END)), [Effect::ClearOutbox]);
    assert!(renewal.ended_without_invoice() && !payment.ended_without_invoice());
    assert!(payment.next_expiry(END).is_some());
    let over = renewal.wake_at().unwrap();
    let ended = signal_of(&effects(renewal.step(&Input::Timer, over)));
    assert_eq!(effects(payment.step(&ended, over)), []);
}
