use usher_protocol::message::Addressed;

use super::*;
use crate::operations::fixtures::*;

const TTL: Duration = Duration::from_secs(600);
const MINT: &str = "https://mint.example";

fn start(redeem: bool) -> (TicketRequest, Vec<Effect>) {
    let request = RequestTicket {
        main_key: user(1).public_key(),
        subkeys: vec![user(2).public_key()],
        mint_url: MINT.to_owned(),
        unit: "multi".to_owned(),
        amount: 2,
        redeem,
        auth: Some(MintAuthToken("static".to_owned())),
        reference: Some("door-7".to_owned()),
        expires_at: None,
    };
    TicketRequest::start(request, "r".to_owned(), NOW.plus(TTL))
}

fn asked(redeem: bool) -> TicketRequest {
    start(redeem).0
}

fn reply(author: &Keys, request_id: &str, status: CashuStatus) -> Input {
    // The wallet's copy of the request is not used: the token is checked against the stored one.
    let inner = message::CashuRequest {
        request_id: request_id.to_owned(),
        mint_url: "https://other.example".to_owned(),
        unit: "sat".to_owned(),
        amount: 1,
        expires_at: 0,
    };
    let request = Addressed { inner, main_key: user(4).public_key(), recipient: user(200).public_key() };
    let message = WalletMessage::CashuResponse(CashuResponse { request, status });
    Input::Wallet { author: author.public_key(), sent_at: NOW, message }
}

fn sends(author: &Keys, token: &str) -> Input {
    reply(author, "r", CashuStatus::Success { token: token.to_owned().into() })
}

fn checking(redeem: bool) -> TicketRequest {
    let mut request = asked(redeem);
    effects(request.step(&sends(&user(1), "cashuBgood"), NOW));
    request
}

fn verified(amount: u64) -> Input {
    let token = Token("cashuBswapped".to_owned());
    Input::Ticket(TicketReply::Verified(Ok(VerifiedToken { token, amount })))
}

fn not_verified(failure: TicketError) -> Input {
    Input::Ticket(TicketReply::Verified(Err(Arc::new(failure))))
}

fn away() -> Input {
    not_verified(TicketError::Unreachable("connection refused".to_owned()))
}

fn ends_with(result: StepResult, event_type: &str, data: Value) {
    let got = effects(result);
    assert_eq!(event(&got), (if event_type == "CashuResponse" { "CashuResponse" } else { "StatusUpdate" }, data));
    assert_eq!(got.last(), Some(&Effect::Finish));
}

#[test]
fn the_user_is_asked_by_the_terms() {
    let (_, effects) = start(false);
    let [Effect::Send(message)] = &effects[..] else { panic!("{effects:?}") };
    let expires_at = NOW.plus(TTL).secs().to_string();
    let expected = json!({"request_id": "r", "mint_url": MINT, "unit": "multi", "amount": 2, "expires_at": expires_at});
    assert_eq!((message.kind, content(message)), (29500, expected));
    assert_eq!(message.recipients, [user(1).public_key(), user(2).public_key()]);
    assert_eq!(message.until, NOW.plus(TTL));
}

#[test]
fn a_token_is_stored_before_the_mint_is_asked_and_success_waits_for_the_mint() {
    for (redeem, author) in [(false, user(1)), (true, user(2))] {
        let mut request = asked(redeem);
        let got = effects(request.step(&sends(&author, "cashuBgood"), NOW));
        let terms = ReceiveTerms {
            token: Token("cashuBgood".to_owned()),
            mint_url: MINT.to_owned(),
            unit: "multi".to_owned(),
            at_least: 2,
            auth: Some(MintAuthToken("static".to_owned())),
        };
        let call = if redeem { TicketCall::Redeem(terms) } else { TicketCall::Verify(terms) };
        assert_eq!(got, [Effect::ClearOutbox, Effect::CallTicketWallet(call)]);
        assert!(Operation::TicketRequest(request).to_state().unwrap().0.contains("cashuBgood"));
    }
    let common = |more: Value| {
        let mut data = json!({"status": "success", "unit": "multi", "mint_url": MINT, "request_id": "door-7"});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data
    };
    let data = common(json!({"amount": 3, "token": "cashuBswapped"}));
    ends_with(checking(false).step(&verified(3), NOW), "CashuResponse", data);
    let received = Input::Ticket(TicketReply::Redeemed(Ok(1)));
    ends_with(checking(true).step(&received, NOW), "CashuResponse", common(json!({"amount": 1})));
}

