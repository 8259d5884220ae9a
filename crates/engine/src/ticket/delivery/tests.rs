use super::*;
use crate::operations::fixtures::*;
use crate::ticket::delivery::DeliveryStatus;

const TTL: Duration = Duration::from_secs(168 * 3600);
const MINT: &str = "https://mint.example";

fn start() -> (TicketDelivery, Vec<Effect>) {
    let request = SendTicket {
        main_key: user(1).public_key(),
        subkeys: vec![user(2).public_key()],
        token: Token("cashuBticket".to_owned()),
        reference: Some("seat-7".to_owned()),
    };
    let info = TokenInfo { mint_url: MINT.to_owned(), unit: "multi".to_owned(), amount: 3, proofs: 2 };
    TicketDelivery::start(request, info, NOW.plus(TTL), NOW)
}

fn queued() -> TicketDelivery {
    start().0
}

fn says(state: TokenState) -> Input {
    Input::Ticket(TicketReply::State(Ok(state)))
}

fn says_nothing() -> Input {
    Input::Ticket(TicketReply::State(Err(Arc::new(TicketError::TimedOut))))
}

fn redeemed(amount: u64) -> Input {
    Input::Ticket(TicketReply::Redeemed(Ok(amount)))
}

fn not_redeemed(failure: TicketError) -> Input {
    Input::Ticket(TicketReply::Redeemed(Err(Arc::new(failure))))
}

fn sent() -> TicketDelivery {
    let mut delivery = queued();
    effects(delivery.step(&says(TokenState::Unspent), NOW));
    delivery
}

/// A delivery that was not claimed in time.
fn expired() -> TicketDelivery {
    let mut delivery = sent();
    effects(delivery.step(&Input::Timer, NOW.plus(TTL)));
    effects(delivery.step(&says(TokenState::Unspent), NOW.plus(TTL)));
    delivery
}

fn checks(effects: &[Effect]) -> bool {
    matches!(effects, [Effect::CallTicketWallet(TicketCall::CheckState { token, mint_url })]
        if token.0 == "cashuBticket" && mint_url == MINT)
}

fn success() -> (&'static str, Value) {
    let data = json!({"status": "success", "amount": 3, "unit": "multi", "mint_url": MINT, "request_id": "seat-7"});
    ("CashuResponse", data)
}

fn status(status: &str, reason: &str) -> (&'static str, Value) {
    ("StatusUpdate", json!({"status": status, "reason": reason, "request_id": "seat-7"}))
}

