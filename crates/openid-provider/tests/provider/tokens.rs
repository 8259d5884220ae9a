//! The token endpoint and userinfo.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use serde_json::json;
use usher_engine::ports::OpenIdStore as _;
use usher_protocol::keys::npub;

use crate::fixture::{CALLBACK, Fixture, Reply, SECRET, VERIFIER, claims, encode, user};

#[tokio::test]
async fn userinfo_has_the_claims_of_the_scopes() {
    let fixture = Fixture::start().await;
    let tokens = fixture.tokens(&mut fixture.browser()).await;
    let access = &*tokens.token("access_token");
    let expected = json!({
        "sub": user(1).to_hex(), "email": format!("{}@users.example", user(1).to_hex()),
        "preferred_username": "alice_shop.example", "nip05": "alice@shop.example", "name": "alice",
        "nostr_npub": npub(&user(1)),
    });
    let reply = fixture.userinfo(access).await;
    assert_eq!(reply.json(), expected);
    assert_eq!(reply.headers["cache-control"], "no-store");
    let id_token = claims(&tokens.token("id_token"));
    assert_eq!(id_token["email"], expected["email"]);
    assert!(id_token["name"].is_null(), "the profile is in userinfo alone");
    // In the body (RFC 6750 section 2.2).
    let request = Request::post("/oauth/userinfo").header("content-type", "application/x-www-form-urlencoded");
    let reply = fixture.send(request.body(Body::from(encode(&[("access_token", access)]))).unwrap()).await;
    assert_eq!(reply.json(), expected);

    fixture.clock.turn(Duration::from_secs(3600));
    let reply = fixture.userinfo(access).await;
    assert_eq!(reply.status, 401);
    assert!(reply.headers["www-authenticate"].to_str().unwrap().contains("invalid_token"));
}

#[tokio::test]
async fn refresh_tokens_rotate_and_a_second_use_revokes_the_family() {
    let fixture = Fixture::start().await;
    let first = fixture.tokens(&mut fixture.browser()).await;
    fixture.clock.turn(Duration::from_secs(24 * 3600));
    let second = fixture.refresh(&first.token("refresh_token")).await;
    assert_ne!(first.token("refresh_token"), second.token("refresh_token"));
    let (before, after) = (claims(&first.token("id_token")), claims(&second.token("id_token")));
    assert_eq!((&after["sub"], &after["auth_time"]), (&before["sub"], &before["auth_time"]));
    assert!(after["nonce"].is_null());
    let access = &*second.token("access_token");
    assert_eq!(fixture.userinfo(access).await.status, 200);

    // A thief, or the victim of one, uses the first again.
    fixture.clock.turn(Duration::from_secs(10));
    fixture.refresh(&first.token("refresh_token")).await.refuses("invalid_grant");
    assert_eq!(fixture.userinfo(access).await.status, 401);
    fixture.refresh(&second.token("refresh_token")).await.refuses("invalid_grant");
}

/// What oauth2-proxy does: six requests of one browser refresh at the same time. All get the same tokens, also after a restart, so the
/// family does not fork.
#[tokio::test]
async fn parallel_refresh_gets_the_tokens_of_one_family() {
    let mut fixture = Fixture::start().await;
    let first = fixture.tokens(&mut fixture.browser()).await;
    let token = &*first.token("refresh_token");
    let refresh = || fixture.refresh(token);
    let (a, b, c, d, e, f) = tokio::join!(refresh(), refresh(), refresh(), refresh(), refresh(), refresh());
    let pair = |reply: &Reply| (reply.token("access_token"), reply.token("refresh_token"));
    for reply in [&b, &c, &d, &e, &f] {
        assert_eq!(pair(reply), pair(&a));
        assert_eq!(claims(&reply.token("id_token"))["sub"], claims(&first.token("id_token"))["sub"]);
    }
    let second = a;
    assert_ne!(second.token("refresh_token"), token);
    assert_eq!(fixture.userinfo(&second.token("access_token")).await.status, 200);
    // Another client has no part in it.
    let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
    fixture.token("spa", None, &form).await.refuses("invalid_grant");

    fixture.restart().await;
    fixture.clock.turn(Duration::from_millis(5_000));
    let again = fixture.refresh(token).await;
    assert_eq!((pair(&again), &again.json()["expires_in"]), (pair(&second), &json!(3_595)));
    // One of them goes on: the others get what it got.
    let third = fixture.refresh(&second.token("refresh_token")).await;
    fixture.clock.turn(Duration::from_millis(4_900));
    for old in [&first, &second] {
        assert_eq!(pair(&fixture.refresh(&old.token("refresh_token")).await), pair(&third));
    }

    // After the grace period, a reuse counts as theft.
    fixture.clock.turn(Duration::from_millis(100));
    fixture.refresh(token).await.refuses("invalid_grant");
    for revoked in [&second, &third] {
        assert_eq!(fixture.userinfo(&revoked.token("access_token")).await.status, 401);
        fixture.refresh(&revoked.token("refresh_token")).await.refuses("invalid_grant");
    }
}

#[tokio::test]
async fn refresh_token_that_was_revoked_within_the_grace_gives_nothing() {
    let fixture = Fixture::start().await;
    let first = fixture.tokens(&mut fixture.browser()).await;
    let token = &*first.token("refresh_token");
    assert_eq!(fixture.refresh(token).await.status, 200);
    assert!(fixture.store.revoke_openid_consent("shop", &user(1).to_hex()).await.unwrap());
    fixture.refresh(token).await.refuses("invalid_grant");
}

