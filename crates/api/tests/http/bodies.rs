//! Invalid request bodies and the errors they cause.

use serde_json::{Value, json};

use crate::app::{TOKEN, TestApp, key};
use crate::raw_client::{Raw, head};

async fn refused(app: &TestApp, path: &str, content_type: Option<&str>, body: impl Into<String>) -> (u16, String) {
    let mut request = app.post(path).body(body.into());
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["x-request-id"], "test");
    assert_eq!(response.headers()["cache-control"], "no-store");
    (response.status().as_u16(), response.text().await.unwrap())
}

const JSON: Option<&str> = Some("application/json");

#[tokio::test]
async fn malformed_json_is_400_with_line_and_column() {
    let app = TestApp::start().await;
    let (status, body) = refused(&app, "/key-handshake", JSON, "{\n  \"static_token\": tab\n}").await;
    assert_eq!(status, 400);
    insta::assert_snapshot!(body, @r#"{"type":"urn:usher:error:malformed_json","title":"The body is not JSON","status":400,"detail":"expected ident at line 2 column 20","code":"malformed_json","request_id":"test"}"#);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in
        ["{", "}", "{}{}", "nul", "{\"a\":}", "{'a':1}", "{\"a\":1e999}", "\"\\ud800\"", " ", "\u{feff}{}", &deep]
    {
        let (status, answer) = refused(&app, "/key-handshake", JSON, body).await;
        assert_eq!(status, 400, "{body:.40}");
        assert!(answer.contains("\"code\":\"malformed_json\"") && answer.contains("line 1 column"), "{answer}");
    }
    let request = app.post("/key-handshake").header("content-type", "application/json").body(vec![b'"', 0xff, b'"']);
    assert_eq!(request.send().await.unwrap().status(), 400, "not UTF-8");
    app.stop().await;
}

#[tokio::test]
async fn repeated_fields_are_refused() {
    let app = TestApp::start().await;
    let body = r#"{"static_token": "table-7", "static_token": "table-8"}"#;
    let (status, answer) = refused(&app, "/key-handshake", JSON, body).await;
    assert_eq!(status, 400);
    insta::assert_snapshot!(answer, @r#"{"type":"urn:usher:error:malformed_json","title":"The body is not JSON","status":400,"detail":"an object has a repeated member at line 1 column 54","code":"malformed_json","request_id":"test"}"#);
    let body = format!(r#"{{"main_key": "{}", "subkeys": [], "x": {{"y": 1, "y": 2}}}}"#, key(1));
    assert_eq!(refused(&app, "/authenticate-key", JSON, body).await.0, 400);
    app.stop().await;
}

#[tokio::test]
async fn errors_do_not_quote_the_body() {
    let app = TestApp::start().await;
    let secret = "nsec1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq";
    for body in [
        format!("{{\"static_token\": {secret}}}"),
        format!("{{\"main_key\": \"{secret}\", \"subkeys\": \"{secret}\"}}"),
        format!("{{\"main_key\": [\"{secret}\"], \"subkeys\": [\"{secret}\", {{\"{secret}\": 1}}]}}"),
    ] {
        let (_, answer) = refused(&app, "/authenticate-key", JSON, body).await;
        assert!(!answer.contains("qqqq"), "{answer}");
    }
    app.stop().await;
}

#[tokio::test]
async fn all_invalid_fields_are_reported_together() {
    let app = TestApp::start().await;
    let body = json!({ "static_token": "two words", "no_request": "yes" }).to_string();
    let (status, body) = refused(&app, "/key-handshake", JSON, body).await;
    assert_eq!(status, 422);
    insta::assert_snapshot!(body, @r#"{"type":"urn:usher:error:invalid_request","title":"Some fields are wrong","status":422,"detail":"2 fields are wrong","code":"invalid_request","request_id":"test","errors":[{"pointer":"/static_token","detail":"must be 1 to 128 visible ASCII characters"},{"pointer":"/no_request","detail":"must be true or false, is a string"}]}"#);

    let body = json!({ "static_token": "two words", "return_url": 5 }).to_string();
    let (status, body) = refused(&app, "/login", JSON, body).await;
    assert_eq!(status, 422);
    let body: Value = serde_json::from_str(&body).unwrap();
    let pointers: Vec<_> = body["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
    assert_eq!(pointers, ["/return_url", "/static_token"]);
    // The same token again is the same login.
    let reusable = json!({ "static_token": "table-7" });
    let open = async || app.post("/login").json(&reusable).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(open().await, open().await);
    assert_eq!(app.post("/login").json(&json!({ "static_token": null })).send().await.unwrap().status(), 200);

    let good = key(2).to_hex();
    let body = json!({ "main_key": 5, "subkeys": [good, "zz", null, "npub1xyz"] }).to_string();
    let (status, body) = refused(&app, "/authenticate-key", JSON, body).await;
    assert_eq!(status, 422);
    let body: Value = serde_json::from_str(&body).unwrap();
    let pointers: Vec<_> = body["errors"].as_array().unwrap().iter().map(|e| e["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["/main_key", "/subkeys/1", "/subkeys/2", "/subkeys/3"]);
    app.stop().await;
}

#[tokio::test]
async fn missing_and_null_required_fields_are_refused() {
    let app = TestApp::start().await;
    let (status, body) = refused(&app, "/authenticate-key", JSON, "{}").await;
    assert_eq!(status, 422);
    insta::assert_snapshot!(body, @r#"{"type":"urn:usher:error:invalid_request","title":"Some fields are wrong","status":422,"detail":"2 fields are wrong","code":"invalid_request","request_id":"test","errors":[{"pointer":"/main_key","detail":"is required"},{"pointer":"/subkeys","detail":"is required"}]}"#);
    let body = json!({ "main_key": null, "subkeys": null }).to_string();
    assert_eq!(refused(&app, "/authenticate-key", JSON, body).await.0, 422);
    app.stop().await;
}

#[tokio::test]
async fn body_that_is_not_an_object_is_refused() {
    let app = TestApp::start().await;
    for body in ["[]", "null", "\"text\"", "5", "true"] {
        let (status, answer) = refused(&app, "/key-handshake", JSON, body).await;
        assert_eq!(status, 422, "{body}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["errors"], json!([{ "pointer": "", "detail": "must be a JSON object" }]));
    }
    app.stop().await;
}

#[tokio::test]
async fn static_token_length_and_characters_are_checked() {
    let app = TestApp::start().await;
    for (token, status) in [
        (json!("x".repeat(128)), 200),
        (json!("!~"), 200),
        (json!("x".repeat(129)), 422),
        (json!(""), 422),
        (json!("naïve"), 422),
        (json!("a\u{0}b"), 422),
        (json!(7), 422),
        (json!({}), 422),
        (json!(null), 200),
    ] {
        let request = app.post("/key-handshake").json(&json!({ "static_token": token }));
        assert_eq!(request.send().await.unwrap().status(), status, "{token}");
    }
    app.stop().await;
}

#[tokio::test]
async fn empty_body_is_accepted_only_if_all_fields_are_optional() {
    let app = TestApp::start().await;
    for content_type in [None, JSON, Some("text/plain")] {
        let mut request = app.post("/key-handshake");
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        assert_eq!(request.send().await.unwrap().status(), 200, "{content_type:?}");
    }
    let (status, body) = refused(&app, "/authenticate-key", JSON, "").await;
    assert_eq!(status, 400);
    insta::assert_snapshot!(body, @r#"{"type":"urn:usher:error:malformed_json","title":"The body is not JSON","status":400,"detail":"the body is empty; send a JSON object","code":"malformed_json","request_id":"test"}"#);
    app.stop().await;
}

#[tokio::test]
async fn only_json_content_types_are_accepted() {
    let app = TestApp::start().await;
    for content_type in
        [None, Some("text/plain"), Some("application/jsonp"), Some("application/x-www-form-urlencoded"), Some("")]
    {
        let (status, answer) = refused(&app, "/key-handshake", content_type, "{}").await;
        assert_eq!(status, 415, "{content_type:?}");
        assert!(answer.contains("\"code\":\"unsupported_media_type\""));
    }
    for content_type in [
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/json;charset=\"latin1\"",
        " application/json ;x",
    ] {
        let request = app.post("/key-handshake").header("content-type", content_type).body("{}");
        assert_eq!(request.send().await.unwrap().status(), 200, "{content_type}");
    }
    let request = app.post("/key-handshake").header("content-encoding", "gzip").json(&json!({}));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 415, "compressed");
    assert_eq!(response.headers()["accept-encoding"], "identity");
    let request = app.post("/key-handshake").header("content-encoding", "identity").json(&json!({}));
    assert_eq!(request.send().await.unwrap().status(), 200);
    app.stop().await;
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let app = TestApp::start().await;
    let body = json!({ "no_request": true, "client": { "name": "x" }, "static-token": 5 });
    assert_eq!(app.post("/key-handshake").json(&body).send().await.unwrap().status(), 200);
    app.stop().await;
}

#[tokio::test]
async fn body_size_limit_is_exact() {
    let app = TestApp::start().await;
    let limit = usher_api::Limits::default().body_bytes;
    assert_eq!(limit, 256 * 1024);
    let padded = |size: usize| format!("{{}}{}", " ".repeat(size - 2));
    let request = app.post("/key-handshake").header("content-type", "application/json").body(padded(limit));
    assert_eq!(request.send().await.unwrap().status(), 200);
    let (status, body) = refused(&app, "/key-handshake", JSON, padded(limit + 1)).await;
    assert_eq!(status, 413);
    insta::assert_snapshot!(body, @r#"{"type":"urn:usher:error:body_too_large","title":"The body is too large","status":413,"detail":"the body is larger than 262144 bytes","code":"body_too_large","request_id":"test"}"#);
    app.stop().await;
}

#[tokio::test]
async fn excessive_content_length_is_refused_before_the_body() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    let head = head("POST", "/key-handshake");
    raw.send(&format!("{head}Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n")).await;
    assert_eq!(raw.answer().await.unwrap().status, 413);
    app.stop().await;
}

#[tokio::test]
async fn chunked_body_over_the_limit_is_refused() {
    let app = TestApp::start().await;
    let mut raw = Raw::connect(&app).await;
    let head = head("POST", "/key-handshake");
    raw.send(&format!("{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")).await;
    let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
    for _ in 0..9 {
        raw.send(&chunk).await;
    }
    assert_eq!(raw.answer().await.unwrap().status, 413);

    let mut raw = Raw::connect(&app).await;
    raw.send(&format!("{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")).await;
    raw.send("1\r\n{\r\n1\r\n}\r\n0\r\n\r\n").await;
    assert_eq!(raw.answer().await.unwrap().status, 200);
    app.stop().await;
}

#[tokio::test]
async fn distinct_subkeys_are_limited() {
    let app = TestApp::start().await;
    let post = async |subkeys: Vec<String>| {
        let body = json!({ "main_key": key(1).to_hex(), "subkeys": subkeys });
        app.post("/authenticate-key").json(&body).send().await.unwrap()
    };
    let keys: Vec<String> = (2..=10).map(|number| key(number).to_hex()).collect();
    assert_eq!(post(keys[..8].to_vec()).await.status(), 200);
    let twice = keys[..8].iter().flat_map(|key| [key.clone(), key.to_uppercase()]).collect();
    assert_eq!(post(twice).await.status(), 200, "duplicates, in either case");
    assert_eq!(post(vec![key(1).to_hex()]).await.status(), 200, "the main key itself");
    let response = post(keys).await;
    assert_eq!(response.status(), 422);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["errors"], json!([{ "pointer": "/subkeys", "detail": "must hold at most 8 different keys" }]));
    let response = post(vec!["zz".to_owned(); 3_000]).await;
    assert_eq!(response.status(), 422);
    assert!(response.text().await.unwrap().len() < 4_096, "a list of faults is bounded too");
    app.stop().await;
}

#[tokio::test]
async fn keys_are_64_hex_characters_in_either_case() {
    let app = TestApp::start().await;
    for (main_key, status) in [
        (key(3).to_hex(), 200),
        (key(3).to_hex().to_uppercase(), 200),
        (key(3).to_hex()[1..].to_owned(), 422),
        (format!("{} ", key(3).to_hex()), 422),
        (format!("0x{}", &key(3).to_hex()[2..]), 422),
        ("f".repeat(64), 422),
        ("npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg".to_owned(), 422),
    ] {
        let body = json!({ "main_key": main_key, "subkeys": [] });
        let response = app.post("/authenticate-key").json(&body).send().await.unwrap();
        assert_eq!(response.status(), status, "{main_key}");
        if main_key.starts_with("npub") {
            assert!(response.text().await.unwrap().contains("convert"), "says what to do");
        }
    }
    app.stop().await;
}

/// One response names every error of a request: fields of the wrong form and impossible values.
#[tokio::test]
async fn format_and_value_errors_are_reported_together() {
    let app = TestApp::start().await;
    let user = key(7).to_hex();
    let too_much = 200_000_000_000_u64;
    for (method, path, body, expected) in [
        (
            "POST",
            "/payments/single",
            json!({ "main_key": "npub1", "subkeys": [], "amount": too_much, "currency": "sats", "expires_at": 1,
                "subscription_id": "none" }),
            vec!["/amount", "/currency", "/description", "/expires_at", "/main_key"],
        ),
        (
            "POST",
            "/payments/single",
            json!({ "main_key": user, "subkeys": {}, "description": "x", "amount": "1", "currency": "millisats",
                "subscription_id": "none" }),
            vec!["/amount", "/subkeys", "/subscription_id"],
        ),
        (
            "POST",
            "/payments/recurring",
            json!({ "main_key": user, "subkeys": [], "description": 7, "amount": 10, "minimum_amount": 11,
                "currency": "millisats", "expires_at": 1,
                "recurrence": { "calendar": "never", "first_payment_due": 100, "until": 50 } }),
            vec![
                "/description",
                "/expires_at",
                "/minimum_amount",
                "/recurrence/calendar",
                "/recurrence/until",
                "/recurrence/until",
            ],
        ),
        (
            "POST",
            "/invoices/request",
            json!({ "recipient_key": 1, "subkeys": [],
                "content": { "amount": too_much, "currency": "millisats", "expires_at": 1 } }),
            vec!["/content/amount", "/content/expires_at", "/recipient_key"],
        ),
        (
            "POST",
            "/invoices/pay",
            json!({ "main_key": "x", "invoice": "lnbc1", "expires_at": 1 }),
            vec!["/expires_at", "/invoice", "/main_key"],
        ),
        (
            "POST",
            "/invoices/pay",
            json!({ "main_key": "x", "invoice": EXPIRED_INVOICE }),
            vec!["/invoice", "/invoice", "/main_key"],
        ),
        (
            "PUT",
            "/profile",
            json!({ "name": "two words", "display_name": 1, "picture": "ftp://x", "nip05": "x" }),
            vec!["/display_name", "/name", "/nip05", "/picture"],
        ),
        ("POST", "/authenticate-key", json!({ "main_key": 1, "subkeys": 2 }), vec!["/main_key", "/subkeys"]),
        ("POST", "/jwt/issue", json!({ "target_key": 1, "duration_hours": 0 }), vec!["/duration_hours", "/target_key"]),
        (
            "POST",
            "/payments/recurring/close",
            json!({ "main_key": 1, "subkeys": [1], "subscription_id": "" }),
            vec!["/main_key", "/subkeys/0", "/subscription_id"],
        ),
    ] {
        let request = app.http.request(method.parse().unwrap(), app.url(path)).bearer_auth(TOKEN);
        let response = request.json(&body).send().await.unwrap();
        assert_eq!(response.status(), 422, "{path}");
        let problem: Value = response.json().await.unwrap();
        let mut pointers: Vec<_> =
            problem["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
        pointers.sort_unstable();
        assert_eq!(pointers, expected, "{path} {problem}");
    }
    assert_eq!(app.engine.open_streams(), 1, "nothing was started");
    app.stop().await;
}

/// The first example of BOLT 11 that names an amount; it has expired long ago.
const EXPIRED_INVOICE: &str = "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh";
