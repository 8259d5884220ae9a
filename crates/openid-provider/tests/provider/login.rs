//! A login from the app's link to its code.

use std::time::Duration;

use serde_json::json;
use usher_openid_provider::LoginOutcome;

use crate::fixture::{CALLBACK, Fixture, ISSUER, NOW, authorize_with, claims, user};

#[tokio::test]
async fn user_logs_in_agrees_once_and_later_passes_at_once() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let begun = browser.get(&fixture, &authorize_with(&[])).await;
    assert_eq!((begun.status, begun.location()), (303, "https://login.example/usher/login/login-1"));
    assert_eq!(fixture.logins.begun.lock()[0].client_name, "The <shop>");
    let back = fixture.login_return();
    // Too early: back to the login page.
    assert_eq!(browser.get(&fixture, &back).await.location(), begun.location());
    fixture.approve(1);
    let asked = browser.get(&fixture, &back).await;
    assert!(asked.location().starts_with("/usher/oauth/consent?request="), "{asked:?}");
    assert!(fixture.logins.kept.lock().is_empty(), "a used login leaves nothing");
    let code = browser.allow(&fixture, &asked).await;
    let tokens = fixture.redeem(&code).await.json();
    assert_eq!((&tokens["token_type"], &tokens["scope"]), (&"Bearer".into(), &"openid".into()));
    assert!(tokens["refresh_token"].is_null(), "nobody asked for it");
    let id_token = claims(tokens["id_token"].as_str().unwrap());
    let now = NOW.secs();
    let expected = json!({
        "iss": ISSUER, "sub": user(1).to_hex(), "aud": "shop", "nonce": "the nonce", "iat": now, "exp": now + 3600,
        "auth_time": now, "amr": ["extension"], "at_hash": id_token["at_hash"],
    });
    assert_eq!(id_token, expected);

    // The second time there is nothing to ask.
    let again = browser.get(&fixture, &authorize_with(&[("state", "another & state")])).await;
    assert!(again.location().starts_with(&format!("{CALLBACK}?code=")), "{again:?}");
    let told = ["state", "iss"].map(|name| again.parameter(name).unwrap());
    assert_eq!(told, ["another & state", ISSUER]);
    let second = fixture.redeem(&again.parameter("code").unwrap()).await.json();
    assert_ne!(claims(second["id_token"].as_str().unwrap())["at_hash"], id_token["at_hash"]);
    assert_eq!(fixture.logins.begun.lock().len(), 1);
    let code = fixture.next_code(&mut browser, &[("nonce", "")]).await;
    assert!(claims(&fixture.redeem(&code).await.token("id_token"))["nonce"].is_null());
}

#[tokio::test]
async fn refusals_timeouts_and_floods_are_told_to_the_app() {
    let fixture = Fixture::start().await;
    for outcome in [LoginOutcome::Declined, LoginOutcome::TimedOut] {
        let mut browser = fixture.browser();
        browser.get(&fixture, &authorize_with(&[])).await;
        fixture.decide(outcome);
        let back = fixture.login_return();
        let reply = browser.get(&fixture, &back).await;
        assert!(reply.location().starts_with(&format!("{CALLBACK}?error=access_denied&")), "{reply:?}");
        assert_eq!(reply.parameter("state").as_deref(), Some("the state"));
        assert_eq!(reply.parameter("iss").as_deref(), Some(ISSUER));
        browser.get(&fixture, &back).await.is_page(404);
        assert!(fixture.logins.kept.lock().is_empty(), "a used login leaves nothing");
    }
    // A redirect URI with a query keeps it.
    let uri = "https://shop.example/other?tenant=1";
    let reply = fixture.browser().get(&fixture, &authorize_with(&[("redirect_uri", uri), ("prompt", "none")])).await;
    assert!(reply.location().starts_with(&format!("{uri}&error=login_required&")), "{reply:?}");
    *fixture.logins.busy.lock() = true;
    let reply = fixture.browser().get(&fixture, &authorize_with(&[])).await;
    reply.is_error("temporarily_unavailable");
}