#[test]
fn a_refusal_and_a_lack_of_funds_end_it() {
    let data = json!({"status": "insufficient_funds", "unit": "multi", "mint_url": MINT, "request_id": "door-7"});
    ends_with(asked(false).step(&reply(&user(1), "r", CashuStatus::InsufficientFunds), NOW), "CashuResponse", data);
    let rejected = CashuStatus::Rejected { reason: Some("no".to_owned()) };
    let data = json!({"status": "rejected", "reason": "no", "unit": "multi", "mint_url": MINT, "request_id": "door-7"});
    ends_with(asked(true).step(&reply(&user(1), "r", rejected), NOW), "CashuResponse", data);
}

#[test]
fn only_the_first_reply_of_the_user_is_taken() {
    let mut request = asked(false);
    assert_eq!(request.step(&sends(&user(3), "cashuBbad"), NOW), StepResult::Ignored, "somebody else");
    let other = reply(&user(1), "another", CashuStatus::InsufficientFunds);
    assert_eq!(request.step(&other, NOW), StepResult::Ignored, "another request");
    let (key, proof) = device(&user(1), 1, Permission::Auth);
    assert_eq!(request.step(&cannot_read(key, proof), NOW), StepResult::Ignored, "a device that may not pay");

    let mut request = checking(false);
    let before = request.clone();
    for second in [
        sends(&user(1), "cashuBother"),
        sends(&user(2), "cashuBgood"),
        reply(&user(1), "r", CashuStatus::InsufficientFunds),
        reply(&user(1), "r", CashuStatus::Rejected { reason: None }),
    ] {
        assert_eq!(request.step(&second, NOW), StepResult::Ignored);
    }
    assert_eq!(request, before);
}

