//! Random inputs in any order: no second request while the first may still be executed.

use proptest::prelude::*;

use super::*;

fn input() -> impl Strategy<Value = Input> {
    let paid = prop_oneof![Just(7_u8), Just(8)].prop_map(shown);
    let failure = prop_oneof![Just(LightningError::NotSent), Just(refused()), Just(failing()), Just(unknown())];
    let coverage =
        prop_oneof![Just(LookupCoverage::None), Just(LookupCoverage::Ended), Just(LookupCoverage::InProgress)];
    let status = prop_oneof![
        paid.clone().prop_map(OutgoingPaymentStatus::Paid),
        Just(OutgoingPaymentStatus::Pending),
        Just(OutgoingPaymentStatus::Failed),
        Just(OutgoingPaymentStatus::Unproven),
        coverage.prop_map(OutgoingPaymentStatus::Unknown),
    ];
    prop_oneof![
        4 => Just(Input::Timer),
        1 => Just(Input::Resumed),
        4 => Just(Input::PaymentPrepared(Ok(signed(NOW)))),
        1 => failure.clone().prop_map(|failure| Input::PaymentPrepared(Err(failure))),
        1 => paid.clone().prop_map(Input::Paid),
        1 => (1..3_u32, paid).prop_map(|(attempt, paid)| replies(attempt, Ok(paid))),
        3 => (1..4_u32, failure.clone()).prop_map(|(attempt, failure)| replies(attempt, Err(failure))),
        5 => status.prop_map(is),
        1 => failure.prop_map(|failure| Input::PaymentStatus(Err(failure))),
    ]
}

proptest! {
    #[test]
    fn second_request_only_if_the_first_certainly_did_not_pay(
        inputs in prop::collection::vec((input(), 0..200_u64), 0..60),
    ) {
        let mut operation = Operation::OutgoingPayment(started());
        let mut now = NOW;
        // The request that is out, as far as anybody knows: which it is, until when it is acted on, and whether an earlier
        // process may have sent it.
        let mut out: Option<(u32, u64, bool)> = None;
        let (mut ends, mut paid, mut attempts) = (0, 0, 0);
        for (input, secs) in inputs {
            now = now.plus(Duration::from_secs(secs));
            let input = match input {
                Input::PaymentPrepared(Ok(_)) => Input::PaymentPrepared(Ok(signed(now))),
                Input::Timer => {
                    now = operation.wake_at().unwrap_or(now).max(now);
                    Input::Timer
                }
                input => input,
            };
            if let StepResult::Stepped(effects) = operation.step(&input, now) {
                let was_out = out;
                if let (Input::PaymentSent { attempt, result: Err(LightningError::NotSent) }, Some((number, _, false))) =
                    (&input, out) && *attempt == number
                {
                    out = None;
                }
                for effect in effects {
                    match effect {
                        // A request may be signed only when none is out.
                        Effect::CallLightning(LightningRequest::PreparePayment { .. }) => {
                            let proven = matches!(
                                input,
                                Input::PaymentStatus(Ok(OutgoingPaymentStatus::Unknown(coverage)))
                                    if coverage > LookupCoverage::None
                            );
                            let void = was_out.is_none_or(|(_, until, _)| now.secs() >= until + 60);
                            prop_assert!(out.is_none() || proven && void, "{input:?}");
                            out = None;
                        }
                        Effect::CallLightning(LightningRequest::Pay { attempt, again, payment, .. }) => {
                            match out {
                                Some((number, until, _)) => {
                                    prop_assert!(again && number == attempt && until == payment.until, "the same");
                                    out = Some((number, until, true));
                                }
                                None => {
                                    attempts += 1;
                                    prop_assert!(!again && attempt == attempts);
                                    out = Some((attempt, payment.until, false));
                                }
                            }
                        }
                        Effect::Emit(event) if event.data.contains("\"paid\"") => paid += 1,
                        Effect::Emit(event) => {
                            ends += 1;
                            // "Not paid" needs a proof: none is out, a refusal, the state, or "not found" by one who finds.
                            let says_so = matches!(input, Input::PaymentStatus(_));
                            prop_assert!(!event.data.contains("not_paid") || out.is_none() || says_so, "{input:?}");
                        }
                        Effect::Finish => return Ok(()),
                        _ => {}
                    }
                }
            }
            prop_assert!(paid <= 1 && ends <= 1);
            prop_assert!(operation.is_done() == (paid + ends > 0));
            let stored = operation.to_state().unwrap();
            prop_assert_eq!(&Operation::from_state(&stored).unwrap(), &operation);
        }
    }
}