/// `response_mode=form_post`, which ASP.NET requests: the response is a form that the browser posts, also for errors.
#[tokio::test]
async fn response_can_be_a_form() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let form = [("response_mode", "form_post"), ("state", "a \"<state>\" & more")];
    let is_form = |page: &crate::fixture::Reply, field: &str| {
        page.is_page(200);
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("form-action https: http:;") && policy.contains("script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("'self'") && !policy.contains("unsafe"), "{policy}");
        for text in [
            &format!("<form method=\"post\" action=\"{CALLBACK}\">"),
            &format!("<input type=\"hidden\" name=\"{field}\" value=\""),
            "name=\"state\" value=\"a &#34;&#60;state&#62;&#34; &#38; more\">",
            &format!("name=\"iss\" value=\"{ISSUER}\">"),
            "<script>document.forms[0].submit()</script>",
        ] {
            assert!(page.body.contains(text), "{text}: {}", page.body);
        }
    };
    let silent = [&form[..], &[("prompt", "none")]].concat();
    is_form(&browser.get(&fixture, &authorize_with(&silent)).await, "error");
    let wrong = [&form[..], &[("response_type", "token")]].concat();
    is_form(&browser.get(&fixture, &authorize_with(&wrong)).await, "error");
    let asked = fixture.log_in(&mut browser, 1, &form).await;
    let request = asked.parameter("request").unwrap();
    let allow = [("request", request.as_str()), ("decision", "allow")];
    is_form(&browser.post(&fixture, "/usher/oauth/consent", &allow).await, "code");
    // With a session, and after another login.
    is_form(&browser.get(&fixture, &authorize_with(&form)).await, "code");
    let mut other = fixture.browser();
    let page = fixture.log_in(&mut other, 1, &form).await;
    is_form(&page, "code");
    let code = page.body.split("name=\"code\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(fixture.redeem(code).await.status, 200);
}

/// Also when the user has to log in first, or takes another account.
#[tokio::test]
async fn client_that_wants_the_user_to_be_asked_has_the_user_asked() {
    let fixture = Fixture::start().await;
    fixture.code(&mut fixture.browser()).await;
    let mut browser = fixture.browser();
    let asked = fixture.log_in(&mut browser, 1, &[("prompt", "login consent")]).await;
    assert!(asked.location().starts_with("/usher/oauth/consent?"), "{asked:?}");
    let request = asked.parameter("request").unwrap();
    browser.post(&fixture, "/usher/oauth/consent", &[("request", &request), ("decision", "other")]).await;
    fixture.approve(1);
    let asked = browser.get(&fixture, &fixture.login_return()).await;
    browser.allow(&fixture, &asked).await;
    let again = browser.get(&fixture, &authorize_with(&[])).await;
    assert!(again.parameter("code").is_some(), "{again:?}");
}

#[tokio::test]
async fn session_and_its_age_decide_whether_a_login_is_needed() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let none = [("prompt", "none")];
    browser.get(&fixture, &authorize_with(&none)).await.is_error("login_required");
    let id_token = fixture.id_token(&mut browser).await;
    fixture.next_code(&mut browser, &none).await;
    let more = [("prompt", "none"), ("scope", "openid email")];
    browser.get(&fixture, &authorize_with(&more)).await.is_error("consent_required");
    let hint = [("prompt", "none"), ("id_token_hint", id_token.as_str())];
    fixture.next_code(&mut browser, &hint).await;
    let forged = format!("{}x", &id_token[..id_token.len() - 1]);
    let hint = [("prompt", "none"), ("id_token_hint", forged.as_str())];
    browser.get(&fixture, &authorize_with(&hint)).await.is_error("invalid_request");

    fixture.clock.turn(Duration::from_secs(100));
    for (name, value, is_enough) in [
        ("max_age", "100", true),
        ("max_age", "99", false),
        ("max_age", "0", false),
        ("prompt", "login", false),
        ("prompt", "select_account", false),
    ] {
        let reply = browser.get(&fixture, &authorize_with(&[(name, value)])).await;
        assert_eq!(reply.parameter("code").is_some(), is_enough, "{name}={value}: {reply:?}");
        assert_eq!(reply.location().starts_with("https://login.example/usher/login/"), !is_enough);
    }
    let asked = browser.get(&fixture, &authorize_with(&[("prompt", "consent")])).await;
    assert!(asked.location().starts_with("/usher/oauth/consent?"));

    // Somebody else is expected.
    let mut other = fixture.browser();
    fixture.log_in(&mut other, 2, &[]).await;
    let hint = [("prompt", "none"), ("id_token_hint", id_token.as_str())];
    other.get(&fixture, &authorize_with(&hint)).await.is_error("login_required");
    // A login by another user than the one in the hint is refused.
    let reply = fixture.log_in(&mut other, 2, &[hint[1]]).await;
    assert!(reply.location().starts_with(&format!("{CALLBACK}?error=login_required&")), "{reply:?}");
    let reply = fixture.log_in(&mut other, 1, &[hint[1]]).await;
    assert!(reply.parameter("code").is_some(), "{reply:?}");

    fixture.clock.turn(Duration::from_secs(8 * 3600));
    browser.get(&fixture, &authorize_with(&none)).await.is_error("login_required");
}

