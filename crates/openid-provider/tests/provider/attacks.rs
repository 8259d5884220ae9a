//! What attackers try (RFC 9700 section 4), and what they get.

use std::time::Duration;

use axum::body::Body;
use http::Request;

use crate::fixture::{CALLBACK, Fixture, ISSUER, SECRET, VERIFIER, authorize_with, challenge};

/// A request with a redirect URI that is not the client's is never redirected, whatever its other parameters.
#[tokio::test]
async fn redirect_uris_are_compared_exactly() {
    let fixture = Fixture::start().await;
    const OTHERS: &str = "https://evil.example/callback https://shop.example/callback/ https://shop.example/callback?x=1 \
        https://shop.example/callback#x https://shop.example/callback/../evil https://shop.example/%63allback \
        https://SHOP.example/callback https://shop.example:443/callback https://shop.example@evil.example/callback \
        https://shop.example.evil.example/callback http://shop.example/callback https://spa.example/callback \
        https://shop.example/bye javascript:alert(1)";
    for uri in OTHERS.split_whitespace().chain(["", " https://shop.example/callback"]) {
        for prompt in ["", "none"] {
            let path = authorize_with(&[("redirect_uri", uri), ("prompt", prompt), ("scope", "nothing")]);
            fixture.browser().get(&fixture, &path).await.is_page(400);
        }
    }
    for client in ["", "nobody"] {
        let path = authorize_with(&[("client_id", client)]);
        fixture.browser().get(&fixture, &path).await.is_page(400);
    }
    for twice in ["redirect_uri=https%3A%2F%2Fevil.example%2F", "client_id=spa"] {
        let path = format!("{}&{twice}", authorize_with(&[]));
        fixture.browser().get(&fixture, &path).await.is_page(400);
    }
    assert!(fixture.logins.begun.lock().is_empty());
}

/// A native app listens on a port that it cannot know before (RFC 8252 section 7.3).
#[tokio::test]
async fn public_clients_have_any_port_of_loopback() {
    let fixture = Fixture::start().await;
    let begin = async |client: &str, uri: &str| {
        let path = authorize_with(&[("client_id", client), ("redirect_uri", uri)]);
        let mut browser = fixture.browser();
        (browser.get(&fixture, &path).await, browser)
    };
    for uri in
        ["http://127.0.0.1/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1:51004/cb", "http://[::1]:65535/cb?a=1"]
    {
        let (begun, mut browser) = begin("native", uri).await;
        assert!(begun.location().contains("/login/"), "{uri}: {begun:?}");
        fixture.approve(1);
        let asked = browser.get(&fixture, &fixture.login_return()).await;
        let code = match asked.parameter("code") {
            Some(code) => code,
            None => browser.allow(&fixture, &asked).await,
        };
        let other = fixture.redeem_as("native", None, &code, "http://127.0.0.1:2/cb", VERIFIER).await;
        other.refuses("invalid_grant");
        assert_eq!(fixture.redeem_as("native", None, &code, uri, VERIFIER).await.status, 200, "{uri}");
    }
    const OTHERS: &str = "http://127.0.0.1:0/cb http://127.0.0.1:65536/cb http://127.0.0.1:080/cb http://127.0.0.1:/cb \
        http://127.0.0.1:+80/cb http://127.0.0.1:80@evil.example/cb http://127.0.0.1.evil.example/cb \
        http://127.0.0.1:80/cb/ http://127.0.0.1:80/cb?a=1 http://127.0.0.2:80/cb http://[::1]:80/cb \
        https://127.0.0.1:80/cb http://localhost:80/cb";
    for uri in OTHERS.split_whitespace() {
        begin("native", uri).await.0.is_page(400);
    }
    // Not for an app with a secret, nor for the address of another kind.
    begin("server", "http://127.0.0.1:81/cb").await.0.is_page(400);
    assert!(begin("server", "http://127.0.0.1:80/cb").await.0.location().contains("/login/"));
    begin("native", "https://native.example:444/cb").await.0.is_page(400);
}

