use super::*;
use crate::operations::fixtures::*;

const TTL: Duration = Duration::from_secs(900);
const MINT: &str = "https://mint.example";

fn proof() -> MintTerms {
    MintTerms {
        mint_url: MINT.to_owned(),
        unit: "multi".to_owned(),
        amount: 1,
        description: None,
        auth: Some(MintAuthToken("static".to_owned())),
        repeatable: true,
    }
}

fn opened(proof: Option<MintTerms>) -> (VerificationSession, Vec<Effect>) {
    VerificationSession::start(VerificationTerms {
        keys: user(7),
        service_key: user(200).public_key(),
        page_secret: "page".to_owned(),
        request_id: "r".to_owned(),
        minimum_age: 18,
        proof,
        expires_at: NOW.plus(TTL),
        return_url: None,
        number: 4711,
    })
}

fn session() -> VerificationSession {
    opened(Some(proof())).0
}

fn rejected(reason: &str) -> AgeDecision {
    AgeDecision::Rejected { reason: Some(reason.to_owned()) }
}

/// A session whose user has passed: the mint is asked.
fn minting() -> VerificationSession {
    let mut session = session();
    let effects = session.decide(&AgeDecision::Approved, NOW).unwrap();
    assert_eq!(effects, [Effect::CallTicketWallet(TicketCall::Mint(proof()))]);
    assert_eq!(session.state(), VerificationState::Issuing);
    session
}

fn minted(result: Result<Minted, TicketError>) -> Input {
    Input::Ticket(TicketReply::Minted(result.map_err(Arc::new)))
}

fn token() -> Input {
    minted(Ok(Minted::Token(Token("cashuBproof".to_owned()))))
}

fn outgoing(effects: &[Effect]) -> (&OutgoingMessage, Value) {
    let [Effect::SendAs(outgoing)] = effects else { panic!("{effects:?}") };
    (outgoing, serde_json::from_str(&outgoing.content).unwrap())
}

fn arrives(outgoing: &OutgoingMessage) -> Input {
    let message = serde_json::from_str(&outgoing.content).map(WalletMessage::CashuResponse).unwrap();
    let author = outgoing.signer.as_ref().unwrap().public_key();
    Input::Wallet { author, sent_at: outgoing.made_at, message }
}

fn ends_with(effects: &[Effect], event_type: &str, data: Value) {
    assert_eq!(event(effects), (event_type, data));
    assert_eq!(effects.last(), Some(&Effect::Finish));
}

#[test]
fn the_sessions_key_is_asked_for_the_proof_as_a_wallet_would_be() {
    let (_, effects) = opened(Some(proof()));
    let [Effect::Send(message)] = &effects[..] else { panic!("{effects:?}") };
    let expires_at = NOW.plus(TTL).secs().to_string();
    let expected = json!({"request_id": "r", "mint_url": MINT, "unit": "multi", "amount": 1, "expires_at": expires_at});
    assert_eq!((message.kind, serde_json::from_str::<Value>(&message.content).unwrap()), (29500, expected));
    assert_eq!((&message.recipients[..], message.until), (&[user(7).public_key()][..], NOW.plus(TTL)));
    assert_eq!(opened(None).1, [], "without a mint there is nothing to ask for");
}

#[test]
fn a_pass_is_minted_and_the_sessions_key_replies_before_the_app_has_the_proof() {
    let mut session = minting();
    let sent = effects(session.step(&token(), NOW));
    let (reply, says) = outgoing(&sent);
    assert_eq!((reply.kind, &reply.recipients[..]), (29501, &[user(200).public_key()][..]));
    assert_eq!(reply.signer.as_ref().unwrap().public_key(), user(7).public_key());
    assert_eq!(says["status"], json!({"status": "success", "token": "cashuBproof"}));
    assert_eq!(says["request"]["inner"]["request_id"], "r");
    assert_eq!(session.state(), VerificationState::Issuing, "not passed before the app knows");
    let done = effects(session.step(&arrives(reply), NOW));
    let data = json!({"status": "success", "passed": true, "token": "cashuBproof", "amount": 1, "unit": "multi", "mint_url": MINT});
    ends_with(&done, "CashuResponse", data);
    assert_eq!(session.state(), VerificationState::Passed);
}

#[test]
fn only_the_sessions_own_key_ends_it() {
    let mut session = minting();
    let sent = effects(session.step(&token(), NOW));
    let Input::Wallet { sent_at, message, .. } = arrives(outgoing(&sent).0) else { panic!() };
    let forged = Input::Wallet { author: user(8).public_key(), sent_at, message };
    assert_eq!(session.step(&forged, NOW), StepResult::Ignored);
    assert_eq!(session.state(), VerificationState::Issuing);
}