#[tokio::test]
async fn refresh_can_ask_for_less_but_not_for_more() {
    let fixture = Fixture::start().await;
    let few = fixture.code_for(&mut fixture.browser(), &[("scope", "openid offline_access groups")]).await;
    let few = fixture.redeem(&few).await;
    let refresh = async |of: &Reply, scope: &str| {
        let token = of.token("refresh_token");
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*token), ("scope", scope)];
        fixture.token("shop", Some(SECRET), &form).await
    };
    refresh(&few, "openid email groups").await.refuses("invalid_scope");
    assert_eq!(refresh(&few, "openid groups").await.token("scope"), "openid");
    // `groups` was ignored at the login.
    let all = fixture.tokens(&mut fixture.browser()).await;
    let less = refresh(&all, "email groups").await;
    assert!(less.token("scope") == "email" && less.json()["id_token"].is_null(), "{less:?}");
    let claims = fixture.userinfo(&less.token("access_token")).await.json();
    assert!(claims["name"].is_null() && claims["email"].is_string(), "{claims}");
    let all = refresh(&less, "openid profile").await;
    all.token("id_token");
    let all = refresh(&all, "groups").await;
    assert_eq!(all.token("scope"), "openid profile email offline_access");
    fixture.clock.turn(Duration::from_secs(30 * 24 * 3600));
    refresh(&all, "openid").await.refuses("invalid_grant");
}

/// Apps in a browser ask before they send their token or secret (CORS preflight).
#[tokio::test]
async fn what_apps_in_a_browser_read_answers_preflights() {
    let fixture = Fixture::start().await;
    for path in ["/.well-known/openid-configuration", "/oauth/jwks", "/oauth/token", "/oauth/userinfo"] {
        let request = Request::options(path).header("origin", "https://spa.example");
        let reply = fixture.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.status, 204, "{path}");
        assert_eq!(reply.headers["access-control-allow-origin"], "*");
        assert!(reply.headers["access-control-allow-headers"].to_str().unwrap().contains("authorization"));
        assert!(reply.headers["access-control-allow-methods"].to_str().unwrap().contains("POST"));
    }
}

#[tokio::test]
async fn clients_authenticate_in_every_standard_way() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let code = fixture.code(&mut browser).await;
    let post = |more: &[(&str, &str)], header: Option<&str>| {
        let grant = [("grant_type", "authorization_code"), ("redirect_uri", CALLBACK), ("code_verifier", VERIFIER)];
        let form = encode(&[&grant[..], &[("code", &*code)], more].concat());
        let request = Request::post("/oauth/token").header("content-type", "application/x-www-form-urlencoded");
        let request = header.into_iter().fold(request, |request, header| request.header("authorization", header));
        fixture.send(request.body(Body::from(form)).unwrap())
    };
    for (more, header, status, error) in [
        (&[][..], None, 401, "invalid_client"),
        (&[("client_id", "shop")][..], None, 401, "invalid_client"),
        (&[("client_id", "shop"), ("client_secret", "wrong")][..], None, 401, "invalid_client"),
        (&[("client_id", "spa"), ("client_secret", "any")][..], None, 401, "invalid_client"),
        (&[("client_id", "nobody"), ("client_secret", SECRET)][..], None, 401, "invalid_client"),
        (&[("client_id", "shop"), ("client_secret", SECRET)][..], Some("Basic c2hvcDp4"), 400, "invalid_request"),
        (&[("client_id", "spa")][..], Some("Basic c2hvcDp4"), 400, "invalid_request"),
        (&[][..], Some("Basic c2hvcDp4"), 401, "invalid_client"),
        (&[][..], Some("Basic %%%"), 401, "invalid_client"),
        (&[][..], Some("Bearer x"), 401, "invalid_client"),
        (&[("client_id", "shop"), ("client_id", "shop")][..], None, 400, "invalid_request"),
        // The right one, of another client.
        (&[("client_id", "spa")][..], None, 400, "invalid_grant"),
    ] {
        let reply = post(more, header).await;
        assert_eq!((reply.status, &reply.json()["error"]), (status, &json!(error)), "{more:?} {header:?}");
        assert_eq!(reply.headers.contains_key("www-authenticate"), status == 401);
        assert_eq!(reply.headers["cache-control"], "no-store");
    }
    let reply = post(&[("client_id", "shop"), ("client_secret", SECRET)], None).await;
    assert_eq!(reply.status, 200, "no attempt above has used the code up: {reply:?}");
}

#[tokio::test]
async fn bad_token_requests_are_named() {
    let fixture = Fixture::start().await;
    for (form, error) in [
        (&[][..], "invalid_request"),
        (&[("grant_type", "password"), ("username", "a"), ("password", "b")][..], "unsupported_grant_type"),
        (&[("grant_type", "client_credentials")][..], "unsupported_grant_type"),
        (&[("grant_type", "authorization_code")][..], "invalid_request"),
        (&[("grant_type", "authorization_code"), ("code", "x")][..], "invalid_grant"),
        (&[("grant_type", "refresh_token")][..], "invalid_request"),
        (&[("grant_type", "refresh_token"), ("refresh_token", "x")][..], "invalid_grant"),
        (&[("grant_type", "refresh_token"), ("grant_type", "refresh_token")][..], "invalid_request"),
    ] {
        let reply = fixture.token("shop", Some(SECRET), form).await;
        assert_eq!((reply.status, &reply.json()["error"]), (400, &json!(error)), "{form:?}");
    }
    let json = Request::post("/oauth/token").header("content-type", "application/json").body(Body::from("{}"));
    fixture.send(json.unwrap()).await.refuses("invalid_request");
}