#[tokio::test]
async fn bad_requests_are_told_to_the_app_that_sent_them() {
    let fixture = Fixture::start().await;
    let long = "x".repeat(5_000);
    for (parameter, error) in [
        (("response_type", ""), "invalid_request"),
        (("response_type", "token"), "unsupported_response_type"),
        (("response_type", "id_token"), "unsupported_response_type"),
        (("response_type", "code id_token"), "unsupported_response_type"),
        (("response_mode", "fragment"), "invalid_request"),
        (("scope", ""), "invalid_scope"),
        (("scope", "profile"), "invalid_scope"),
        (("request", "eyJhbGciOiJub25lIn0.."), "request_not_supported"),
        (("request_uri", "https://evil.example/"), "request_uri_not_supported"),
        (("prompt", "none login"), "invalid_request"),
        (("prompt", "create"), "invalid_request"),
        (("max_age", "-1"), "invalid_request"),
        (("nonce", &*long), "invalid_request"),
        (("id_token_hint", "x.y.z"), "invalid_request"),
    ] {
        let reply = fixture.browser().get(&fixture, &authorize_with(&[parameter])).await;
        assert!(reply.location().starts_with(&format!("{CALLBACK}?error={error}&")), "{parameter:?}: {reply:?}");
        assert_eq!(reply.parameter("iss").as_deref(), Some(ISSUER), "mix-up (RFC 9207)");
        assert_eq!(reply.parameter("state").as_deref(), Some("the state"));
    }
    let twice = format!("{}&scope=openid", authorize_with(&[]));
    fixture.browser().get(&fixture, &twice).await.is_error("invalid_request");
}

/// PKCE cannot be left out, weakened, or added to a request that had none.
#[tokio::test]
async fn pkce_is_not_downgraded() {
    let fixture = Fixture::start().await;
    let upper = challenge().replace(['-', '_'], "+");
    for (challenge, method) in
        [("", "S256"), ("", ""), (&*challenge(), ""), (&challenge(), "plain"), ("short", "S256"), (&upper, "s256")]
    {
        let parameters = [("code_challenge", challenge), ("code_challenge_method", method)];
        fixture.browser().get(&fixture, &authorize_with(&parameters)).await.is_error("invalid_request");
    }
    let mut browser = fixture.browser();
    let code = fixture.code(&mut browser).await;
    let other = "another-verifier-another-verifier-another-verifier";
    for verifier in ["", &challenge(), other, &VERIFIER[1..], &"x".repeat(1_000)] {
        let reply = fixture.redeem_as("shop", Some(SECRET), &code, CALLBACK, verifier).await;
        reply.refuses("invalid_grant");
    }
    assert_eq!(fixture.redeem(&code).await.status, 200);

    // A client that need not use PKCE, and whose request an attacker has stripped of its challenge.
    let gitea = "gitea-secret-gitea-secret-gitea-sec";
    let callback = "https://gitea.example/callback";
    let no_challenge = [("code_challenge", ""), ("code_challenge_method", "")];
    let bare = [&no_challenge[..], &[("client_id", "gitea"), ("redirect_uri", callback)]].concat();
    let asked = browser.get(&fixture, &authorize_with(&bare)).await;
    let code = browser.allow(&fixture, &asked).await;
    let added = fixture.redeem_as("gitea", Some(gitea), &code, callback, VERIFIER).await;
    added.refuses("invalid_grant");
    assert_eq!(fixture.redeem_as("gitea", Some(gitea), &code, callback, "").await.status, 200);
}

/// A code is worth nothing to another client, for another address, late, or twice.
#[tokio::test]
async fn codes_cannot_be_injected_or_replayed() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let code = fixture.code(&mut browser).await;
    for (client, secret, uri) in [
        ("spa", None, CALLBACK),
        ("spa", None, "https://spa.example/callback"),
        ("gitea", Some("gitea-secret-gitea-secret-gitea-sec"), CALLBACK),
        ("shop", Some(SECRET), "https://shop.example/other?tenant=1"),
        ("shop", Some(SECRET), ""),
    ] {
        let reply = fixture.redeem_as(client, secret, &code, uri, VERIFIER).await;
        reply.refuses("invalid_grant");
    }
    let access = &*fixture.redeem(&code).await.token("access_token");
    assert_eq!(fixture.userinfo(access).await.status, 200);
    // Secrets of one kind are worth nothing as another.
    assert_eq!(fixture.userinfo(&code).await.status, 401);
    fixture.refresh(access).await.refuses("invalid_grant");
    fixture.redeem(access).await.refuses("invalid_grant");
    // The second use revokes the tokens of the first.
    fixture.redeem(&code).await.refuses("invalid_grant");
    assert_eq!(fixture.userinfo(access).await.status, 401);

    let late = fixture.next_code(&mut browser, &[]).await;
    fixture.clock.turn(Duration::from_secs(60));
    fixture.redeem(&late).await.refuses("invalid_grant");
}

