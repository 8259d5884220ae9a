//! A subscription and its payments together, through random histories.

use serde_json::Value;
use std::collections::{HashSet, VecDeque};

use proptest::prelude::*;
use usher_protocol::Keys;
use usher_protocol::bolt11::Network;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::{PaymentStatus, Preimage, Recurrence};

use super::*;
use crate::operations::fixtures::{NOW, invoice, payment_says, user};
use crate::operations::{Input, Operation, Signal, StepResult};
use crate::ports::{InvoiceStatus, LightningError, Settlement};

const HOUR: Duration = Duration::from_secs(3600);

struct Paying {
    operation: Operation,
    number: u32,
    request_id: String,
    preimage: Preimage,
    settled: bool,
    asked: bool,
    finished: bool,
}

struct World {
    now: UnixMillis,
    subscription: Operation,
    payments: Vec<Paying>,
    paid: HashSet<u32>,
    made: u32,
    told_paid: u32,
}

#[derive(Clone, Debug)]
enum Step {
    Due,
    Timer(usize),
    Restart(usize),
    Made(usize, bool),
    Pays(usize),
    Looked(usize, bool),
    Says(usize, PaymentStatus),
    ByHand,
    UserCloses,
    OperatorCloses,
}

impl World {
    fn new(max_payments: Option<u32>) -> Self {
        let recurrence =
            Recurrence { until: None, calendar: Calendar::Hourly, max_payments, first_payment_due: NOW.secs() };
        let agreement = Agreement {
            subscription_id: "s".to_owned(),
            amount: 5_000,
            description: "Membership".to_owned(),
            authorized_amount: 5_000,
            asked_calendar: Some(recurrence.calendar.clone()),
            recurrence,
            reference: None,
            auto_charge: true,
            price: None,
        };
        let keep = Duration::from_secs(86_400);
        let rules = SubscriptionRules { network: Network::Regtest, retry_after: vec![HOUR, 3 * HOUR], keep };
        let user_keys = UserKeys::new(user(1).public_key(), &[]);
        let subscription = Operation::Subscription(Subscription::start(user_keys, agreement, rules, NOW));
        Self { now: NOW, subscription, payments: Vec::new(), paid: HashSet::new(), made: 0, told_paid: 0 }
    }

    fn view(&self) -> SubscriptionView {
        let Operation::Subscription(subscription) = &self.subscription else { unreachable!() };
        subscription.view()
    }

