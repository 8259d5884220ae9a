//! Tokens and challenges: they cannot be guessed, chosen by an unauthenticated peer, or used twice.

use futures_util::future::join_all;
use serde_json::json;
use usher_protocol::kind;

use super::{assert_silent, caught_up, service};
use crate::harness::{CallError, HandmadeWallet};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_can_guess_or_choose_one() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let handshakes = join_all((0..10).map(|_| api.handshake(json!({})))).await;
    let handshake = &handshakes[0];
    let token = handshake.url.token.as_str();
    let swapped: String =
        token.chars().map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect();
    let reversed: String = token.chars().rev().collect();
    let near = ["", &token[1..], &token[..31], &swapped, &reversed, &format!("{token} "), &format!("{token}\0")];
    for guess in near.into_iter().map(str::to_owned).chain((0..50).map(|n| format!("{n:032}"))) {
        let mut url = handshake.url.clone();
        url.token = guess;
        relay.inject(HandmadeWallet::new().handshake(&url));
    }
    // What is a token is no challenge.
    let user = HandmadeWallet::new();
    relay.inject(user.approval(usher.public_key(), token, None));
    caught_up(&api, &relay).await;
    for handshake in &handshakes {
        assert_silent(&api, &handshake.stream, "guesses").await;
    }

    // What a caller cannot choose is not taken from a caller.
    let chosen = json!({"token": "chosen", "challenge": "chosen", "stream_id": "chosen", "url": "chosen"});
    let handshake = api.handshake(chosen.clone()).await;
    assert!(handshake.url.token != "chosen" && handshake.stream != "chosen");
    let mut body = json!({"main_key": user.public_key().to_hex(), "subkeys": []});
    body.as_object_mut().unwrap().extend(chosen.as_object().unwrap().clone());
    api.post("/authenticate-key", &body).await.unwrap();
    let (challenge, _) = user.challenged(&relay).await;
    assert!(challenge.challenge != "chosen" && challenge.challenge.len() >= 32);
    // A single-use token cannot be made a reusable one.
    match api.try_handshake(&json!({"static_token": handshake.url.token})).await {
        Err(CallError::Status(422, problem)) => assert_eq!(problem["errors"][0]["pointer"], "/static_token"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_tells_nothing_about_the_challenge() {
    let (relay, usher) = service().await;
    let (api, service) = (usher.api(), usher.public_key());
    let (user, thief) = (HandmadeWallet::new(), HandmadeWallet::new());
    // The thief sees the QR code, and the user is quicker; the thief sees every event, too.
    let handshake = api.handshake(json!({})).await;
    relay.inject(user.handshake(&handshake.url));
    api.outcome(&handshake.stream).await;
    let stream = api.authenticate(&user.public_key(), &[]).await;
    let (challenge, event) = user.challenged(&relay).await;
    assert!(!event.content.contains(&challenge.challenge), "it travels encrypted");
    for guess in [handshake.url.token.as_str(), stream.as_str(), &event.id.to_hex(), ""] {
        for handmade in [&thief, &user] {
            relay.inject(handmade.approval(service, guess, None));
        }
    }
    // Nor does it help to send the service's own words back to it.
    let mut echo = event.clone();
    echo.kind = nostr::Kind::from_u16(kind::AUTH_RESPONSE);
    relay.inject(echo);
    caught_up(&api, &relay).await;
    assert_silent(&api, &stream, "guesses").await;
    relay.inject(user.approval(service, &challenge.challenge, None));
    assert_eq!(api.outcome(&stream).await.status(), "approved");
}
