use proptest::prelude::*;

use super::tests::{by_hand, closes, failed, paid, recurrence, started, subscription};
use crate::operations::fixtures::{NOW, user};
use crate::operations::{Charge, Effect, Input, Operation, StepResult};

#[derive(Clone, Debug)]
enum Step {
    Timer,
    Paid(usize),
    Failed(usize),
    ByHand,
    UserCloses,
}

proptest! {
    #[test]
    fn random_histories_never_charge_a_date_twice(
        max in prop::option::of(1..6_u32),
        history in prop::collection::vec(prop_oneof![
            4 => Just(Step::Timer),
            2 => (0..3_usize).prop_map(Step::Paid),
            2 => (0..3_usize).prop_map(Step::Failed),
            1 => Just(Step::ByHand),
            1 => Just(Step::UserCloses),
        ], 0..60)
    ) {
        let mut operation = Operation::Subscription(subscription(recurrence(max, None), true));
        let mut now = NOW;
        let (mut charges, mut running, mut settled) = (Vec::<Charge>::new(), None, Vec::new());
        let mut closed = false;
        for happens in history {
            let input = match happens {
                Step::Timer => {
                    now = operation.wake_at().unwrap_or(now).max(now);
                    Input::Timer
                }
                // One of the latest charges: the one that runs, or an earlier one late. Each is paid once at most.
                Step::Paid(back) => match charges.iter().rev().nth(back) {
                    Some(charge) if !settled.contains(charge) => {
                        settled.push(*charge);
                        running = running.filter(|running| running != charge);
                        paid(*charge)
                    }
                    _ => continue,
                },
                Step::Failed(back) => match charges.iter().rev().nth(back) {
                    Some(charge) if running == Some(*charge) => {
                        running = None;
                        failed(*charge)
                    }
                    _ => continue,
                },
                Step::ByHand => Input::Signal(by_hand()),
                Step::UserCloses => {
                    closed = true;
                    closes(&user(1), "s")
                }
            };
            let before = settled.clone();
            if let StepResult::Stepped(effects) = operation.step(&input, now) {
                for effect in &effects {
                    if let Effect::Start(..) = effect {
                        let charge = started(&effects);
                        prop_assert!(!closed, "charged after it was closed");
                        prop_assert!(running.is_none() || before.contains(&running.unwrap()), "two at a time");
                        prop_assert!(!charges.contains(&charge), "the same try twice");
                        prop_assert!(before.iter().all(|paid| paid.number != charge.number), "a paid date");
                        charges.push(charge);
                        running = Some(charge);
                    }
                }
                if effects.contains(&Effect::Finish) {
                    return Ok(());
                }
            }
            let stored = operation.to_state().unwrap();
            prop_assert_eq!(&Operation::from_state(&stored).unwrap(), &operation);
        }
    }
}
