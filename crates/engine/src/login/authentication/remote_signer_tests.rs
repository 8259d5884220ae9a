//! Authentications that ask the remote signer of an earlier login.

use super::*;
use crate::operations::fixtures::*;
use crate::operations::fixtures::{
    signer_failed as failed, signer_progress as progress, signer_session as session, signer_signed as signed,
};

const END: UnixMillis = UnixMillis(NOW.0 + 300_000);

fn challenge() -> LoginChallenge {
    LoginChallenge { url: "https://shop.example/authenticate-key/7".to_owned(), challenge: "signer's".to_owned() }
}

fn asked() -> (Authentication, SignerCall) {
    let (mut asking, _) = Authentication::start("challenge".to_owned(), user(1).public_key(), &[], END, None);
    let Effect::AskSigner(call) = asking.ask_signer(session(1), challenge()) else { panic!() };
    (asking, *call)
}

fn forgotten() -> Effect {
    Effect::KeepSigner(UserSigner {
        main_key: user(1).public_key(),
        session: session(1),
        update: SignerSessionUpdate::Remove,
    })
}

fn renewed() -> Effect {
    let update = SignerSessionUpdate::Replace(session(1));
    Effect::KeepSigner(UserSigner { main_key: user(1).public_key(), session: session(9), update })
}

#[test]
fn kept_signer_signs_and_the_event_is_the_same_as_a_wallets() {
    let (mut asking, call) = asked();
    assert_eq!((call.number, &call.session, call.until, call.is_kept), (1, &session(1), END, true));
    let tags = json!([["u", challenge().url], ["method", "POST"], ["challenge", "signer's"]]);
    assert_eq!((call.wanted.kind, json!(call.wanted.tags)), (27_235, tags));
    for update in [SignerProgress::Listening, SignerProgress::Silent, SignerProgress::Connected(session(2))] {
        assert_eq!(asking.step(&progress(1, update), NOW), StepResult::Ignored);
    }
    let got = effects(asking.step(&signed(1, 1, &challenge(), NOW), UnixMillis(END.0 - 1)));
    let data = json!({ "status": "approved", "main_key": user(1).public_key().to_hex(), "granted_permissions": [] });
    assert_eq!(got[0], renewed());
    assert_eq!(event(&got[1..]), ("StatusUpdate", data));
    assert_eq!(got.last(), Some(&Effect::Finish));
    assert!(!serde_json::to_string(&asking).unwrap().contains("session"), "the session is kept elsewhere alone");
}

#[test]
fn refusal_declines_and_the_signer_is_forgotten_if_its_session_is_of_no_more_use() {
    let refused = |session| RemoteSignerError::SignatureRefused { reason: "not now".to_owned(), session };
    for (error, reason, signer) in [
        (refused(Some(session(9))), Some("not now"), renewed()),
        (refused(None), Some("not now"), forgotten()),
        (RemoteSignerError::ConnectionRefused("unknown client".to_owned()), None, forgotten()),
    ] {
        let (mut asking, _) = asked();
        let got = effects(asking.step(&failed(1, error), NOW));
        assert_eq!(got[0], signer);
        let mut expected = json!({ "status": "declined", "main_key": user(1).public_key().to_hex() });
        if let Some(reason) = reason {
            expected["reason"] = reason.into();
        }
        assert_eq!(event(&got[1..]), ("StatusUpdate", expected));
        assert_eq!(got.last(), Some(&Effect::Finish));
    }
}

#[test]
fn signer_that_signs_something_else_is_an_error_and_forgotten() {
    let other = |url: &str, text: &str| LoginChallenge { url: url.to_owned(), challenge: text.to_owned() };
    for lie in [
        signed(1, 2, &challenge(), NOW),
        signed(1, 1, &other("https://shop.example/authenticate-key/8", "signer's"), NOW),
        signed(1, 1, &other("https://evil.example/authenticate-key/7", "signer's"), NOW),
        signed(1, 1, &other("https://shop.example/authenticate-key/7", "another"), NOW),
        signed(1, 1, &challenge(), UnixMillis(NOW.0 + 600_000)),
        failed(1, RemoteSignerError::Invalid("another event")),
    ] {
        let (mut asking, _) = asked();
        let got = effects(asking.step(&lie, NOW));
        assert_eq!(got[0], forgotten());
        assert_eq!(event(&got[1..]).1["status"], "error");
        assert_eq!(got.last(), Some(&Effect::Finish));
    }
}

#[test]
fn wallet_decides_as_well_and_alone_when_the_signer_is_not_reached() {
    for failure in [None, Some(RemoteSignerError::Unreachable), Some(RemoteSignerError::Busy)] {
        let (mut asking, _) = asked();
        if let Some(failure) = failure {
            assert_eq!(effects(asking.step(&failed(1, failure), NOW)), []);
            assert_eq!(asking.step(&signed(1, 1, &challenge(), NOW), NOW), StepResult::Ignored);
        }
        let got = effects(asking.step(&approval(user(1).public_key(), "challenge", None), NOW));
        assert_eq!(event(&got).1["status"], "approved");
        assert_eq!(got.last(), Some(&Effect::Finish));
    }
    let (mut asking, _) = asked();
    let late = signed(1, 1, &challenge(), NOW);
    assert_eq!(asking.step(&late, END), StepResult::Ignored, "too late");
    assert_eq!(event(&effects(asking.step(&Input::Timer, END))).1["status"], "timeout");
}

#[test]
fn signer_is_asked_again_after_a_restart_until_the_end() {
    let (asking, first) = asked();
    let mut asking = reread(&asking);
    assert_eq!(effects(asking.step(&Input::Resumed, NOW)), [Effect::AskSigner(Box::new(first))]);
    assert_eq!(asking.step(&Input::Resumed, END), StepResult::Ignored);
    let (mut without, _) = Authentication::start("challenge".to_owned(), user(1).public_key(), &[], END, None);
    assert_eq!(without.step(&Input::Resumed, NOW), StepResult::Ignored);
    assert_eq!(without.step(&signed(1, 1, &challenge(), NOW), NOW), StepResult::Ignored, "none was asked");
}
