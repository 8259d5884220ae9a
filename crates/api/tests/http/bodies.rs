//! Requests with mistakes, and the problems that they cause: one table for all endpoints.

use serde_json::{Value, json};

use crate::app::{Builder, TestApp, key, pointers};
use crate::raw_client::{Raw, head};
use crate::{lightning_node, openid};

const JSON: Option<&str> = Some("application/json");

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused() {
    let app = TestApp::start().await;
    let limit = usher_api::Limits::default().body_bytes;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let padded = |size: usize| format!("{{}}{}", " ".repeat(size - 2));
    for (content_type, body, status, code) in [
        (JSON, "{", 400, "malformed_json"),
        (JSON, "{}{}", 400, "malformed_json"),
        (JSON, "{'a':1}", 400, "malformed_json"),
        (JSON, r#"{"a":1e999}"#, 400, "malformed_json"),
        (JSON, r#""\ud800""#, 400, "malformed_json"),
        (JSON, " ", 400, "malformed_json"),
        (JSON, "\u{feff}{}", 400, "malformed_json"),
        (JSON, &deep, 400, "malformed_json"),
        (JSON, r#"{"static_token": nsec1qqqq}"#, 400, "malformed_json"),
        (JSON, r#"{"static_token": "nsec1qqqq", "static_token": "b"}"#, 400, "malformed_json"),
        (JSON, r#"{"x": {"y": 1, "y": 2}}"#, 400, "malformed_json"),
        (JSON, "[]", 422, "invalid_request"),
        (JSON, "null", 422, "invalid_request"),
        (JSON, r#""nsec1qqqq""#, 422, "invalid_request"),
        (None, "{}", 415, "unsupported_media_type"),
        (Some("text/plain"), "{}", 415, "unsupported_media_type"),
        (Some("application/jsonp"), "{}", 415, "unsupported_media_type"),
        (Some("application/x-www-form-urlencoded"), "{}", 415, "unsupported_media_type"),
        (Some(""), "{}", 415, "unsupported_media_type"),
        (JSON, &padded(limit + 1), 413, "body_too_large"),
        (JSON, &padded(limit), 200, ""),
        (Some("Application/JSON; charset=utf-8"), "{}", 200, ""),
        (Some(" application/json ;x"), "{}", 200, ""),
        (Some("text/plain"), "", 200, ""),
        (None, "", 200, ""),
        (JSON, r#"{"no_request": true, "client": {}, "static-token": 5}"#, 200, ""),
    ] {
        let request = app.post("/key-handshake").body(body.to_owned());
        let request = content_type.into_iter().fold(request, |request, name| request.header("content-type", name));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{content_type:?} {body:.40}");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-request-id"], "test");
        let kind = if status == 200 { "application/json" } else { "application/problem+json" };
        assert_eq!(response.headers()["content-type"], kind);
        let answer = response.text().await.unwrap();
        assert!(status == 200 || answer.contains(&format!("\"code\":\"{code}\"")), "{body:.40}: {answer}");
        assert!(status != 400 || answer.contains("line 1 column"), "{answer}");
        assert!(!answer.contains("qqqq"), "it quotes the body: {answer}");
    }
    let bytes = app.post("/key-handshake").header("content-type", "application/json").body(vec![b'"', 0xff, b'"']);
    assert_eq!(bytes.send().await.unwrap().status(), 400, "not UTF-8");
    assert_eq!(app.call("POST", "/authenticate-key", Value::Null).await.0, 400, "fields are required");
    for (encoding, status) in [("gzip", 415), ("identity", 200)] {
        let request = app.post("/key-handshake").header("content-encoding", encoding).json(&json!({}));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{encoding}");
        assert!(status == 200 || response.headers()["accept-encoding"] == "identity");
    }
}

/// Members that no field reads are named in a header, at every depth, and in the log of a service for development.
#[tokio::test]
async fn ignored_members_are_named() {
    for is_development in [true, false] {
        let app = TestApp::with(|of| of.is_development = is_development).await;
        let content = json!({ "amount": 1000, "currency": "millisats", "memo\r\nSet-Cookie: a": 1 });
        for (path, body, ignored) in [
            ("/login", json!({ "returnUrl": "http://localhost/" }), Some("/returnUrl")),
            ("/login", json!({ "static_token": null }), None),
            (
                "/invoices/request",
                json!({ "recipient_key": key(1).to_hex(), "subkeys": [], "content": content, "a": 1, "b/c": 2 }),
                Some("/content/memo%0D%0ASet-Cookie:%20a, /a, /b~1c"),
            ),
            ("/jwt/verify", json!({ "tokenn": 1 }), Some("/tokenn")),
        ] {
            let response = app.post(path).json(&body).send().await.unwrap();
            assert_eq!(response.status() == 422, path == "/jwt/verify");
            let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
            assert_eq!(header("usher-ignored"), ignored, "{path}");
            assert_eq!(header("usher-mode"), is_development.then_some("test"));
        }
    }
}

/// Who writes 10 millisats probably means 10 sats.
#[tokio::test]
async fn fractions_of_sats_are_warned_of() {
    let app = TestApp::start().await;
    for (amount, currency, warning) in [
        (10, "millisats", Some("the amount is 0.01 sats")),
        (5_500, "Millisats", Some("the amount is 5.5 sats")),
        (5_000, "millisats", None),
        (10, "sats", None),
    ] {
        let content = json!({ "amount": amount, "currency": currency });
        let body = json!({ "recipient_key": key(1).to_hex(), "subkeys": [], "content": content });
        let response = app.post("/invoices/request").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers().get("usher-warning").map(|value| value.to_str().unwrap()), warning);
        let started: Value = response.json().await.unwrap();
        assert_eq!(started.get("amount_millisats"), (currency == "sats").then_some(&json!(10_000)));
    }
}

/// One response names every mistake of a request: fields of the wrong form and impossible values. Nothing is started.
#[tokio::test]
async fn every_mistake_of_a_request_is_named() {
    let builder = TestApp::builder();
    let openid = Some(openid::provider());
    let app = Builder { openid, lightning: Some(lightning_node::backend()), ..builder }.start().await;
    let session = app.call("POST", "/verification/sessions", json!({})).await.1;
    let decision = &*format!("/verification/sessions/{}/decision", session["session_id"].as_str().unwrap());
    let (user, npub) = (key(7).to_hex(), "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg");
    let (too_much, long) = (200_000_000_000_u64, "x".repeat(129));
    let large = format!("cashuB{}_1", "x".repeat(40_000));
    let hours = |hours: Value| json!({ "target_key": user, "duration_hours": hours });
    let main = |main_key: &str| json!({ "main_key": main_key, "subkeys": [] });
    let distinct: Vec<_> = (2..=10).map(|number| key(number).to_hex()).collect();
    let named = |name: &str| json!({ "name": name, "scopes": ["login"] });
    let scopes = |scopes: Value| json!({ "name": "x", "scopes": scopes });
    let login = |field: &str, value: Value| json!({ "name": "x", "scopes": ["login"], field: value });
    let relay = |relay: Value| json!({ "relay": relay });
    let on_chain = |amount: Value, rate: Value| json!({ "address": "bc1q", "amount": amount, "fee_rate": rate });
    let open = app.engine.open_streams();
    for (path, body, expected) in [
        ("/key-handshake", json!({ "static_token": "two words", "no_request": "yes" }), "/no_request /static_token"),
        ("/key-handshake", json!({ "static_token": long }), "/static_token"),
        ("/login", json!({ "static_token": "two words", "return_url": 5 }), "/return_url /static_token"),
        ("/authenticate-key", json!({}), "/main_key /subkeys"),
        ("/authenticate-key", json!({ "main_key": null, "subkeys": null }), "/main_key /subkeys"),
        ("/authenticate-key", json!({ "main_key": 5, "subkeys": [user, "zz"] }), "/main_key /subkeys/1"),
        ("/authenticate-key", json!({ "main_key": user, "subkeys": distinct }), "/subkeys"),
        ("/authenticate-key", main(npub), "/main_key"),
        (
            "/payments/single",
            json!({ "main_key": "npub1", "subkeys": [], "amount": too_much, "currency": "sat", "expires_at": 1,
                "subscription_id": "none" }),
            "/amount /currency /description /expires_at /main_key",
        ),
        (
            "/payments/single",
            json!({ "main_key": user, "subkeys": {}, "description": "x", "amount": "1", "currency": "millisats",
                "subscription_id": "none" }),
            "/amount /subkeys /subscription_id",
        ),
        (
            "/payments/recurring",
            json!({ "main_key": user, "subkeys": [], "description": 7, "amount": 10, "minimum_amount": 11,
                "currency": "millisats", "expires_at": 1,
                "recurrence": { "calendar": "never", "first_payment_due": 100, "until": 50 } }),
            "/description /expires_at /minimum_amount /recurrence/calendar /recurrence/until /recurrence/until",
        ),
        ("/payments/recurring/close", json!({ "main_key": 1, "subkeys": [] }), "/main_key /subscription_id"),
        (
            "/invoices/request",
            json!({ "recipient_key": 1, "subkeys": [],
                "content": { "amount": too_much, "currency": "millisats", "expires_at": 1 } }),
            "/content/amount /content/expires_at /recipient_key",
        ),
        ("/invoices/pay", json!({ "invoice": "lnbc1", "expires_at": 1 }), "/expires_at /invoice"),
        ("/invoices/pay", json!({ "invoice": "lnbc1", "currency": "EUR" }), "/currency /invoice"),
        ("/payment-links", json!({ "amount": 5_500, "description": "x" }), "/amount"),
        ("/payment-links", json!({ "min": 1, "max": 1_999, "description": "x" }), "/max /min"),
        ("/payment-links", json!({ "amount": 1_000, "min": 1_000, "max": 2_000, "description": "x" }), "/amount"),
        ("/payment-links", json!({ "description": "x" }), "/amount"),
        ("/payment-links", json!({ "min": 1_000, "description": "x" }), "/max"),
        ("/payment-links", json!({ "max": 1_000, "description": "x" }), "/min"),
        ("/payment-links", json!({ "min": 2_000, "max": 1_000, "description": "x" }), "/min"),
        ("/payment-links", json!({ "amount": 1_000, "currency": "EUR", "description": "x" }), "/currency"),
        ("/payment-links", json!({ "amount": too_much, "description": "x", "expires_at": 1 }), "/amount /expires_at"),
        (
            "/payment-links",
            json!({ "amount": 1_000, "description": "x", "return_url": "https://evil.example" }),
            "/return_url",
        ),
        ("/invoices/pay", json!({ "main_key": "x", "invoice": EXPIRED_INVOICE }), "/invoice /invoice /main_key"),
        ("/invoices/pay", json!({ "invoice": OPEN_INVOICE }), "/invoice /invoice /invoice"),
        ("PUT /profile", json!({ "name": "two words", "display_name": 1, "nip05": "x" }), "/display_name /name /nip05"),
        ("PUT /profile", json!({ "name": "x", "about": "a\nb", "picture": "javascript:alert(1)" }), "/about /picture"),
        ("/jwt/issue", json!({ "target_key": npub, "duration_hours": "24" }), "/duration_hours /target_key"),
        ("/jwt/issue", hours(json!(0)), "/duration_hours"),
        ("/jwt/issue", hours(json!(8_761)), "/duration_hours"),
        ("/jwt/verify", json!({}), "/public_key /token"),
        ("/jwt/verify", json!({ "public_key": user, "token": null }), "/token"),
        ("/calendar/next-occurrence", json!({}), "/calendar /from"),
        ("/calendar/next-occurrence", json!({ "calendar": "fortnightly", "from": "0" }), "/calendar /from"),
        ("/calendar/next-occurrence", json!({ "calendar": 7, "from": -1 }), "/calendar /from"),
        ("/calendar/next-occurrence", json!({ "calendar": "", "from": i64::MAX as u64 + 1 }), "/calendar /from"),
        ("/calendar/next-occurrence", json!({ "calendar": "*".repeat(100_000), "from": 1.5 }), "/calendar /from"),
        ("/cashu/mint", json!({}), "/amount /mint_url /unit"),
        (
            "/cashu/mint",
            json!({ "mint_url": "mint.example", "unit": "two words", "amount": 0, "static_token": "", "description": 7 }),
            "/amount /description /mint_url /static_token /unit",
        ),
        (
            "/cashu/mint",
            json!({ "mint_url": "https://mint.example", "unit": "x".repeat(33), "amount": 1_u64 << 53, "static_auth_token": "ä" }),
            "/amount /static_auth_token /unit",
        ),
        ("/cashu/burn", json!({ "mint_url": "ftp://x", "unit": 7, "token": "two words" }), "/mint_url /token /unit"),
        ("/cashu/withdraw", json!({}), "/amount /mint_url /unit"),
        ("/cashu/withdraw", json!({ "mint_url": "https://mint.example", "unit": "multi", "amount": 43 }), "/amount"),
        (
            "/cashu/request",
            json!({ "recipient_key": "npub1", "subkeys": [1], "mint_url": "https://u:p@mint.example", "unit": "",
                "amount": 1.5, "redeem": "yes", "expires_at": 1, "request_id": "" }),
            "/amount /expires_at /mint_url /recipient_key /redeem /request_id /subkeys/0 /unit",
        ),
        ("/cashu/send-direct", json!({ "main_key": 1, "subkeys": [], "token": "no-token" }), "/main_key /token"),
        ("/cashu/send-direct", json!({ "main_key": user, "subkeys": [], "token": large }), "/token"),
        ("/verification/token", json!({ "subkeys": [], "mint_url": "ftp://x" }), "/mint_url /recipient_key"),
        (decision, json!({}), "/decision"),
        (decision, json!({ "decision": "perhaps" }), "/decision"),
        (decision, json!({ "decision": true, "reason": 7 }), "/decision /reason"),
        (decision, json!({ "decision": "reject", "reason": "x".repeat(640) }), "/reason"),
        ("/wallet/channels", json!({ "amount": 5_001 }), "/amount"),
        ("/wallet/send", on_chain(json!(1_001), json!(null)), "/amount"),
        ("/wallet/send", on_chain(json!("some"), json!(1_001)), "/amount /fee_rate"),
        ("/wallet/send", on_chain(json!(0), json!(0)), "/amount /fee_rate"),
        ("/wallet/send", json!({ "amount": 1_000 }), "/address"),
        ("/keys", json!({ "name": "x" }), "/scopes"),
        ("/keys", scopes(json!([])), "/scopes"),
        ("/keys", scopes(json!("login")), "/scopes"),
        ("/keys", scopes(json!(["login", "root", "Login"])), "/scopes/1 /scopes/2"),
        ("/keys", scopes(json!(["admin", "approvals"])), "/scopes"),
        ("/keys", named(" "), "/name"),
        ("/keys", named("a\nb"), "/name"),
        ("/keys", named("a\u{202e}b"), "/name"),
        ("/keys", login("expires_at", json!(1_732_137_600)), "/expires_at"),
        ("/keys", login("networks", json!(["10.0.0.0/33"])), "/networks/0"),
        ("/keys", login("networks", json!(["10.0.0.1", 7])), "/networks/1"),
        ("/keys", login("daily_budget_millisats", json!(0)), "/daily_budget_millisats"),
        ("/keys", login("requests_per_second", json!(0)), "/requests_per_second"),
        ("/relays", relay(json!("https://one.example")), "/relay"),
        ("/relays", relay(json!(7)), "/relay"),
        ("DELETE /relays", json!({}), "/relay"),
        (
            "/oidc/clients",
            json!({ "client_id": "é", "redirect_uris": "x", "public": 1 }),
            "/client_id /name /public /redirect_uris",
        ),
        (
            "PATCH /oidc/clients/a",
            json!({ "redirect_uris": [7], "signing_algorithm": "none" }),
            "/redirect_uris/0 /signing_algorithm",
        ),
        ("DELETE /oidc/consents", json!({ "main_key": "x" }), "/client_id /main_key"),
        ("DELETE /users/xyz", json!({}), "/main_key"),
        (&*format!("DELETE /users/{user}?after=x"), json!({}), "/after"),
        ("/profile/x", Value::Null, "/main_key"),
        ("/profile/%ff", Value::Null, "/main_key"),
        ("/nip05/example.com", Value::Null, "/identifier"),
        ("/nip05/a@b@c", Value::Null, "/identifier"),
        ("/nip05/ada@127.0.0.1", Value::Null, "/identifier"),
        ("/nip05/ada@example.com%2Fx", Value::Null, "/identifier"),
        ("/.well-known/nostr.json?name=a&name=b", Value::Null, "/name"),
        ("/events/subscriptions?after=-1&limit=0&wait=61", Value::Null, "/after /limit /wait"),
        ("/events/subscriptions?after=&limit=1001&wait=1.5", Value::Null, "/after /limit /wait"),
        ("/events/subscriptions?after=%2B1&limit=null&wait=true", Value::Null, "/after /limit /wait"),
        ("/events/subscriptions?after=9007199254740992", Value::Null, "/after"),
        ("/events/subscriptions?after=%FF", Value::Null, "/after"),
        ("/events/subscriptions?after=1&after=1", Value::Null, "/after"),
        ("/events/subscriptions?%61fter=x", Value::Null, "/after"),
        ("/webhooks/deliveries?status=lost", Value::Null, "/status"),
    ] {
        let (method, path) = path.split_once(' ').unwrap_or((if body.is_null() { "GET" } else { "POST" }, path));
        let problem = app.refused(method, path, body, (422, "invalid_request")).await;
        assert_eq!(pointers(&problem).join(" "), expected, "{method} {path}: {problem}");
        assert!(!problem.to_string().contains("127.0.0.1"), "{problem}");
    }
    let many = json!({ "main_key": user, "subkeys": vec!["zz"; 3_000] });
    let faults = app.call("POST", "/authenticate-key", many).await.1.to_string();
    assert!(faults.len() < 4_096, "a list of faults is bounded");
    let started = (app.engine.open_streams(), app.tickets.jobs(), app.keys.list().len());
    assert_eq!(started, (open, 0, 0), "nothing was started");
    assert_eq!(app.call("POST", decision, json!({ "decision": "approve" })).await.0, 200, "nothing of this decided it");

    // At the edge.
    let both_cases: Vec<_> = distinct[..8].iter().flat_map(|key| [key.clone(), key.to_uppercase()]).collect();
    for (path, body) in [
        ("/key-handshake", json!({ "static_token": &long[1..] })),
        ("/key-handshake", json!({ "static_token": "!~" })),
        ("/login", json!({ "static_token": null })),
        ("/authenticate-key", main(&user.to_uppercase())),
        ("/authenticate-key", json!({ "main_key": user, "subkeys": both_cases })),
        ("/authenticate-key", json!({ "main_key": user, "subkeys": [user] })),
        ("/jwt/issue", hours(json!(8_760))),
    ] {
        assert_eq!(app.call("POST", path, body.clone()).await.0, 200, "{path} {body}");
    }
    for (calendar, next) in [("daily", json!(86_400)), ("*-02-30 00:00:00", json!(null))] {
        let next_after =
            app.done("POST", "/calendar/next-occurrence", json!({ "calendar": calendar, "from": 0 })).await;
        assert_eq!(next_after, json!({ "next_occurrence": next }));
    }
    for query in
        ["", "&&", "after=9007199254740991", "after=00", "limit=1000&&after=0&", "wait=0", "a%zz=%ff&after%00=x"]
    {
        let (status, page) = app.call("GET", &format!("/events/subscriptions?{query}"), Value::Null).await;
        assert_eq!((status, &page["done"]), (200, &json!(false)), "{query}");
    }
}

#[tokio::test]
async fn large_bodies_are_refused_before_they_have_come() {
    let app = TestApp::start().await;
    let head = format!("{}Content-Type: application/json\r\n", head("POST", "/key-handshake"));
    let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
    for (body, status) in [
        ("Content-Length: 99999999999\r\n\r\n".to_owned(), 413),
        (format!("Transfer-Encoding: chunked\r\n\r\n{}", chunk.repeat(9)), 413),
        ("Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n".to_owned(), 200),
    ] {
        assert_eq!(Raw::ask(&app, &format!("{head}{body}")).await.status, status, "{body:.40}");
    }
}

/// The first example of BOLT 11 that names an amount; it has expired long ago.
const EXPIRED_INVOICE: &str = "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh";

/// Another one, which names no amount either.
const OPEN_INVOICE: &str = "lnbc1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdpl2pkx2ctnv5sxxmmwwd5kgetjypeh2ursdae8g6twvus8g6rfwvs8qun0dfjkxaq9qrsgq357wnc5r2ueh7ck6q93dj32dlqnls087fxdwk8qakdyafkq3yap9us6v52vjjsrvywa6rt52cm9r9zqt8r2t7mlcwspyetp5h2tztugp9lfyql";
