//! A login from the first request to the last, and the behavior that all paths share.

use serde_json::{Value, json};

use crate::app::{TOKEN, TestApp, key, pointers, stream_of, token_of};

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
    let page = app.read(&format!("/events/{stream}?after=0&wait=60")).await;
    let timestamp = &page["events"][0]["timestamp"];
    assert!(timestamp.is_u64());
    let data = json!({ "main_key": user.to_hex(), "preferred_relays": ["wss://user.example"] });
    let event = json!({ "index": 0, "type": "KeyHandshake", "timestamp": timestamp, "data": data });
    assert_eq!(page, json!({ "events": [event], "next": 1, "done": true }));

    let (stream, challenge) = app.authentication(user).await;
    app.approve(&challenge, user, Some("a.b.c")).await;
    let page = app.read(&format!("/events/{stream}?wait=60")).await;
    assert_eq!((&page["done"], &page["events"][0]["type"]), (&json!(true), &json!("StatusUpdate")));
    let data = &page["events"][0]["data"];
    let expected = [json!("approved"), json!(user.to_hex()), json!("a.b.c"), json!(["name"])];
    assert_eq!(["status", "main_key", "session_token", "granted_permissions"].map(|name| data[name].clone()), expected);
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
        app.refused("GET", path, Value::Null, (404, "route_not_found")).await;
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
        if response.status() != 200 {
            assert_eq!(response.json::<Value>().await.unwrap()["request_id"], *made);
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
    let data = &page["events"][0]["data"];
    assert_eq!((&page["done"], &data["status"], &data["method"]), (&json!(true), &json!("approved"), &json!("wallet")));
    assert_eq!(data["main_key"], user.to_hex());
}

#[tokio::test]
async fn login_that_leads_back_is_redeemed_once_by_the_code_of_its_page() {
    let app = TestApp::start().await;
    let user = key(7);
    let started = app.call("POST", "/login", json!({ "return_url": "https://app.example/login" })).await.1;
    let stream = started["stream_id"].as_str().unwrap();
    let redeem = async |stream: &str, body: &Value, refusal: (u16, &str)| {
        app.refused("POST", &format!("/login/{stream}/redeem"), body.clone(), refusal).await
    };
    let invalid = (409, "login_code_invalid");
    redeem(stream, &json!({ "code": "x" }), invalid).await;
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
        redeem(stream, &json!({ "code": wrong }), invalid).await;
    }
    for wrong in [json!({}), json!({ "code": null }), json!({ "code": 1 })] {
        redeem(stream, &wrong, (422, "invalid_request")).await;
    }
    let (handshake, _) = app.handshake(json!({})).await;
    for other in ["01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11", "subscriptions", "x", handshake.as_str()] {
        redeem(other, &json!({ "code": code }), (404, "stream_not_found")).await;
    }
    let body = json!({ "code": code });
    for replayed in [false, true, true] {
        let request = app.post(&format!("/login/{stream}/redeem")).header("idempotency-key", stream).json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers().contains_key("idempotency-replayed"), replayed);
        let redeemed: Value = response.json().await.unwrap();
        assert_eq!(redeemed, json!({ "main_key": user.to_hex(), "method": "wallet" }));
    }
    redeem(stream, &body, (409, "login_code_redeemed")).await;
    let page = app.read(&format!("/events/{stream}?after=2")).await;
    assert_eq!((&page["done"], page["events"].as_array().unwrap().len()), (&json!(true), 1));
    let approved = json!({
        "status": "approved", "main_key": user.to_hex(), "method": "wallet",
        "granted_permissions": ["name"], "session_token": "a.b.c",
    });
    assert_eq!(page["events"][0]["data"], approved);
    let plain = stream_of(&app.call("POST", "/login", json!({})).await.1);
    let problem = redeem(&plain, &body, invalid).await;
    assert!(problem["detail"].as_str().unwrap().contains("without return_url"), "{problem}");
}

#[tokio::test]
async fn login_returns_to_allowed_addresses_only() {
    let app = TestApp::start().await;
    let others = "https://evil.example/login https://app.example/ javascript:alert(1) /login https://app.example/login#top \
                  https://app.example/login/..%2fother https://app.example/login?stream_id=1 https://app.example/login?code=1";
    for wrong in others.split_whitespace().chain(["", "https://app.example/login\n"]) {
        let (status, problem) = app.call("POST", "/login", json!({ "return_url": wrong })).await;
        assert_eq!((status, pointers(&problem)), (422, vec!["/return_url"]), "{wrong}");
    }
}
