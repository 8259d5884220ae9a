//! Logins that return to the app: it gets the user's key when it redeems the code.

use super::tests::{events, handshake_event, login};
use super::*;
use crate::operations::fixtures::*;

fn returning() -> Login {
    Login { return_url: Some("https://app.example/done?stream_id=7".to_owned()), ..login() }
}

fn by_wallet() -> (Login, Vec<Effect>) {
    let mut login = returning();
    login.step(&handshake(&user(1), "token", &[]), NOW);
    let proven = effects(login.step(&approval(user(1).public_key(), "challenge", None), NOW));
    (login, proven)
}

fn seconds(seconds: u64) -> UnixMillis {
    NOW.plus(Duration::from_secs(seconds))
}

fn said(status: &str, method: &str) -> (&'static str, Value) {
    ("StatusUpdate", json!({ "status": status, "method": method }))
}

#[test]
fn app_learns_who_the_user_is_when_it_redeems_the_code() {
    let (mut login, proven) = by_wallet();
    let main_key = user(1).public_key();
    assert_eq!(events(&proven), [said("user_approved", "wallet")]);
    assert!(proven.contains(&Effect::ClearOutbox) && !proven.contains(&Effect::Finish), "{proven:?}");
    assert_eq!(login.state(), LoginState::Proven { main_key, method: LoginMethod::Wallet, at: NOW });
    assert!(login.has_code() && login.requested_key().is_none());

    let later = seconds(299);
    let (redeemed, got) = login.redeem(later).unwrap();
    assert_eq!(redeemed, LoginRedeemed { main_key, method: LoginMethod::Wallet });
    let approved = json!({
        "status": "approved", "main_key": main_key.to_hex(), "method": "wallet",
        "granted_permissions": ["x"], "session_token": "s",
    });
    assert_eq!(events(&got), [("StatusUpdate", approved)]);
    assert_eq!(got.last(), Some(&Effect::Finish));
    assert_eq!(login.state(), LoginState::Approved { main_key, method: LoginMethod::Wallet, at: NOW });
    assert_eq!(login.wake_at(), None);
    assert_eq!(login.redeem(later), Err(RedeemFault::Redeemed));
}

#[test]
fn extension_and_remote_signer_are_redeemed_too() {
    let challenge = LoginChallenge { url: "https://shop.example/login/7".to_owned(), challenge: "c".to_owned() };
    let mut by_signer = returning();
    by_signer.ask_signer(signer_session(1), challenge.clone(), None, NOW).unwrap();
    let proven = effects(by_signer.step(&signer_signed(1, 2, &challenge, NOW), NOW));
    assert_eq!(events(&proven), [handshake_event(2, &[]), said("user_approved", "signer")]);
    let mut by_extension = returning();
    let proven = by_extension.prove(user(2).public_key(), LoginMethod::Extension, NOW).unwrap();
    assert_eq!(events(&proven), [handshake_event(2, &[]), said("user_approved", "extension")]);
    for (mut login, method) in [(by_signer, LoginMethod::Signer), (by_extension, LoginMethod::Extension)] {
        let (redeemed, got) = login.redeem(NOW).unwrap();
        assert_eq!(redeemed, LoginRedeemed { main_key: user(2).public_key(), method });
        let approved = json!({
            "status": "approved", "main_key": user(2).public_key().to_hex(), "method": method.as_str(),
        });
        assert_eq!(events(&got), [("StatusUpdate", approved)]);
    }
}

#[test]
fn code_that_nobody_redeems_expires() {
    let (mut login, _) = by_wallet();
    let end = seconds(300);
    assert_eq!(login.wake_at(), Some(end));
    assert_eq!(login.step(&Input::Timer, seconds(299)), StepResult::Ignored);
    assert_eq!(login.clone().redeem(end), Err(RedeemFault::Expired), "also before the timer");
    let got = effects(login.step(&Input::Timer, end));
    let timeout = json!({ "status": "timeout", "reason": "the app did not redeem the code in time" });
    assert_eq!(events(&got), [("StatusUpdate", timeout)]);
    assert_eq!(got.last(), Some(&Effect::Finish));
    assert_eq!((login.state(), login.has_code()), (LoginState::Expired, false));
    assert_eq!(login.redeem(end), Err(RedeemFault::Expired));
}

#[test]
fn nothing_but_the_code_counts_after_the_approval() {
    let (mut login, _) = by_wallet();
    let before = login.clone();
    for late in [
        handshake(&user(2), "token", &[]),
        approval(user(1).public_key(), "challenge", None),
        Input::Resumed,
        Input::Signal(Signal::Close),
    ] {
        assert_eq!(login.step(&late, NOW), StepResult::Ignored, "{late:?}");
    }
    assert_eq!(login.prove(user(2).public_key(), LoginMethod::Extension, NOW), Err(LoginOver));
    assert_eq!(login.decline(NOW), Err(LoginOver));
    assert_eq!(login.make_room(), None);
    assert_eq!(login, before);
    // The page may be opened by its first browser now.
    login.bind("browser".to_owned());
    assert_eq!(login.browser(), Some("browser"));
}

#[test]
fn nothing_is_redeemed_that_is_not_approved_or_leads_nowhere() {
    let mut asking = returning();
    asking.step(&handshake(&user(1), "token", &[]), NOW);
    let mut declined = returning();
    declined.decline(NOW).unwrap();
    for mut login in [returning(), asking, declined] {
        assert!(login.needs_code() && !login.has_code());
        assert_eq!(login.redeem(NOW), Err(RedeemFault::NotApproved));
    }
    // Other protocols know the browser themselves.
    let origin = LoginOrigin::Client { name: "Gitea".to_owned() };
    for mut login in [login(), Login { origin, ..returning() }] {
        login.prove(user(1).public_key(), LoginMethod::Extension, NOW).unwrap();
        assert!(matches!(login.state(), LoginState::Approved { .. }) && !login.needs_code() && !login.has_code());
    }
}

#[test]
fn login_at_a_reusable_login_names_its_user_at_the_end() {
    let stream = StreamId::from_parts(5, [0; 10]);
    let child_login = || Login { origin: LoginOrigin::Reusable { stream }, ..returning() };
    let told = |effects: &[Effect]| -> Vec<Value> {
        let told = effects.iter().filter_map(|effect| match effect {
            Effect::Signal(_, Signal::LoginEvent(event)) => Some(serde_json::from_str(&event.data).unwrap()),
            _ => None,
        });
        told.collect()
    };
    let mut redeemed = child_login();
    let main_key = user(1).public_key().to_hex();
    let got = redeemed.prove(user(1).public_key(), LoginMethod::Extension, NOW).unwrap();
    assert_eq!(told(&got)[1], json!({ "status": "user_approved", "method": "extension" }));
    let mut expired = redeemed.clone();
    let (_, got) = redeemed.redeem(NOW).unwrap();
    assert_eq!(told(&got), [json!({ "status": "approved", "main_key": main_key, "method": "extension" })]);
    let got = effects(expired.step(&Input::Timer, seconds(300)));
    let timeout = json!({
        "status": "timeout", "main_key": main_key, "method": "extension",
        "reason": "the app did not redeem the code in time",
    });
    assert_eq!(told(&got), [timeout]);
    let mut closed = child_login();
    closed.prove(user(1).public_key(), LoginMethod::Extension, NOW).unwrap();
    assert_eq!(effects(closed.step(&Input::Signal(Signal::Close), NOW)), [Effect::Finish]);
    assert_eq!(closed.redeem(NOW), Err(RedeemFault::Expired));
}
