use super::*;
use crate::event_data::{EventData, PaymentData};
use crate::operations::fixtures::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn terms() -> LinkTerms {
    LinkTerms {
        stream: StreamId::from_parts(1, [1; 10]),
        amount: LinkAmount::Fixed { amount: 5_000 },
        currency: None,
        in_sats: false,
        description: "Coffee".to_owned(),
        reference: None,
        return_url: None,
        expires_at: None,
        max_payments: None,
    }
}

fn paid() -> Input {
    let data = PaymentData { status: "paid".to_owned(), ..PaymentData::default() };
    Input::Signal(Signal::LinkPaid(NewEvent::new(&EventData::Payment(data), NOW)))
}

fn pay(link: &mut PaymentLink, now: UnixMillis) {
    assert_eq!(event(&effects(link.step(&paid(), now))).1, json!({ "status": "paid" }));
}

#[test]
fn each_payment_is_an_event_and_the_state_does_not_grow() {
    let mut link = PaymentLink::new(terms());
    assert_eq!((link.wake_at(), link.is_done()), (None, false));
    let size = serde_json::to_string(&link).unwrap().len();
    for _ in 0..1_000 {
        pay(&mut link, NOW);
    }
    assert_eq!((link.payments(), link.state(NOW)), (1_000, LinkState::Open));
    assert!(serde_json::to_string(&link).unwrap().len() <= size + 3);
    assert_eq!(reread(&link), link);
    assert_eq!(link.step(&Input::Timer, NOW), StepResult::Ignored);
}

#[test]
fn the_last_payment_completes_it_and_later_ones_are_events_all_the_same() {
    let mut link = PaymentLink::new(LinkTerms { max_payments: Some(2), ..terms() });
    pay(&mut link, NOW);
    assert_eq!((link.state(NOW), link.is_done()), (LinkState::Open, false));
    pay(&mut link, NOW);
    assert_eq!((link.state(NOW), link.is_done()), (LinkState::Completed, true));
    let mut link = reread(&link);
    pay(&mut link, NOW.plus(DAY));
    assert_eq!((link.payments(), link.wake_at()), (3, Some(NOW.plus(KEPT))));
    assert_eq!(link.step(&Input::Timer, NOW.plus(DAY)), StepResult::Ignored);
    assert_eq!(effects(link.step(&Input::Timer, NOW.plus(KEPT))), [Effect::Finish]);
}

#[test]
fn it_expires_by_itself() {
    let end = NOW.plus(DAY);
    let mut link = PaymentLink::new(LinkTerms { expires_at: Some(end), ..terms() });
    assert_eq!((link.wake_at(), link.state(NOW)), (Some(end), LinkState::Open));
    // Before the timer has fired, too.
    assert_eq!(link.state(end), LinkState::Expired);
    assert_eq!(link.step(&Input::Timer, NOW), StepResult::Ignored);
    assert_eq!(effects(link.step(&Input::Timer, end)), []);
    assert_eq!((link.is_done(), link.wake_at()), (true, Some(end.plus(KEPT))));
    pay(&mut link, end.plus(DAY));
}

#[test]
fn it_is_closed_once_and_stays_closed() {
    let mut link = PaymentLink::new(LinkTerms { max_payments: Some(1), expires_at: Some(NOW.plus(DAY)), ..terms() });
    assert!(link.close(NOW));
    assert!(!link.close(NOW.plus(DAY)));
    pay(&mut link, NOW.plus(DAY));
    assert_eq!((link.state(NOW.plus(DAY)), link.wake_at()), (LinkState::Closed, Some(NOW.plus(KEPT))));
}