#[test]
fn a_device_of_the_user_is_asked_too() {
    let mut request = asked(false);
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    let got = effects(request.step(&cannot_read(key, proof.clone()), NOW));
    let [Effect::SendAlso(message)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(message.recipients, [key]);
    let Input::Wallet { message, .. } = sends(&user(1), "cashuBgood") else { unreachable!() };
    let got = effects(request.step(&Input::Wallet { author: key, sent_at: NOW, message }, NOW));
    assert!(matches!(&got[..], [Effect::ClearOutbox, Effect::CallTicketWallet(TicketCall::Verify(_))]), "{got:?}");
}

#[test]
fn nothing_is_taken_after_the_expiry_and_the_timer_says_so() {
    let mut request = asked(false);
    let end = NOW.plus(TTL);
    assert_eq!(request.wake_at(), Some(end));
    assert_eq!(request.step(&Input::Timer, NOW), StepResult::Ignored);
    assert_eq!(request.step(&sends(&user(1), "cashuBlate"), end), StepResult::Ignored);
    let data = json!({"status": "timeout", "reason": "the user did not answer in time", "request_id": "door-7"});
    ends_with(request.step(&Input::Timer, end), "StatusUpdate", data);
}

#[test]
fn a_token_that_is_not_what_was_asked_for_is_refused_and_returned_if_it_may_be_worth_something() {
    let cases = [
        (TokenFault::Malformed, "it is not a Cashu token", false),
        (TokenFault::Forged, "the mint has not signed it", false),
        (TokenFault::AlreadySpent, "it is already spent", true),
        (TokenFault::TooLarge { limit: 1000, of: "proofs" }, "it has more than 1000 proofs", true),
        (TokenFault::OtherMint, "it is of another mint", true),
        (TokenFault::OtherUnit, "it is in another unit", true),
        (TokenFault::TooLittle { amount: 1, fee: 0, at_least: 2 }, "it is worth 1, less than 2", true),
        (
            TokenFault::TooLittle { amount: 2, fee: 1, at_least: 2 },
            "it is worth 2 less the mint's fee of 1, less than 2",
            true,
        ),
        (TokenFault::WorthNothing, "the mint's fee takes all of it", true),
        (TokenFault::UnknownKeyset, "the mint does not know its keyset", true),
        (TokenFault::Locked, "it is locked to somebody else", true),
    ];
    for (fault, reason, returned) in cases {
        let mut data = json!({
            "status": "error",
            "reason": format!("the user's token is refused: {reason}"),
            "request_id": "door-7",
        });
        if returned {
            data["token"] = json!("cashuBgood");
        }
        ends_with(checking(false).step(&not_verified(TicketError::Token(fault)), NOW), "StatusUpdate", data);
    }
    let refused = not_verified(TicketError::Refused("keyset is inactive".to_owned()));
    let data = event(&effects(checking(false).step(&refused, NOW))).1;
    let reason = "the user's token could not be checked: the mint refused: keyset is inactive";
    assert_eq!((&data["reason"], &data["token"]), (&json!(reason), &json!("cashuBgood")));
}

#[test]
fn a_verified_token_of_too_little_is_no_success() {
    let data = event(&effects(checking(false).step(&verified(1), NOW))).1;
    assert_eq!((&data["status"], &data["token"]), (&json!("error"), &json!("cashuBswapped")));
}

#[test]
fn a_reply_to_another_call_changes_nothing() {
    let other = [TicketReply::Redeemed(Ok(2)), TicketReply::Minted(Ok(Minted::Token(Token("cashuB".to_owned()))))];
    for reply in other {
        assert_eq!(checking(false).step(&Input::Ticket(reply), NOW), StepResult::Ignored);
    }
    assert_eq!(checking(true).step(&verified(2), NOW), StepResult::Ignored);
}

#[test]
fn a_mint_that_is_away_is_asked_again_with_pauses_for_a_day_after_the_expiry() {
    let mut request = checking(false);
    let (mut now, mut asked) = (NOW, 0);
    let told = loop {
        let got = effects(request.step(&away(), now));
        if !got.is_empty() {
            break got;
        }
        let next = request.wake_at().unwrap();
        let pause = next.since(now);
        assert!(pause >= Duration::from_secs(2) && pause <= MAX_PAUSE, "{pause:?}");
        assert_eq!(request.step(&Input::Timer, UnixMillis(next.0 - 1)), StepResult::Ignored);
        now = next;
        let got = effects(request.step(&Input::Timer, now));
        assert!(matches!(&got[..], [Effect::CallTicketWallet(TicketCall::Verify(_))]), "{got:?}");
        asked += 1;
    };
    assert!(now >= NOW.plus(TTL + MINT_TIMEOUT) && now < NOW.plus(TTL + MINT_TIMEOUT + 2 * MAX_PAUSE));
    assert!((140..200).contains(&asked), "{asked}");
    let reason = "the token could not be checked for a day: the mint cannot be reached: connection refused";
    let data = json!({"status": "error", "reason": reason, "token": "cashuBgood", "request_id": "door-7"});
    assert_eq!(event(&told), ("StatusUpdate", data));
    assert!(!told.contains(&Effect::Finish));
    assert!(request.is_done());

    // The wallet may have swapped it: the result is still asked for, rarely, and reported if there is one.
    assert_eq!(effects(request.step(&Input::Timer, now.plus(LATE_PAUSE))).len(), 1);
    assert_eq!(effects(request.step(&away(), now.plus(LATE_PAUSE))), []);
    let mut late = request.clone();
    let got = effects(late.step(&verified(2), now.plus(LATE_PAUSE)));
    assert_eq!((event(&got).0, got.last()), ("CashuResponse", Some(&Effect::Finish)));
    let mut spent = request.clone();
    let got = effects(spent.step(&not_verified(TicketError::Token(TokenFault::AlreadySpent)), now.plus(LATE_PAUSE)));
    assert_eq!(got, [Effect::Finish], "the app has redeemed it");
    assert_eq!(effects(request.step(&away(), now.plus(LATE))), [Effect::Finish]);
}

#[test]
fn after_a_restart_the_wallet_is_asked_for_the_same_job() {
    for redeem in [false, true] {
        let mut operation = restored(Operation::TicketRequest(checking(redeem)));
        let now = NOW.plus(2 * TTL);
        let got = effects(operation.step(&Input::Resumed, now));
        let mut first = asked(redeem);
        let first = effects(first.step(&sends(&user(1), "cashuBgood"), NOW));
        assert_eq!(got.last(), first.last(), "the same terms");
        assert!(operation.wake_at().unwrap() > now);
    }
    assert_eq!(asked(false).step(&Input::Resumed, NOW), StepResult::Ignored);
}

#[test]
fn nothing_secret_is_shown() {
    let request = checking(false);
    let shown = format!("{request:?} {:?}", effects(request.clone().step(&Input::Resumed, NOW)));
    assert!(!shown.contains("cashuB") && !shown.contains("static"), "{shown}");
}