#[test]
fn a_reply_that_no_relay_delivers_is_repeated_and_the_result_comes_all_the_same() {
    let mut session = minting();
    let first = effects(session.step(&token(), NOW));
    let mut now = NOW;
    for pause in &REPLY_PAUSES[..2] {
        assert_eq!(session.step(&Input::Timer, now), StepResult::Ignored, "not yet");
        now = now.plus(Duration::from_millis(*pause));
        let again = effects(session.step(&Input::Timer, now));
        let (copy, original) = (outgoing(&again).0, outgoing(&first).0);
        assert_eq!((&copy.content, copy.made_at), (&original.content, original.made_at), "the same event");
    }
    now = now.plus(Duration::from_millis(REPLY_PAUSES[2]));
    let done = effects(session.step(&Input::Timer, now));
    assert_eq!(event(&done).1["token"], "cashuBproof");
    assert_eq!(done.last(), Some(&Effect::Finish));
}

#[test]
fn a_rejection_is_the_apps_with_its_reason_and_mints_nothing() {
    let mut session = session();
    let sent = session.decide(&rejected("no\u{1b} document"), NOW).unwrap();
    let (reply, says) = outgoing(&sent);
    assert_eq!(says["status"], json!({"status": "rejected", "reason": "no document"}));
    assert_eq!(session.state(), VerificationState::Rejected);
    let data =
        json!({"status": "rejected", "passed": false, "reason": "no document", "unit": "multi", "mint_url": MINT});
    ends_with(&effects(session.step(&arrives(reply), NOW)), "CashuResponse", data);
}

#[test]
fn without_a_mint_a_session_ends_at_the_decision() {
    let mut session = opened(None).0;
    let reason = "no mint is configured (verification.mint_url)";
    let done = session.decide(&AgeDecision::Approved, NOW).unwrap();
    ends_with(&done, "CashuResponse", json!({"status": "insufficient_funds", "passed": true, "reason": reason}));
    assert_eq!(session.state(), VerificationState::NotIssued);
    let mut session = opened(None).0;
    let done = session.decide(&AgeDecision::Rejected { reason: None }, NOW).unwrap();
    ends_with(&done, "CashuResponse", json!({"status": "rejected", "passed": false}));
}

#[test]
fn a_session_is_decided_once_and_not_after_its_end() {
    let mut decided = minting();
    assert_eq!(decided.decide(&rejected("x"), NOW), Err(DecisionFault::Decided));
    let sent = effects(decided.step(&token(), NOW));
    assert_eq!(decided.decide(&AgeDecision::Approved, NOW), Err(DecisionFault::Decided));
    let reply = arrives(outgoing(&sent).0);
    effects(decided.step(&reply, NOW));
    assert_eq!(decided.decide(&AgeDecision::Approved, NOW), Err(DecisionFault::Decided));

    let mut late = session();
    assert_eq!(late.decide(&AgeDecision::Approved, NOW.plus(TTL)), Err(DecisionFault::Expired));
    assert_eq!(late.step(&Input::Timer, NOW), StepResult::Ignored);
    let done = effects(late.step(&Input::Timer, NOW.plus(TTL)));
    ends_with(&done, "StatusUpdate", json!({"status": "timeout", "reason": "nobody decided in time"}));
    assert_eq!(late.state(), VerificationState::Expired);
    assert_eq!(late.decide(&AgeDecision::Approved, NOW.plus(TTL)), Err(DecisionFault::Expired));
}

fn asked(effects: &[Effect]) -> &TicketCall {
    let [Effect::CallTicketWallet(call)] = effects else { panic!("{effects:?}") };
    call
}

fn give_up() -> TicketCall {
    TicketCall::GiveUp { mint_url: MINT.to_owned() }
}

fn given_up(result: Result<Option<Token>, TicketError>) -> Input {
    Input::Ticket(TicketReply::GivenUp(result.map_err(Arc::new)))
}

fn away() -> Input {
    minted(Err(TicketError::Unreachable("connection refused".to_owned())))
}

/// A session whose mint was away for too long: the ticket wallet is asked to give the job up.
fn giving_up() -> VerificationSession {
    let mut session = minting();
    assert_eq!(*asked(&effects(session.step(&away(), NOW.plus(MINT_TIMEOUT)))), give_up());
    assert_eq!(session.state(), VerificationState::Issuing, "the app does not know yet");
    session
}

