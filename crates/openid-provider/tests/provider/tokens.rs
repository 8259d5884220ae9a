//! The token endpoint and userinfo.

use std::time::Duration;

use axum::body::Body;
use http::{Request, StatusCode};
use serde_json::json;
use usher_engine::ports::OpenIdStore as _;
use usher_protocol::keys::npub;

use crate::fixture::{CALLBACK, Fixture, SECRET, VERIFIER, authorize_with, claims, encode, user};

#[tokio::test]
async fn userinfo_has_the_claims_of_the_scopes() {
    let fixture = Fixture::start().await;
    let tokens = fixture.tokens(&mut fixture.browser()).await;
    let access = tokens["access_token"].as_str().unwrap();
    let expected = json!({
        "sub": user(1).to_hex(), "email": format!("{}@users.example", user(1).to_hex()),
        "preferred_username": "alice_shop.example", "nip05": "alice@shop.example", "name": "alice",
        "nostr_npub": npub(&user(1)),
    });
    let reply = fixture.userinfo(access).await;
    assert_eq!(reply.json(), expected);
    assert_eq!(reply.headers["cache-control"], "no-store");
    let id_token = claims(tokens["id_token"].as_str().unwrap());
    assert_eq!(id_token["email"], expected["email"]);
    assert!(id_token["name"].is_null(), "the profile is in userinfo alone");
    // In the body (RFC 6750 section 2.2).
    let request = Request::post("/oauth/userinfo").header("content-type", "application/x-www-form-urlencoded");
    let reply = fixture.send(request.body(Body::from(encode(&[("access_token", access)]))).unwrap()).await;
    assert_eq!(reply.json(), expected);

    fixture.clock.turn(Duration::from_secs(3600));
    let reply = fixture.userinfo(access).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    assert!(reply.headers["www-authenticate"].to_str().unwrap().contains("invalid_token"));
}

#[tokio::test]
async fn unreachable_relays_leave_the_claims_of_the_key() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    browser.get(&fixture, &authorize_with(&[("scope", "openid profile")])).await;
    fixture.approve(2);
    let asked = browser.get(&fixture, &fixture.login_return()).await;
    let code = browser.allow(&fixture, &asked).await;
    let tokens = fixture.redeem(&code).await.json();
    let username: String = npub(&user(2)).chars().take(40).collect();
    assert_eq!(
        fixture.userinfo(tokens["access_token"].as_str().unwrap()).await.json(),
        json!({ "sub": user(2).to_hex(), "preferred_username": username, "nostr_npub": npub(&user(2)) })
    );
}

