//! A login from the first request to the last, and the behavior that all paths share.

use serde_json::{Value, json};

use crate::app::{TOKEN, TestApp, key, pointers, read, token_of};

#[tokio::test]
async fn health_and_version() {
    let app = TestApp::start().await;
    let response = app.http.get(app.url("/health")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.text().await.unwrap(), "OK");
    let response = app.get("/version").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    insta::assert_snapshot!(response.text().await.unwrap(), @r#"{"version":"1.2.3","commit":"abcdef0"}"#);
}

#[tokio::test]
async fn user_logs_in() {
    let app = TestApp::start().await;
    let user = key(7);

    let (stream, token) = app.handshake(json!({})).await;
    app.scan(&token, user).await;
    let response = app.get(&format!("/events/{stream}?after=0&wait=60")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let page: Value = response.json().await.unwrap();
    assert_eq!(page["next"], 1);
    assert_eq!(page["done"], true);
    assert_eq!(page["events"][0]["index"], 0);
    assert_eq!(page["events"][0]["type"], "KeyHandshake");
    assert!(page["events"][0]["timestamp"].is_u64());
    let data = &page["events"][0]["data"];
    assert_eq!(data["main_key"], user.to_hex());
    assert_eq!(data["preferred_relays"], json!(["wss://user.example"]));

    let (stream, challenge) = app.authentication(user).await;
    app.approve(&challenge, user, Some("a.b.c")).await;
    let page = app.read(&format!("/events/{stream}?wait=60")).await;
    assert_eq!(page["done"], true);
    assert_eq!(page["events"][0]["type"], "StatusUpdate");
    let data = &page["events"][0]["data"];
    assert_eq!(data["status"], "approved");
    assert_eq!(data["main_key"], user.to_hex());
    assert_eq!(data["session_token"], "a.b.c");
    assert_eq!(data["granted_permissions"], json!(["name"]));
}

#[tokio::test]
async fn fields_of_a_handshake_are_in_its_url() {
    let app = TestApp::start().await;
    for (body, told) in
        [(json!({ "no_request": true }), true), (json!({ "no_request": false }), false), (json!({}), false)]
    {
        let answer = app.call("POST", "/key-handshake", body.clone()).await.1;
        let url = answer["url"].as_str().unwrap();
        assert!(url.starts_with("nostr+walletconnect://npub1"), "{url}");
        assert_eq!(url.contains("no_request=true"), told, "{body}");
    }
    // The same static token is the same stream.
    let reusable = async |token: &str| app.handshake(json!({ "static_token": token })).await;
    let first = reusable("table-7").await;
    assert_eq!((&first.1, &first), (&"table-7".to_owned(), &reusable("table-7").await));
    assert_ne!(reusable("table-8").await.0, first.0);
    let open = async || app.call("POST", "/login", json!({ "static_token": "door" })).await;
    assert_eq!(open().await, open().await);
}

#[tokio::test]
async fn unknown_paths_are_404_and_unknown_methods_405() {
    let app = TestApp::start().await;
    for path in ["/", "/no-such-path", "/version/", "/Version", "//version", "/events/", "/events/a/b", "/%00", "/%ff"]
    {
        let response = app.get(path).send().await.unwrap();
        assert_eq!(response.status(), 404, "{path}");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["code"], "route_not_found", "{path}");
    }
    let response = app.get("/nothing").send().await.unwrap();
    insta::assert_snapshot!(response.text().await.unwrap(), @r#"{"type":"urn:usher:error:route_not_found","title":"No such path","status":404,"detail":"there is no such path; `/docs` and docs/api.md list all paths","code":"route_not_found","request_id":"test"}"#);

    for (method, path, allow) in [
        ("DELETE", "/version", "GET,HEAD"),
        ("OPTIONS", "/version", "GET,HEAD"),
        ("GET", "/authenticate-key", "POST"),
        ("HEAD", "/authenticate-key", "POST"),
        ("BREW", "/authenticate-key", "POST"),
        ("POST", "/health", "GET,HEAD"),
        ("PUT", "/events/subscriptions", "GET,HEAD"),
    ] {
        let response = app.request(method, path).send().await.unwrap();
        assert_eq!(response.status(), 405, "{method} {path}");
        assert_eq!(response.headers()["allow"], allow, "{method} {path}");
        if method != "HEAD" {
            let body: Value = response.json().await.unwrap();
            assert_eq!(body["code"], "method_not_allowed");
            assert_eq!(body["detail"], format!("use {}", allow.trim_end_matches(",HEAD")));
        }
    }
}

#[tokio::test]
async fn head_returns_the_status_without_a_body() {
    let app = TestApp::start().await;
    for path in ["/health", "/version", "/events/subscriptions"] {
        let response = app.http.head(app.url(path)).bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert!(response.bytes().await.unwrap().is_empty());
    }
    let response = app.http.head(app.url("/events/nothing")).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(response.status(), 404);
    assert!(response.bytes().await.unwrap().is_empty());
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let app = TestApp::start().await;
    for (method, path) in [("GET", "/health"), ("GET", "/nothing"), ("PUT", "/version"), ("POST", "/authenticate-key")]
    {
        let request = || app.http.request(method.parse().unwrap(), app.url(path)).bearer_auth(TOKEN);
        let response = request().header("x-request-id", "mine-42").send().await.unwrap();
        assert_eq!(response.headers()["x-request-id"], "mine-42", "{path}");
        let response = request().header("x-request-id", "two words").send().await.unwrap();
        let made = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        assert!(made.len() == 32 && made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{made}");
        let other = request().send().await.unwrap();
        assert_ne!(other.headers()["x-request-id"], made.as_str());
        if other.status() != 200 {
            let id = other.headers()["x-request-id"].to_str().unwrap().to_owned();
            let body: Value = other.json().await.unwrap();
            assert_eq!(body["request_id"], id.as_str());
        }
    }
}

#[tokio::test]
async fn login_is_handshake_and_authentication_in_one() {
    let app = TestApp::start().await;
    let user = key(7);
    let started = app.call("POST", "/login", json!({})).await.1;
    let stream = started["stream_id"].as_str().unwrap();
    let page_url = started["page_url"].as_str().unwrap();
    assert!(page_url.starts_with(&format!("http://127.0.0.1:3000/login/{stream}/")), "{page_url}");
    app.scan(&token_of(&started), user).await;
    let challenge = app.challenge_to(user).await;
    app.approve(&challenge, user, None).await;
    let page = app.read(&format!("/events/{stream}?after=1&wait=60")).await;
    assert_eq!(page["done"], true);
    let data = &page["events"][0]["data"];
    assert_eq!((&data["status"], &data["method"]), (&json!("approved"), &json!("wallet")));
    assert_eq!(data["main_key"], user.to_hex());
}

#[tokio::test]
async fn login_that_leads_back_is_redeemed_once_by_the_code_of_its_page() {
    let app = TestApp::start().await;
    let user = key(7);
    let started = app.call("POST", "/login", json!({ "return_url": "https://app.example/login" })).await.1;
    let stream = started["stream_id"].as_str().unwrap();
    let redeem_at = |stream: &str| app.post(&format!("/login/{stream}/redeem"));
    let refused = async |request: reqwest::RequestBuilder| -> (u16, Value) {
        let (status, problem) = read(request).await;
        (status, problem["code"].clone())
    };
    let invalid = (409, json!("login_code_invalid"));
    assert_eq!(refused(redeem_at(stream).json(&json!({ "code": "x" }))).await, invalid, "nobody has approved");
    app.scan(&token_of(&started), user).await;
    let challenge = app.challenge_to(user).await;
    app.approve(&challenge, user, Some("a.b.c")).await;
    let page = app.read(&format!("/events/{stream}?after=1&wait=60")).await;
    assert_eq!(page["done"], false);
    assert_eq!(page["events"][0]["data"], json!({ "status": "user_approved", "method": "wallet" }));

    let secret = started["page_url"].as_str().unwrap().rsplit('/').next().unwrap();
    let opened = app.engine.logins().open(stream.parse().unwrap(), secret, None, true).await.unwrap();
    let usher_engine::OpenedLogin::Page { view, .. } = opened else { panic!("no page") };
    let back = view.return_url.unwrap();
    let code = back.strip_prefix(&format!("https://app.example/login?stream_id={stream}&code=")).unwrap();
    for wrong in ["", &code[1..], &"9".repeat(10_000)] {
        assert_eq!(refused(redeem_at(stream).json(&json!({ "code": wrong }))).await, invalid, "{wrong}");
    }
    for wrong in [json!({}), json!({ "code": null }), json!({ "code": 1 })] {
        assert_eq!(refused(redeem_at(stream).json(&wrong)).await, (422, json!("invalid_request")), "{wrong}");
    }
    let not_found = (404, json!("stream_not_found"));
    let (handshake, _) = app.handshake(json!({})).await;
    for other in ["01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11", "subscriptions", "x", handshake.as_str()] {
        assert_eq!(refused(redeem_at(other).json(&json!({ "code": code }))).await, not_found, "{other}");
    }
    let body = json!({ "code": code });
    for replayed in [false, true, true] {
        let response = redeem_at(stream).header("idempotency-key", stream).json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers().contains_key("idempotency-replayed"), replayed);
        let redeemed: Value = response.json().await.unwrap();
        assert_eq!(redeemed, json!({ "main_key": user.to_hex(), "method": "wallet" }));
    }
    assert_eq!(refused(redeem_at(stream).json(&body)).await, (409, json!("login_code_redeemed")));
    let page = app.read(&format!("/events/{stream}?after=2")).await;
    assert_eq!(page["done"], true);
    let approved = json!({
        "status": "approved", "main_key": user.to_hex(), "method": "wallet",
        "granted_permissions": ["name"], "session_token": "a.b.c",
    });
    assert_eq!(page["events"][0]["data"], approved);
    assert_eq!(page["events"].as_array().unwrap().len(), 1);

    let plain = app.call("POST", "/login", json!({})).await.1;
    let (status, problem) = read(redeem_at(plain["stream_id"].as_str().unwrap()).json(&body)).await;
    assert!(status == 409 && problem["detail"].as_str().unwrap().contains("without return_url"), "{problem}");
}

#[tokio::test]
async fn login_returns_to_allowed_addresses_only() {
    let app = TestApp::start().await;
    for wrong in [
        "https://evil.example/login",
        "https://app.example/",
        "javascript:alert(1)",
        "",
        "/login",
        "https://app.example/login/..%2fother",
        "https://app.example/login\n",
        "https://app.example/login#top",
        "https://app.example/login?stream_id=1",
        "https://app.example/login?code=1",
    ] {
        let (status, problem) = app.call("POST", "/login", json!({ "return_url": wrong })).await;
        assert_eq!((status, pointers(&problem)), (422, vec!["/return_url"]), "{wrong}");
    }
}
