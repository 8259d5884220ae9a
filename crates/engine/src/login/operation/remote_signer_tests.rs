use super::tests::{events, handshake_event, login};
use super::*;
use crate::login::signer_request::{SignerFault, SignerStatus};
use crate::machine::SignerCall;
use crate::operations::fixtures::*;
use crate::operations::fixtures::{
    signer_failed as failed, signer_progress as progress, signer_session as session, signer_signed as signed,
};

fn challenge() -> LoginChallenge {
    LoginChallenge { url: "https://shop.example/login/7".to_owned(), challenge: "other challenge".to_owned() }
}

fn ask(login: &mut Login, n: u32) -> SignerCall {
    call(login.ask_signer(session(n), challenge(), None, NOW).unwrap())
}

fn call(effects: Vec<Effect>) -> SignerCall {
    let [Effect::AskSigner(call)] = &effects[..] else { panic!("{effects:?}") };
    (**call).clone()
}

fn status(login: &Login) -> &SignerStatus {
    login.signer().unwrap().status()
}

#[test]
fn signature_of_a_remote_signer_logs_in_before_or_after_a_scan() {
    for scanned in [false, true] {
        let mut login = login();
        if scanned {
            login.step(&handshake(&user(1), "token", &[]), NOW);
        }
        let asked = ask(&mut login, 1);
        assert_eq!((asked.number, &asked.session, asked.until), (1, &session(1), login.expires_at()));
        assert_eq!((asked.wanted.kind, asked.wanted.content.as_str()), (27_235, ""));
        let tags = json!([["u", "https://shop.example/login/7"], ["method", "POST"], ["challenge", "other challenge"]]);
        assert_eq!(json!(asked.wanted.tags), tags);
        assert_eq!(status(&login), &SignerStatus::Starting);

        for (update, expected) in [
            (SignerProgress::Listening, SignerStatus::Listening),
            (SignerProgress::Silent, SignerStatus::Silent),
            (SignerProgress::Connected(session(2)), SignerStatus::Connected),
            (
                SignerProgress::Confirm("https://a".to_owned()),
                SignerStatus::Confirming { page: "https://a".to_owned() },
            ),
        ] {
            assert_eq!(effects(login.step(&progress(1, update), NOW)), []);
            assert_eq!(status(&login), &expected);
        }
        assert_eq!(login.signer().unwrap().session(), &session(2));
        for nothing_new in [SignerProgress::Listening, SignerProgress::Confirm("https://b".to_owned())] {
            assert_eq!(login.step(&progress(1, nothing_new), NOW), StepResult::Ignored);
        }

        // The signer took its user's minutes, and kept the time at which it was asked.
        let later = UnixMillis(NOW.0 + 250_000);
        let got = effects(login.step(&signed(1, 2, &challenge(), NOW), later));
        let main_key = user(2).public_key();
        let approved = json!({ "status": "approved", "main_key": main_key.to_hex(), "method": "signer" });
        assert_eq!(events(&got), [handshake_event(2, &[]), ("StatusUpdate", approved)]);
        assert_eq!(got.last(), Some(&Effect::Finish));
        let kept = UserSigner { main_key, session: session(9), update: SignerSessionUpdate::Store };
        assert!(got.contains(&Effect::KeepSigner(kept)), "{got:?}");
        assert_eq!(login.state(), LoginState::Approved { main_key, method: LoginMethod::Signer, at: later });
        assert_eq!(login.signer(), None, "its session is kept elsewhere");
        assert_eq!(login.step(&signed(1, 3, &challenge(), NOW), later), StepResult::Ignored);
        assert_eq!(login.ask_signer(session(3), challenge(), None, later), Err(AskSignerError::Ended));
    }
}