#[tokio::test]
async fn login_continues_after_a_restart_at_every_step() {
    let mut fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    browser.get(&fixture, &authorize_with(&[("scope", "openid offline_access")])).await;
    fixture.restart().await;
    fixture.approve(1);
    let asked = browser.get(&fixture, &fixture.login_return()).await;
    fixture.restart().await;
    let code = browser.allow(&fixture, &asked).await;
    fixture.restart().await;
    let tokens = fixture.redeem(&code).await;
    fixture.restart().await;
    assert_eq!(fixture.userinfo(&tokens.token("access_token")).await.status, 200);
    let refreshed = fixture.refresh(&tokens.token("refresh_token")).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    fixture.restart().await;
    fixture.next_code(&mut browser, &[]).await;
    assert_eq!(fixture.redeem(&code).await.status, 400, "used before the restarts");
    // The second use has revoked it.
    assert_eq!(fixture.userinfo(&refreshed.token("access_token")).await.status, 401);
}

/// Anybody can begin logins: those that make room for others leave nothing.
#[tokio::test]
async fn request_of_a_login_that_made_room_is_removed() {
    let fixture = Fixture::start().await;
    let (mut first, mut second) = (fixture.browser(), fixture.browser());
    first.get(&fixture, &authorize_with(&[])).await;
    let gone = fixture.login_return();
    fixture.approve(1);
    *fixture.logins.replaced.lock() = vec![gone.clone(), format!("{ISSUER}/oauth/login-return"), "x".to_owned()];
    let begun = second.get(&fixture, &authorize_with(&[])).await;
    assert!(begun.location().ends_with("/login/login-2"), "{begun:?}");
    first.get(&fixture, &gone).await.is_page(404);
    fixture.approve(2);
    assert!(second.get(&fixture, &fixture.login_return()).await.location().contains("/oauth/consent?"));
}

/// `HEAD`, what browsers load in advance, and what no user sees.
#[tokio::test]
async fn who_only_looks_at_an_address_begins_and_ends_nothing() {
    let fixture = Fixture::start().await;
    let send = async |method: &str, path: &str, cookies: &str, headers: &[(&str, &str)]| {
        let path = path.strip_prefix(ISSUER).or(path.strip_prefix("/usher")).unwrap_or(path);
        let request = http::Request::builder().method(method).uri(path).header("cookie", cookies);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        fixture.send(request.body(axum::body::Body::empty()).unwrap()).await
    };
    let glances: [(&str, &[(&str, &str)]); 3] =
        [("HEAD", &[]), ("GET", &[("sec-purpose", "prefetch;prerender")]), ("GET", &[("purpose", "prefetch")])];
    for (method, headers) in glances {
        let reply = send(method, &authorize_with(&[]), "", headers).await;
        assert!(reply.status == 503 && !reply.headers.contains_key("set-cookie"), "{reply:?}");
    }
    // Of a script, an image or a frame: the app gets login_required.
    for destination in ["empty", "image", "iframe"] {
        let reply = send("GET", &authorize_with(&[]), "", &[("sec-fetch-dest", destination)]).await;
        reply.is_error("login_required");
    }
    assert!(fixture.logins.begun.lock().is_empty());

    let mut browser = fixture.browser();
    let begun = send("GET", &authorize_with(&[]), "", &[("sec-fetch-dest", "document")]).await;
    assert!(begun.location().ends_with("/login/login-1"), "{begun:?}");
    fixture.approve(1);
    for (method, headers) in glances {
        assert_eq!(send(method, &fixture.login_return(), "of_login-1=1", headers).await.status, 503);
    }
    browser.cookies.insert("of_login-1".to_owned(), "1".to_owned());
    let asked = browser.get(&fixture, &fixture.login_return()).await;
    let code = browser.allow(&fixture, &asked).await;
    let id_token = fixture.redeem(&code).await.token("id_token");
    let session = format!("__Host-usher_session={}", browser.cookies["__Host-usher_session"]);
    for (method, headers) in glances {
        let path = format!("/oauth/end-session?id_token_hint={id_token}");
        assert_eq!(send(method, &path, &session, headers).await.status, 503);
    }
    // Where nothing is to be shown, a frame gets its code.
    let silent = send("GET", &authorize_with(&[("prompt", "none")]), &session, &[("sec-fetch-dest", "iframe")]).await;
    assert!(silent.parameter("code").is_some(), "{silent:?}");
    assert_eq!(send("HEAD", "/oauth/jwks", "", &[]).await.status, 200);
}