    fn commit(&mut self, payment: Option<usize>, input: Input) -> Result<(), TestCaseError> {
        let mut inputs = VecDeque::from([(payment, input)]);
        let mut stepped = HashSet::new();
        while let Some((payment, input)) = inputs.pop_front() {
            let operation = match payment {
                Some(payment) => &mut self.payments[payment].operation,
                None => &mut self.subscription,
            };
            let given_up = matches!(input, Input::Timer);
            let is_by_hand = payment.is_none() && matches!(input, Input::Signal(Signal::Paid { .. }));
            let StepResult::Stepped(effects) = operation.step(&input, self.now) else { continue };
            prop_assert!(stepped.insert(payment), "an operation changes twice in one commit");
            let stored = operation.to_state().unwrap();
            prop_assert_eq!(&Operation::from_state(&stored).unwrap(), operation);
            self.made += u32::from(is_by_hand);
            for effect in effects {
                match (effect, payment) {
                    (Effect::Start(operation, _), None) => self.begin(*operation)?,
                    (Effect::Signal(key, signal), _) => {
                        if let Signal::Charged(Charged { charge, end: ChargeEnd::Paid(_), .. }) = &signal {
                            self.made += 1;
                            self.paid.insert(charge.number);
                        }
                        let told = self.subscription.correlations().contains(&key).then_some(None);
                        let told = told.or_else(|| {
                            let is_told =
                                |paying: &Paying| !paying.finished && paying.operation.correlations().contains(&key);
                            self.payments.iter().position(is_told).map(Some)
                        });
                        inputs.extend(told.map(|told| (told, Input::Signal(signal))));
                    }
                    (Effect::Announce(event), None) => {
                        self.told_paid += u32::from(event.data.contains(r#""status":"paid""#));
                    }
                    (Effect::Send(_), Some(payment)) => {
                        let paying = &mut self.payments[payment];
                        prop_assert!(!self.paid.contains(&paying.number), "asked for what is paid");
                        paying.asked = true;
                    }
                    (Effect::ClearOutbox, Some(payment)) => self.payments[payment].asked = false,
                    (Effect::Finish, Some(payment)) => {
                        let paying = &mut self.payments[payment];
                        (paying.asked, paying.finished) = (false, true);
                        // The Lightning backend did not reply for a month.
                        paying.settled &= !given_up;
                    }
                    _ => {}
                }
            }
        }
        self.check()
    }

    fn begin(&mut self, operation: Operation) -> Result<(), TestCaseError> {
        let state: Value = serde_json::from_str(&operation.to_state().unwrap().0).unwrap();
        let number = u32::try_from(state["subscription"]["charge"]["number"].as_u64().unwrap()).unwrap();
        let request_id = state["request_id"].as_str().unwrap().to_owned();
        prop_assert!(!self.paid.contains(&number), "a paid date is charged");
        prop_assert!(self.payments.iter().all(|other| other.request_id != request_id), "the same try twice");
        let preimage = Preimage::from_bytes([u8::try_from(self.payments.len() % 256).unwrap(); 32]);
        let paying = Paying { operation, number, request_id, preimage, settled: false, asked: false, finished: false };
        self.payments.push(paying);
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let view = self.view();
        let asked = || self.payments.iter().filter(|paying| paying.asked);
        prop_assert!(asked().all(|paying| !self.paid.contains(&paying.number)), "asked for what is paid");
        let asked = asked().count();
        prop_assert!(asked <= 1, "one date at a time");
        prop_assert!(asked == 0 || view.state == SubscriptionState::Active, "asked when nothing is owed any more");
        prop_assert_eq!(view.payments_made, self.made);
        let running = self.payments.iter().any(|paying| !paying.operation.is_done());
        prop_assert!(running || self.subscription.wake_at().is_some(), "nothing will ever wake it");
        Ok(())
    }

    fn happens(&mut self, happens: &Step) -> Result<(), TestCaseError> {
        let nth = |back: &usize| self.payments.len().checked_sub(back + 1);
        let open = |back: &usize| nth(back).filter(|nth| !self.payments[*nth].finished);
        match happens {
            Step::Due => {
                self.now = self.subscription.wake_at().unwrap_or(self.now).max(self.now);
                self.commit(None, Input::Timer)
            }
            Step::Timer(back) => {
                let Some(nth) = open(back) else { return Ok(()) };
                self.now = self.payments[nth].operation.wake_at().unwrap_or(self.now).max(self.now);
                self.commit(Some(nth), Input::Timer)
            }
            Step::Restart(back) => open(back).map_or(Ok(()), |nth| self.commit(Some(nth), Input::Resumed)),
            Step::Made(back, works) => {
                let Some(nth) = open(back) else { return Ok(()) };
                let made = invoice(5_000, self.payments[nth].preimage, 86_400 * 3_650);
                let made = if *works { Ok(made) } else { Err(LightningError::NotSent) };
                self.commit(Some(nth), Input::InvoiceMade(made))
            }
            Step::Pays(back) => {
                // What is forgotten can be paid no more.
                if let Some(nth) = open(back) {
                    let paying = &mut self.payments[nth];
                    paying.settled |= paying.operation.watched().is_some();
                }
                Ok(())
            }
            Step::Looked(back, works) => {
                let Some(nth) = open(back) else { return Ok(()) };
                let Paying { settled, preimage, .. } = self.payments[nth];
                let status = match (works, settled) {
                    (false, _) => Err(LightningError::NotSent),
                    (true, false) => Ok(InvoiceStatus::Open),
                    (true, true) => Ok(InvoiceStatus::Settled(Settlement {
                        amount: Some(5_000),
                        skimmed_fee: 0,
                        fees_paid: 0,
                        preimage: Some(preimage),
                    })),
                };
                self.commit(Some(nth), Input::InvoiceStatus(status))
            }
            Step::Says(back, status) => {
                let Some(nth) = open(back) else { return Ok(()) };
                let said = payment_says(&user(1), &self.payments[nth].request_id, status.clone());
                self.commit(Some(nth), said)
            }
            Step::ByHand => self.commit(None, Input::Signal(Signal::Paid { request_id: "by hand".to_owned() })),
            Step::UserCloses => self.commit(None, closes(&user(1))),
            Step::OperatorCloses => self.commit(None, Input::Signal(Signal::Close)),
        }
    }
}

fn closes(author: &Keys) -> Input {
    let close = CloseSubscription { subscription_id: "s".to_owned(), reason: None, by_service: false };
    Input::Wallet { author: author.public_key(), sent_at: NOW, message: WalletMessage::CloseSubscription(close) }
}

fn happens() -> impl Strategy<Value = Step> {
    // Mostly the latest charge, at times one before it.
    let back = || prop_oneof![5 => Just(0_usize), 2 => Just(1), 1 => Just(2)];
    let status = prop_oneof![
        Just(PaymentStatus::Approved),
        Just(PaymentStatus::Failed { reason: None }),
        Just(PaymentStatus::Rejected { reason: None }),
        Just(PaymentStatus::Success { preimage: None }),
    ];
    prop_oneof![
        10 => Just(Step::Due),
        8 => back().prop_map(Step::Timer),
        1 => back().prop_map(Step::Restart),
        8 => (back(), prop::bool::weighted(0.9)).prop_map(|(back, works)| Step::Made(back, works)),
        5 => back().prop_map(Step::Pays),
        8 => (back(), prop::bool::weighted(0.8)).prop_map(|(back, works)| Step::Looked(back, works)),
        4 => (back(), status).prop_map(|(back, status)| Step::Says(back, status)),
        1 => Just(Step::ByHand),
        1 => prop_oneof![Just(Step::UserCloses), Just(Step::OperatorCloses)],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_histories_charge_only_what_is_owed_and_make_progress(
        max in prop::option::weighted(0.7, 1..6_u32), history in prop::collection::vec(happens(), 0..120)
    ) {
        let mut world = World::new(max);
        for happens in &history {
            world.happens(happens)?;
        }
        // After any history, look-ups find every payment that was made; each is reported once and counted.
        for back in 0..world.payments.len() {
            world.happens(&Step::Looked(back, true))?;
        }
        let charged = world.payments.iter().filter(|paying| paying.settled).count();
        prop_assert_eq!(usize::try_from(world.told_paid).unwrap(), charged);
        // Without further inputs from users, every subscription that has an end reaches it.
        for _ in 0..200 {
            for back in 0..world.payments.len() {
                world.happens(&Step::Made(back, true))?;
                world.happens(&Step::Timer(back))?;
                world.happens(&Step::Looked(back, true))?;
            }
            if world.view().state != SubscriptionState::Active {
                return Ok(());
            }
            world.happens(&Step::Due)?;
        }
        prop_assert!(max.is_none(), "it never ends");
    }
}