#[test]
fn a_mint_that_is_away_is_asked_again_for_two_minutes() {
    let mut session = minting();
    let mut now = NOW;
    let mut count = 0;
    loop {
        let done = effects(session.step(&away(), now));
        if !done.is_empty() {
            assert_eq!(*asked(&done), give_up());
            break;
        }
        now = session.wake_at().unwrap();
        assert_eq!(*asked(&effects(session.step(&Input::Timer, now))), TicketCall::Mint(proof()), "the same job");
        count += 1;
    }
    assert!(count > 5 && now.since(NOW) >= MINT_TIMEOUT && now.since(NOW) < MINT_TIMEOUT + MAX_PAUSE * 2);
    let sent = effects(session.step(&given_up(Ok(None)), now));
    assert_eq!(outgoing(&sent).1["status"], json!({"status": "insufficient_funds"}));
    let done = effects(session.step(&arrives(outgoing(&sent).0), now));
    let (_, data) = event(&done);
    let reason = "the proof could not be issued: the mint cannot be reached: connection refused";
    assert_eq!((&data["status"], &data["reason"]), (&json!("insufficient_funds"), &json!(reason)));
    assert_eq!(session.state(), VerificationState::NotIssued);
}

#[test]
fn a_proof_that_was_signed_at_the_last_moment_is_the_users() {
    let mut session = giving_up();
    let proof = Token("cashuBproof".to_owned());
    let sent = effects(session.step(&given_up(Ok(Some(proof))), NOW.plus(MINT_TIMEOUT)));
    let done = effects(session.step(&arrives(outgoing(&sent).0), NOW.plus(MINT_TIMEOUT)));
    assert_eq!(event(&done).1["token"], "cashuBproof");
    assert_eq!(session.state(), VerificationState::Passed);
}

#[test]
fn a_session_does_not_end_without_a_proof_before_the_ticket_wallet_knows() {
    let failed = || given_up(Err(TicketError::Overloaded));
    let mut session = giving_up();
    assert_eq!(session.step(&away(), NOW), StepResult::Ignored);
    assert_eq!(session.decide(&rejected("x"), NOW), Err(DecisionFault::Decided));
    for _ in 0..GIVE_UP_TRIES {
        assert!(effects(session.step(&failed(), NOW)).is_empty());
        let next = session.wake_at().unwrap();
        assert_eq!(session.step(&Input::Timer, next.minus(Duration::from_millis(1))), StepResult::Ignored);
        assert_eq!(*asked(&effects(session.step(&Input::Timer, next))), give_up());
    }
    // After a restart, too.
    let Operation::VerificationSession(mut session) = restored(Operation::VerificationSession(session)) else {
        panic!()
    };
    assert_eq!(*asked(&effects(session.step(&Input::Resumed, NOW))), give_up());
    // A record that is damaged holds up no session for ever.
    outgoing(&effects(session.step(&failed(), NOW)));
    assert_eq!(session.state(), VerificationState::NotIssued);
}

#[test]
fn a_mint_that_refuses_or_wants_money_ends_it_at_once() {
    let refused = minted(Err(TicketError::Refused("unit not supported".to_owned())));
    let unpaid = minted(Ok(Minted::PaymentNeeded { invoice: "lnbc1".to_owned(), expires_at: None }));
    for (reply, reason) in [
        (refused, "the proof could not be issued: the mint refused: unit not supported"),
        (unpaid, "the mint wants to be paid for the proof"),
    ] {
        let mut session = minting();
        // Somebody may pay the quote, all the same.
        assert_eq!(*asked(&effects(session.step(&reply, NOW))), give_up());
        let sent = effects(session.step(&given_up(Ok(None)), NOW));
        let done = effects(session.step(&arrives(outgoing(&sent).0), NOW));
        assert_eq!(event(&done).1["reason"], reason);
        assert_eq!(session.state(), VerificationState::NotIssued);
    }
}

#[test]
fn after_a_restart_the_mint_is_asked_again_or_the_reply_is_sent_again() {
    let mut session = minting();
    let again = effects(session.step(&Input::Resumed, NOW));
    assert_eq!(again, [Effect::CallTicketWallet(TicketCall::Mint(proof()))]);
    let first = effects(session.step(&token(), NOW));
    // As it is stored.
    let Operation::VerificationSession(mut session) = restored(Operation::VerificationSession(session)) else {
        panic!()
    };
    let again = effects(session.step(&Input::Resumed, NOW));
    assert_eq!(outgoing(&again).0.content, outgoing(&first).0.content);
}

#[test]
fn nothing_secret_is_left_when_it_is_over() {
    let mut session = minting();
    let sent = effects(session.step(&token(), NOW));
    let reply = arrives(outgoing(&sent).0);
    effects(session.step(&reply, NOW));
    assert!(!format!("{session:?}").contains("static"));
    let state = Operation::VerificationSession(session).to_state().unwrap().0;
    let secret = user(7).secret_key().to_secret_hex();
    assert!(!state.contains(&secret) && !state.contains("cashuB") && !state.contains("static"), "{state}");
}