#[tokio::test]
async fn refresh_tokens_rotate_and_a_second_use_revokes_the_family() {
    let fixture = Fixture::start().await;
    let first = fixture.tokens(&mut fixture.browser()).await;
    fixture.clock.turn(Duration::from_secs(24 * 3600));
    let reply = fixture.refresh(first["refresh_token"].as_str().unwrap()).await;
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    let second = reply.json();
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    let (before, after) = (claims(first["id_token"].as_str().unwrap()), claims(second["id_token"].as_str().unwrap()));
    assert_eq!((&after["sub"], &after["auth_time"]), (&before["sub"], &before["auth_time"]));
    assert!(after["nonce"].is_null());
    let access = second["access_token"].as_str().unwrap();
    assert_eq!(fixture.userinfo(access).await.status, StatusCode::OK);

    // A thief, or the victim of one, uses the first again.
    fixture.clock.turn(Duration::from_secs(10));
    assert_eq!(fixture.refresh(first["refresh_token"].as_str().unwrap()).await.json()["error"], "invalid_grant");
    assert_eq!(fixture.userinfo(access).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(fixture.refresh(second["refresh_token"].as_str().unwrap()).await.json()["error"], "invalid_grant");
}

/// What oauth2-proxy does: six requests of one browser refresh at the same time. All get the same tokens, also after a restart, so the
/// family does not fork.
#[tokio::test]
async fn parallel_refresh_gets_the_tokens_of_one_family() {
    let mut fixture = Fixture::start().await;
    let first = fixture.tokens(&mut fixture.browser()).await;
    let token = first["refresh_token"].as_str().unwrap();
    let refresh = || fixture.refresh(token);
    let (a, b, c, d, e, f) = tokio::join!(refresh(), refresh(), refresh(), refresh(), refresh(), refresh());
    let second = a.json();
    for reply in [a, b, c, d, e, f] {
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        for name in ["access_token", "refresh_token", "scope", "token_type"] {
            assert_eq!(reply.json()[name], second[name]);
        }
        let (claims, first) = (claims(reply.json()["id_token"].as_str().unwrap()), &first["id_token"]);
        assert_eq!(claims["sub"], crate::fixture::claims(first.as_str().unwrap())["sub"]);
    }
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    let access = second["access_token"].as_str().unwrap().to_owned();
    assert_eq!(fixture.userinfo(&access).await.status, StatusCode::OK);
    // Another client has no part in it.
    let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
    assert_eq!(fixture.token("spa", None, &form).await.json()["error"], "invalid_grant");

    fixture.restart().await;
    fixture.clock.turn(Duration::from_millis(5_000));
    let again = fixture.refresh(token).await.json();
    assert_eq!((&again["access_token"], &again["refresh_token"]), (&second["access_token"], &second["refresh_token"]));
    assert_eq!(again["expires_in"], 3_595);
    // One of them goes on: the others get what it got.
    let third = fixture.refresh(second["refresh_token"].as_str().unwrap()).await.json();
    fixture.clock.turn(Duration::from_millis(4_900));
    for old in [&first, &second] {
        let newest = fixture.refresh(old["refresh_token"].as_str().unwrap()).await.json();
        assert_eq!(
            (&newest["access_token"], &newest["refresh_token"]),
            (&third["access_token"], &third["refresh_token"])
        );
    }

    // Later it is somebody who should not have it.
    fixture.clock.turn(Duration::from_millis(100));
    assert_eq!(fixture.refresh(token).await.json()["error"], "invalid_grant");
    for revoked in [&second, &third] {
        let access = revoked["access_token"].as_str().unwrap();
        assert_eq!(fixture.userinfo(access).await.status, StatusCode::UNAUTHORIZED);
        let refresh = revoked["refresh_token"].as_str().unwrap();
        assert_eq!(fixture.refresh(refresh).await.json()["error"], "invalid_grant");
    }
}

#[tokio::test]
async fn refresh_token_that_was_revoked_within_the_grace_gives_nothing() {
    let fixture = Fixture::start().await;
    let first = fixture.tokens(&mut fixture.browser()).await;
    let token = first["refresh_token"].as_str().unwrap();
    assert_eq!(fixture.refresh(token).await.status, StatusCode::OK);
    assert!(fixture.store.revoke_openid_consent("shop", &user(1).to_hex()).await.unwrap());
    assert_eq!(fixture.refresh(token).await.json()["error"], "invalid_grant");
}

#[tokio::test]
async fn refresh_can_ask_for_less_but_not_for_more() {
    let fixture = Fixture::start().await;
    let few = fixture.code_for(&mut fixture.browser(), &[("scope", "openid offline_access groups")]).await;
    let few = fixture.redeem(&few).await.json();
    let tokens = fixture.tokens(&mut fixture.browser()).await;
    let token = tokens["refresh_token"].as_str().unwrap();
    let refresh = |scope: &'static str, token: String| {
        let fixture = &fixture;
        async move {
            let form = [("grant_type", "refresh_token"), ("refresh_token", token.as_str()), ("scope", scope)];
            fixture.token("shop", Some(SECRET), &form).await.json()
        }
    };
    let few = few["refresh_token"].as_str().unwrap();
    assert_eq!(refresh("openid email groups", few.to_owned()).await["error"], "invalid_scope");
    assert_eq!(refresh("openid groups", few.to_owned()).await["scope"], "openid");
    // `groups` was ignored at the login.
    let less = refresh("email groups", token.to_owned()).await;
    assert_eq!(less["scope"], "email");
    assert!(less["id_token"].is_null(), "{less}");
    let claims = fixture.userinfo(less["access_token"].as_str().unwrap()).await.json();
    assert!(claims["name"].is_null() && claims["email"].is_string(), "{claims}");
    let all = refresh("openid profile", less["refresh_token"].as_str().unwrap().to_owned()).await;
    assert!(all["id_token"].is_string(), "{all}");
    let all = refresh("groups", all["refresh_token"].as_str().unwrap().to_owned()).await;
    assert_eq!(all["scope"], "openid profile email offline_access");
    fixture.clock.turn(Duration::from_secs(30 * 24 * 3600));
    assert_eq!(refresh("openid", all["refresh_token"].as_str().unwrap().to_owned()).await["error"], "invalid_grant");
}

/// Apps in a browser ask before they send their token or secret (CORS preflight).
#[tokio::test]
async fn what_apps_in_a_browser_read_answers_preflights() {
    let fixture = Fixture::start().await;
    for path in ["/.well-known/openid-configuration", "/oauth/jwks", "/oauth/token", "/oauth/userinfo"] {
        let request = Request::options(path).header("origin", "https://spa.example");
        let reply = fixture.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT, "{path}");
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
    let form = |code: &str, more: &[(&'static str, &'static str)]| {
        let mut form = vec![
            ("grant_type".to_owned(), "authorization_code".to_owned()),
            ("code".to_owned(), code.to_owned()),
            ("redirect_uri".to_owned(), CALLBACK.to_owned()),
            ("code_verifier".to_owned(), VERIFIER.to_owned()),
        ];
        form.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        form
    };
    let post = |form: Vec<(String, String)>, header: Option<&'static str>| {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request = Request::post("/oauth/token").header("content-type", "application/x-www-form-urlencoded");
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
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
        let reply = post(form(&code, more), header).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["error"]), (status, &json!(error)), "{more:?} {header:?}");
        assert_eq!(reply.headers.contains_key("www-authenticate"), status == 401);
        assert_eq!(reply.headers["cache-control"], "no-store");
    }
    let reply = post(form(&code, &[("client_id", "shop"), ("client_secret", SECRET)]), None).await;
    assert_eq!(reply.status, StatusCode::OK, "no attempt above has used the code up: {reply:?}");
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
        assert_eq!((reply.status, &reply.json()["error"]), (StatusCode::BAD_REQUEST, &json!(error)), "{form:?}");
    }
    let json = Request::post("/oauth/token").header("content-type", "application/json").body(Body::from("{}"));
    assert_eq!(fixture.send(json.unwrap()).await.json()["error"], "invalid_request");
}