/// The replay is noticed also when it comes after the code's time, and at the same time as the first use.
#[tokio::test]
async fn late_and_simultaneous_replays_revoke_the_tokens() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let code = fixture.code(&mut browser).await;
    let access = fixture.redeem(&code).await.token("access_token");
    fixture.clock.turn(Duration::from_secs(30 * 60));
    fixture.redeem(&code).await.refuses("invalid_grant");
    assert_eq!(fixture.userinfo(&access).await.status, 401);

    let code = fixture.next_code(&mut browser, &[]).await;
    let (a, b) = tokio::join!(fixture.redeem(&code), fixture.redeem(&code));
    let won: Vec<_> = [a, b].into_iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(fixture.userinfo(&won[0].token("access_token")).await.status, 401);
}

/// An attacker begins a login and sends its page, or its final redirect, to a victim.
#[tokio::test]
async fn login_of_another_browser_is_worth_nothing() {
    let fixture = Fixture::start().await;
    let (mut attacker, mut victim) = (fixture.browser(), fixture.browser());
    attacker.get(&fixture, &authorize_with(&[])).await;
    let back = fixture.login_return();
    fixture.approve(1);
    // The victim follows the attacker's link: it would log them in as the attacker.
    victim.get(&fixture, &back).await.is_page(403);
    assert!(victim.cookies.is_empty());
    // The attacker's own end makes a question that only the attacker's session can answer.
    let asked = attacker.get(&fixture, &back).await;
    victim.get(&fixture, asked.location()).await.is_page(403);
    let request = asked.parameter("request").unwrap();
    let form = [("request", request.as_str()), ("decision", "allow")];
    victim.post(&fixture, "/oauth/consent", &form).await.is_page(403);
    // Also when the victim has a session of their own.
    fixture.log_in(&mut victim, 2, &[]).await;
    victim.post(&fixture, "/oauth/consent", &form).await.is_page(403);
    // Nor does a form of another site, which is sent without cookies (`SameSite=Lax`), or one that is not whole.
    fixture.browser().post(&fixture, "/oauth/consent", &form).await.is_page(403);
    for form in [&[][..], &form[..1], &form[1..]] {
        let status = attacker.post(&fixture, "/oauth/consent", form).await.status;
        assert!(status / 100 == 4, "{form:?}");
    }
    assert_eq!(fixture.consents().await, []);
    let code = attacker.allow(&fixture, &asked).await;
    assert_eq!(fixture.redeem(&code).await.status, 200);
}

/// A session cookie placed into the browser before the login is not the session after it (session fixation).
#[tokio::test]
async fn session_is_not_fixed() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    browser.cookies.insert("__Host-usher_session".to_owned(), "placed-by-somebody".to_owned());
    fixture.code(&mut browser).await;
    let session = browser.cookies["__Host-usher_session"].clone();
    assert_ne!(session, "placed-by-somebody");
    fixture.log_in(&mut browser, 1, &[("prompt", "login")]).await;
    assert_ne!(browser.cookies["__Host-usher_session"], session, "each login makes a new one");
}

/// A request by POST becomes a GET, which has the cookies.
#[tokio::test]
async fn posted_requests_become_gets() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    fixture.code(&mut browser).await;
    let query = authorize_with(&[]);
    let body = query.split_once('?').unwrap().1.to_owned();
    let request = Request::post("/oauth/authorize").header("content-type", "application/x-www-form-urlencoded");
    let reply = fixture.send(request.body(Body::from(body)).unwrap()).await;
    assert_eq!(reply.status, 303);
    assert!(browser.get(&fixture, reply.location()).await.parameter("code").is_some());
}

/// Where a proxy or an app logs headers, the code is in none but the redirect's own.
#[tokio::test]
async fn secrets_are_stored_as_hashes_and_told_to_no_other_site() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let tokens = fixture.tokens(&mut browser).await;
    let database = fixture.database();
    let session = browser.cookies["__Host-usher_session"].as_str();
    for secret in [session, &tokens.token("access_token"), &tokens.token("refresh_token")] {
        assert!(!database.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
    let reply = browser.get(&fixture, &authorize_with(&[])).await;
    assert_eq!(reply.headers["referrer-policy"], "no-referrer");
    assert_eq!(reply.headers["cache-control"], "no-store");
}