#[test]
fn what_a_signer_says_or_signs_for_something_else_logs_nobody_in() {
    let other = |url: &str, text: &str| LoginChallenge { url: url.to_owned(), challenge: text.to_owned() };
    for wrong in [
        signed(1, 2, &other("https://shop.example/login/8", "other challenge"), NOW),
        signed(1, 2, &other("https://shop.example/login/7", "another"), NOW),
        signed(1, 2, &challenge(), UnixMillis(NOW.0 + 600_000)),
        failed(1, RemoteSignerError::Invalid("no event")),
    ] {
        let mut login = login();
        ask(&mut login, 1);
        assert_eq!(effects(login.step(&wrong, NOW)), []);
        assert_eq!(status(&login), &SignerStatus::Failed { fault: SignerFault::Invalid });
        assert_eq!(login.state(), LoginState::Waiting);
        assert_eq!(login.step(&signed(1, 2, &challenge(), NOW), NOW), StepResult::Ignored, "it has failed");
        assert_eq!(ask(&mut login, 2).number, 2, "another signer may be asked");
        assert_eq!(status(&login), &SignerStatus::Starting);
    }
}

#[test]
fn refusal_of_the_user_declines_and_other_failures_leave_the_login_open() {
    let mut refused = login();
    ask(&mut refused, 1);
    let got = effects(
        refused.step(&failed(1, RemoteSignerError::SignatureRefused { reason: "no".to_owned(), session: None }), NOW),
    );
    assert_eq!(events(&got), [("StatusUpdate", json!({ "status": "declined", "reason": "no" }))]);
    assert_eq!(refused.state(), LoginState::Declined);

    for (error, fault) in [
        (RemoteSignerError::ConnectionRefused("used".to_owned()), SignerFault::Refused),
        (RemoteSignerError::Unreachable, SignerFault::Unreachable),
        (RemoteSignerError::Unusable, SignerFault::Unreachable),
        (RemoteSignerError::Busy, SignerFault::Busy),
    ] {
        let mut login = login();
        ask(&mut login, 1);
        assert_eq!(effects(login.step(&failed(1, error), NOW)), []);
        assert_eq!((status(&login), login.state()), (&SignerStatus::Failed { fault }, LoginState::Waiting));
    }
}

#[test]
fn only_the_signer_that_was_named_last_counts_and_one_login_asks_a_few() {
    let mut login = login();
    assert_eq!(login.step(&signed(0, 2, &challenge(), NOW), NOW), StepResult::Ignored, "none was asked");
    for n in 1..=MAX_SIGNERS {
        assert_eq!(ask(&mut login, n).number, n);
    }
    let earlier = MAX_SIGNERS - 1;
    for late in [signed(earlier, 2, &challenge(), NOW), failed(earlier, RemoteSignerError::Busy)] {
        assert_eq!(login.step(&late, NOW), StepResult::Ignored);
    }
    assert_eq!(login.ask_signer(session(99), challenge(), None, NOW), Err(AskSignerError::TooMany));
    assert_eq!(login.signer().unwrap().session(), &session(MAX_SIGNERS));
    login.step(&signed(MAX_SIGNERS, 2, &challenge(), NOW), NOW);
    assert!(matches!(login.state(), LoginState::Approved { .. }));
}

#[test]
fn signer_is_asked_again_after_a_restart() {
    let mut login = login();
    assert_eq!(login.step(&Input::Resumed, NOW), StepResult::Ignored, "none was asked");
    let first = ask(&mut login, 1);
    login.step(&progress(1, SignerProgress::Connected(session(2))), NOW);
    login.step(&progress(1, SignerProgress::Confirm("https://a".to_owned())), NOW);
    let mut login = reread(&login);
    let again = call(effects(login.step(&Input::Resumed, NOW)));
    assert_eq!(again, SignerCall { session: session(2), ..first });
    assert_eq!(status(&login), &SignerStatus::Starting, "what it asked its user to confirm was another request");
    login.step(&failed(1, RemoteSignerError::Unreachable), NOW);
    assert_eq!(login.step(&Input::Resumed, NOW), StepResult::Ignored);
}
