//! Tokens and challenges: they cannot be guessed, chosen by an unauthenticated peer, or used twice.

use std::collections::HashSet;

use futures_util::future::join_all;
use serde_json::json;
use usher_protocol::kind;

use super::{assert_silent, caught_up, service};
use crate::harness::{CallError, HandmadeWallet, LONG};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_race_for_a_single_use_token_has_one_winner() {
    let (relay, usher) = service().await;
    let api = usher.api();
    for _ in 0..5 {
        let handshake = api.handshake(json!({})).await;
        let racers: Vec<_> = (0..8).map(|_| HandmadeWallet::new()).collect();
        let events: Vec<_> = racers.iter().map(|racer| racer.handshake(&handshake.url)).collect();
        events.into_iter().for_each(|event| relay.inject(event));
        let event = api.outcome(&handshake.stream).await;
        assert_eq!(event.main_key(), racers[0].public_key().to_hex(), "who came first");
        caught_up(&api, &relay).await;
        assert_eq!(api.events(&handshake.stream).await, (vec![event], true));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_used_token_is_worth_nothing() {
    let (relay, mut usher) = service().await;
    let api = usher.api();
    let handshake = api.handshake(json!({})).await;
    let user = HandmadeWallet::new();
    relay.inject(user.handshake(&handshake.url));
    let first = api.outcome(&handshake.stream).await;
    for crash in [false, true] {
        if crash {
            let reqs = relay.metrics().reqs;
            usher.restart().await;
            relay.wait_for(LONG, |metrics| metrics.reqs > reqs).await.expect("the service subscribes again");
        }
        relay.inject(HandmadeWallet::new().handshake(&handshake.url));
        relay.inject(user.handshake(&handshake.url));
        caught_up(&api, &relay).await;
        assert_eq!(api.events(&handshake.stream).await, (vec![first.clone()], true));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_can_guess_or_choose_one() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let handshakes = join_all((0..300).map(|_| api.handshake(json!({})))).await;
    let tokens: HashSet<_> = handshakes.iter().map(|handshake| handshake.url.token.clone()).collect();
    assert_eq!(tokens.len(), handshakes.len());
    for token in &tokens {
        // 32 of 62 characters are 190 bits.
        assert!(token.len() >= 32 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{token}");
    }
    // Every position varies: no part of a token is a counter or the time.
    for position in 0..32 {
        let seen: HashSet<_> = tokens.iter().map(|token| token.as_bytes()[position]).collect();
        assert!(seen.len() > 30, "position {position} has {} values", seen.len());
    }

    let handshake = &handshakes[0];
    let token = handshake.url.token.as_str();
    let swapped: String =
        token.chars().map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect();
    let reversed: String = token.chars().rev().collect();
    let near = ["", &token[1..], &token[..31], &swapped, &reversed, &format!("{token} "), &format!("{token}\0")];
    for guess in near.into_iter().map(str::to_owned).chain((0..200).map(|n| format!("{n:032}"))) {
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