#[test]
fn it_is_stored_with_its_token_and_sent_when_the_mint_does_not_say_that_it_is_spent() {
    for first in [says(TokenState::Unspent), says(TokenState::Pending), says_nothing(), Input::Timer] {
        let (mut delivery, first_effects) = start();
        assert!(checks(&first_effects), "{first_effects:?}");
        assert_eq!(delivery.view().unwrap().status, DeliveryStatus::Queued);
        assert!(Operation::TicketDelivery(delivery.clone()).to_state().unwrap().0.contains("cashuBticket"));
        let now = if matches!(first, Input::Timer) { NOW.plus(FIRST_CHECK) } else { NOW };
        let got = effects(delivery.step(&first, now));
        let [Effect::Send(message)] = &got[..] else { panic!("{got:?}") };
        assert_eq!((message.kind, message.content.as_str()), (29502, r#"{"token":"cashuBticket"}"#));
        assert_eq!(message.recipients, [user(1).public_key(), user(2).public_key()]);
        assert_eq!(message.until, now.plus(Duration::from_secs(60)));
        assert_eq!(delivery.view().unwrap().status, DeliveryStatus::Sent);
    }
}

#[test]
fn a_token_that_was_spent_before_is_not_sent_and_is_no_success() {
    let mut delivery = queued();
    let got = effects(delivery.step(&says(TokenState::Spent), NOW));
    assert_eq!(event(&got), status("error", "the token was spent before it was sent"));
    assert_eq!(got.last(), Some(&Effect::Finish));
    assert_eq!(delivery.view(), None);
    assert_can_be_reclaimed_after_its_end(delivery);
}

#[test]
fn a_spent_token_is_a_success() {
    for mut delivery in [sent(), expired()] {
        let got = effects(delivery.step(&says(TokenState::Spent), NOW));
        assert_eq!(event(&got), success());
        assert_eq!(got.last(), Some(&Effect::Finish));
        assert_eq!(delivery.view(), None);
        assert_can_be_reclaimed_after_its_end(delivery);
    }
}

/// The mint alone says that the token is spent. While the delivery is stored, so is its token, and the mint can be asked to
/// redeem it.
fn assert_can_be_reclaimed_after_its_end(delivery: TicketDelivery) {
    let mut operation = restored(Operation::TicketDelivery(delivery));
    let Operation::TicketDelivery(delivery) = &mut operation else { unreachable!() };
    let before = delivery.clone();
    let Reclaim::AfterEnd(terms) = delivery.reclaim(None, NOW) else { panic!("the token is kept") };
    assert_eq!(terms.token.0, "cashuBticket");
    assert!(*delivery == before, "a finished operation does not change");
    assert_eq!(delivery.step(&redeemed(2), NOW), StepResult::Ignored);
}

/// Runs a delivery whose user is away until it expires; returns when it was sent and when the mint was asked, in seconds.
fn run(reply: &Input) -> (Vec<u64>, Vec<u64>, TicketDelivery, Vec<Effect>) {
    let (mut delivery, _) = start();
    let (mut sent, mut asked) = (Vec::new(), vec![0]);
    let mut now = NOW;
    let mut got = effects(delivery.step(reply, now));
    loop {
        let at = now.since(NOW).as_secs();
        for effect in &got {
            match effect {
                Effect::Send(message) => {
                    assert!(message.until > now && message.until <= NOW.plus(TTL));
                    sent.push(at);
                }
                Effect::CallTicketWallet(_) => asked.push(at),
                Effect::Emit(_) => return (sent, asked, delivery, got),
                Effect::ClearOutbox => {}
                other => panic!("{other:?}"),
            }
        }
        if got.iter().any(|effect| matches!(effect, Effect::CallTicketWallet(_))) {
            got = effects(delivery.step(reply, now));
            continue;
        }
        let next = delivery.wake_at().unwrap();
        assert!(next > now, "it does not spin");
        now = next;
        got = effects(delivery.step(&Input::Timer, now));
    }
}

#[test]
fn it_is_sent_in_rounds_that_become_rare_and_the_mint_is_asked_before_and_after_each() {
    let (sent, asked, delivery, told) = run(&says(TokenState::Unspent));
    assert_eq!(sent[..7], [0, 120, 240, 360, 480, 600, 900]);
    assert_eq!(asked[..10], [0, 5, 15, 35, 65, 120, 130, 150, 240, 250]);
    let gaps = |from: u64, to: u64| {
        let at: Vec<_> = sent.iter().copied().filter(|at| (from..to).contains(at)).collect();
        at.windows(2).map(|pair| pair[1] - pair[0]).collect::<std::collections::BTreeSet<_>>()
    };
    const HOUR: u64 = 3600;
    assert_eq!(gaps(600, 2 * HOUR), [300].into());
    assert_eq!(gaps(2 * HOUR, 24 * HOUR), [600].into());
    assert_eq!(gaps(24 * HOUR + 600, 168 * HOUR), [1800].into());
    assert!(sent.len() < 500 && asked.len() < 1000, "{} {}", sent.len(), asked.len());
    assert_eq!(told[0], Effect::ClearOutbox);
    assert_eq!(event(&told), status("timeout", "the user did not redeem the token in time; it can be reclaimed"));
    assert!(delivery.is_done() && !told.contains(&Effect::Finish));
    assert_eq!(*asked.last().unwrap(), 168 * HOUR, "once more before the time-out");
    let mut delivery = self::sent();
    assert!(checks(&effects(delivery.step(&Input::Timer, NOW.plus(TTL)))));
    assert_eq!(event(&effects(delivery.step(&says(TokenState::Spent), NOW.plus(TTL)))), success());
    // A mint that is away changes nothing of it.
    let (away, _, _, told) = run(&says_nothing());
    assert_eq!(away, sent);
    assert_eq!(event(&told).1["status"], "timeout");
}

#[test]
fn after_the_time_out_the_mint_is_asked_ever_less_often_and_for_ever() {
    let mut delivery = expired();
    let (mut now, mut pauses) = (NOW.plus(TTL), Vec::new());
    for _ in 0..40 {
        let next = delivery.wake_at().unwrap();
        pauses.push(next.since(now).as_secs() / 3600);
        now = next;
        assert!(checks(&effects(delivery.step(&Input::Timer, now))));
        assert_eq!(effects(delivery.step(&says_nothing(), now)), []);
    }
    assert_eq!(pauses[..4], [1, 6, 24, 24]);
    assert_eq!(pauses[35..], [168; 5]);
    assert_eq!(delivery.view().unwrap().status, DeliveryStatus::Timeout);
}

#[test]
fn a_reclaimed_token_is_sent_no_more_and_the_app_hears_of_it_once() {
    let auth = Some(MintAuthToken("static".to_owned()));
    for (mut delivery, expired) in [(queued(), false), (sent(), false), (expired(), true)] {
        let now = NOW.plus(2 * TTL);
        let Reclaim::Begun(got, terms) = delivery.reclaim(auth.clone(), now) else { panic!("it is open") };
        assert_eq!(got, [Effect::ClearOutbox]);
        assert_eq!((terms.token.0.as_str(), terms.at_least, &terms.auth), ("cashuBticket", 0, &auth));
        assert_eq!(delivery.view().unwrap().status, DeliveryStatus::Reclaiming);
        // Asked again with another token for the mint: the job has the first.
        assert_eq!(delivery.reclaim(None, now), Reclaim::UnderWay(terms.clone()));
        // The service itself may have spent it.
        assert_eq!(delivery.step(&says(TokenState::Spent), now), StepResult::Ignored);
        // A crash: the operation asks by itself, for the same job.
        let mut operation = restored(Operation::TicketDelivery(delivery));
        let got = effects(operation.step(&Input::Resumed, now));
        assert_eq!(got, [Effect::CallTicketWallet(TicketCall::Redeem(terms))]);
        let got = effects(operation.step(&redeemed(2), now));
        assert_eq!(got.last(), Some(&Effect::Finish));
        if expired {
            assert_eq!(got.len(), 1, "the stream was done before");
        } else {
            assert_eq!(event(&got), status("error", "the token was reclaimed"));
        }
        let Operation::TicketDelivery(mut delivery) = operation else { unreachable!() };
        assert_eq!((delivery.reclaim(None, now), delivery.view()), (Reclaim::Done(2), None));
    }
}

/// One response of the mint does not end it: the mint is asked again.
#[test]
fn a_reclaim_of_a_token_that_the_mint_calls_spent_asks_the_mint_again() {
    for open in [sent(), expired()] {
        for answer in [TokenState::Spent, TokenState::Unspent] {
            let mut delivery = open.clone();
            let status = delivery.view().unwrap().status;
            delivery.reclaim(None, NOW);
            let refused = not_redeemed(TicketError::Token(TokenFault::AlreadySpent));
            assert_eq!(effects(delivery.step(&refused, NOW)), []);
            assert_eq!((delivery.view().unwrap().status, delivery.wake_at()), (status, Some(NOW)));
            assert!(checks(&effects(delivery.step(&Input::Timer, NOW))));
            let got = effects(delivery.step(&says(answer), NOW));
            match answer {
                TokenState::Spent => assert_eq!((event(&got), delivery.view()), (success(), None)),
                _ => assert!(matches!(delivery.reclaim(None, NOW), Reclaim::Begun(..)), "it goes on"),
            }
        }
    }
}

#[test]
fn while_the_mint_is_away_a_reclaim_goes_on_and_when_it_refuses_the_delivery_does() {
    let mut delivery = sent();
    delivery.reclaim(None, NOW);
    let mut now = NOW;
    for tries in 1..30_u32 {
        assert_eq!(effects(delivery.step(&not_redeemed(TicketError::TimedOut), now)), []);
        let next = delivery.wake_at().unwrap();
        assert_eq!(next.since(now), Duration::from_secs(1 << tries.min(20)).min(MAX_PAUSE));
        now = next;
        assert!(matches!(
            &effects(delivery.step(&Input::Timer, now))[..],
            [Effect::CallTicketWallet(TicketCall::Redeem(_))]
        ));
    }
    let refused = || not_redeemed(TicketError::Refused("no".to_owned()));
    for (mut delivery, status) in [(sent(), DeliveryStatus::Sent), (expired(), DeliveryStatus::Timeout)] {
        delivery.reclaim(None, NOW);
        assert_eq!(effects(delivery.step(&refused(), NOW)), []);
        assert_eq!(delivery.view().unwrap().status, status);
        assert!(delivery.wake_at().unwrap() <= NOW.plus(Duration::from_secs(3600)));
        assert!(matches!(delivery.reclaim(None, NOW), Reclaim::Begun(..)), "it can be tried again");
    }
}

#[test]
fn only_a_delivery_that_has_expired_can_be_superseded() {
    assert_eq!((queued().supersede(), sent().supersede()), (None, None));
    let mut delivery = expired();
    assert_eq!(delivery.supersede(), Some(vec![Effect::Finish]));
    assert_eq!((delivery.view(), delivery.reclaim(None, NOW)), (None, Reclaim::Gone));
}

#[test]
fn a_device_of_the_user_gets_the_token_with_the_round_and_with_all_that_follow() {
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    let mut delivery = sent();
    let got = effects(delivery.step(&cannot_read(key, proof.clone()), NOW));
    let [Effect::SendAlso(message)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(message.recipients, [key]);
    let mut queued = queued();
    assert_eq!(effects(queued.step(&cannot_read(key, proof), NOW)), []);
    let got = effects(queued.step(&says(TokenState::Unspent), NOW));
    let [Effect::Send(message)] = &got[..] else { panic!("{got:?}") };
    assert!(message.recipients.contains(&key));
    let (key, proof) = device(&user(3), 1, Permission::Payment);
    assert_eq!(sent().step(&cannot_read(key, proof), NOW), StepResult::Ignored, "somebody else's");
    let (key, proof) = device(&user(1), 2, Permission::Auth);
    assert_eq!(sent().step(&cannot_read(key, proof), NOW), StepResult::Ignored, "it may not handle money");
}

#[test]
fn after_a_restart_a_check_that_was_under_way_is_made_again() {
    let mut delivery = sent();
    assert_eq!(delivery.step(&Input::Resumed, NOW), StepResult::Ignored, "none is");
    let at = delivery.wake_at().unwrap();
    assert!(checks(&effects(delivery.step(&Input::Timer, at))));
    let mut operation = restored(Operation::TicketDelivery(delivery));
    assert!(checks(&effects(operation.step(&Input::Resumed, at))));
    assert_eq!(event(&effects(operation.step(&says(TokenState::Spent), at))), success());
}

#[test]
fn a_late_reply_to_a_check_that_was_given_up_is_used_only_if_the_token_is_spent() {
    let mut delivery = queued();
    effects(delivery.step(&Input::Timer, NOW.plus(FIRST_CHECK)));
    assert_eq!(delivery.step(&says(TokenState::Unspent), NOW.plus(FIRST_CHECK)), StepResult::Ignored);
    assert_eq!(event(&effects(delivery.step(&says(TokenState::Spent), NOW.plus(FIRST_CHECK)))), success());
}

#[test]
fn one_token_has_one_key_and_nothing_secret_is_shown() {
    let delivery = sent();
    assert_eq!(delivery.correlations(), [CorrelationKey::delivery(&Token("cashuBticket".to_owned()))]);
    let shown = format!("{delivery:?} {:?} {:?}", delivery.view(), delivery.clone().reclaim(None, NOW));
    assert!(!shown.contains("cashuB"), "{shown}");
}
