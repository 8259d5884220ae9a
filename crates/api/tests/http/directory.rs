//! Profiles, identifiers and relays.

use serde_json::{Value, json};
use usher_engine::ports::PublishError;

use crate::app::{KNOWN, TestApp, UNREACHABLE, key};
use crate::keys::Holder;

impl TestApp {
    /// The status and the body of a call.
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.http.request(method.parse().unwrap(), self.url(path)).bearer_auth(crate::app::TOKEN);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }
}

/// What is wrong, by field.
fn errors(body: &Value) -> Vec<(&str, &str)> {
    let errors = body["errors"].as_array().unwrap();
    errors.iter().map(|error| (error["pointer"].as_str().unwrap(), error["detail"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn user_profile_is_returned() {
    let app = TestApp::start().await;
    let expected = json!({
        "id": "01".repeat(32), "pubkey": key(KNOWN).to_hex(), "name": "ada", "display_name": null, "picture": null,
        "about": null, "nip05": "ada@example.com",
    });
    for written in [key(KNOWN).to_hex(), key(KNOWN).to_hex().to_uppercase()] {
        assert_eq!(app.call("GET", &format!("/profile/{written}"), None).await, (200, expected.clone()));
    }
    let (status, body) = app.call("GET", &format!("/profile/{}", key(2).to_hex()), None).await;
    assert_eq!((status, &body["code"]), (404, &json!("profile_not_found")));
    let (status, body) = app.call("GET", &format!("/profile/{}", key(UNREACHABLE).to_hex()), None).await;
    assert_eq!((status, &body["code"]), (503, &json!("no_relay_connected")));
    for (wrong, what) in [
        ("x", "a key is 64 hexadecimal characters, not 1 characters"),
        ("npub1xyz", "keys are 64 hexadecimal characters here: convert this npub with `usher key to-hex`"),
        ("%ff", "is not UTF-8"),
    ] {
        let (status, body) = app.call("GET", &format!("/profile/{wrong}"), None).await;
        assert_eq!((status, errors(&body)), (422, vec![("/main_key", what)]), "{wrong}");
    }
    app.stop().await;
}

#[tokio::test]
async fn service_profile_can_be_published_and_read() {
    let app = TestApp::start().await;
    assert_eq!(app.call("GET", "/.well-known/nostr.json", None).await, (200, json!({ "names": {}, "relays": {} })));

    let change = json!({ "name": "shop", "display_name": null, "nip05": "_@shop.example", "unknown": 1 });
    let (status, body) = app.call("PUT", "/profile", Some(change)).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&body["name"], &body["display_name"], &body["nip05"]),
        (&json!("shop"), &json!(null), &json!("_@shop.example"))
    );
    assert_eq!(body["pubkey"], key(crate::app::SERVICE).to_hex());

    let wrong = json!({ "name": "the shop", "display_name": 7, "picture": "javascript:alert(1)" });
    let (status, body) = app.call("PUT", "/profile", Some(wrong)).await;
    let expected = vec![
        ("/display_name", "must be a string, is a number"),
        ("/name", "must have no spaces"),
        ("/picture", "must be an https or http URL"),
    ];
    assert_eq!((status, errors(&body)), (422, expected));
    let wrong = json!({ "name": "the shop", "about": "a\nb", "picture": "javascript:alert(1)", "nip05": "x" });
    let (status, body) = app.call("PUT", "/profile", Some(wrong)).await;
    assert_eq!(status, 422);
    let fields: Vec<_> = errors(&body).into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, ["/name", "/about", "/picture", "/nip05"]);
    app.directory.fail_publishing(PublishError::NoRelay);
    let (status, body) = app.call("PUT", "/profile", Some(json!({ "name": "shop" }))).await;
    assert_eq!((status, &body["code"]), (503, &json!("no_relay_connected")));
    app.directory.fail_publishing(PublishError::Signing);
    let (status, body) = app.call("PUT", "/profile", Some(json!({ "name": "shop" }))).await;
    assert_eq!((status, &body["code"]), (500, &json!("internal_error")));
    assert_eq!(app.call("PUT", "/profile", None).await.0, 400, "a body that is missing clears nothing");
    app.stop().await;
}

#[tokio::test]
async fn well_known_nostr_json_is_public() {
    let app = TestApp::start().await;
    app.call("PUT", "/profile", Some(json!({ "name": "shop" }))).await;
    let us = key(crate::app::SERVICE).to_hex();
    let whole = json!({ "names": { "shop": us }, "relays": { us: ["wss://relay.example"] } });
    let nobody = json!({ "names": {}, "relays": {} });
    for (query, expected) in
        [("", &whole), ("?name=shop", &whole), ("?name=Shop", &whole), ("?name=other", &nobody), ("?name=", &nobody)]
    {
        let request = app.http.get(app.url(&format!("/.well-known/nostr.json{query}")));
        let response = request.header("origin", "https://elsewhere.example").send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["access-control-allow-origin"], "*");
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.json::<Value>().await.unwrap(), *expected, "{query}");
    }
    let response = app.http.get(app.url("/.well-known/nostr.json?name=a&name=b")).send().await.unwrap();
    assert_eq!(response.status(), 422);
    let preflight = app.http.request(http::Method::OPTIONS, app.url("/.well-known/nostr.json")).send().await.unwrap();
    assert_eq!(
        (preflight.status().as_u16(), &preflight.headers()["access-control-allow-origin"]),
        (204, &"*".parse().unwrap())
    );
    app.stop().await;
}

#[tokio::test]
async fn nip05_identifiers_are_resolved() {
    let app = TestApp::start().await;
    let expected = json!({ "pubkey": key(KNOWN).to_hex(), "relays": ["wss://relay.example"] });
    for written in ["ada@example.com", "Ada@Example.com", "ada%40example.com"] {
        assert_eq!(app.call("GET", &format!("/nip05/{written}"), None).await, (200, expected.clone()), "{written}");
    }
    let (status, body) = app.call("GET", "/nip05/bob@example.com", None).await;
    assert_eq!((status, &body["code"]), (404, &json!("profile_not_found")));
    let (status, body) = app.call("GET", "/nip05/busy@example.com", None).await;
    assert_eq!((status, &body["code"]), (503, &json!("overloaded")));
    for wrong in ["example.com", "a@b@c", "ada@127.0.0.1", "ada@example.com%2Fx", "%ff"] {
        let (status, body) = app.call("GET", &format!("/nip05/{wrong}"), None).await;
        assert_eq!((status, errors(&body)[0].0), (422, "/identifier"), "{wrong}");
        assert!(!body.to_string().contains("127.0.0.1"), "{body}");
    }
    app.stop().await;
}

#[tokio::test]
async fn keys_learn_nothing_of_the_internal_network_by_adding_relays() {
    let app = TestApp::start().await;
    let manager = Holder::of(&app, json!({ "scopes": ["relays"] })).await;
    let private = json!({ "relay": "ws://127.0.0.1:22" });
    assert_eq!(manager.post("/relays", private.clone()).await.code(), (422, "invalid_request"));
    assert_eq!(app.call("POST", "/relays", Some(private)).await.0, 200);
    let added = manager.post("/relays", json!({ "relay": "wss://one.example" })).await;
    let listed = manager.get("/relays").await;
    for relay in [&added.body, &listed.body["relays"][0], &listed.body["relays"][1]] {
        assert_eq!(relay["reason"], "it cannot be reached");
    }
    app.stop().await;
}

#[tokio::test]
async fn relays_can_be_added_and_removed() {
    let app = TestApp::start().await;
    assert_eq!(app.call("GET", "/relays", None).await, (200, json!({ "relays": [] })));
    let relay = |url: &str| Some(json!({ "relay": url }));
    let added = json!({
        "relay": "wss://one.example", "status": "disconnected", "origin": "added", "since": 1_732_137_600,
        "reason": "connection refused", "subscribed": false, "queued": 3,
    });
    for _ in 0..2 {
        assert_eq!(app.call("POST", "/relays", relay("wss://one.example")).await, (200, added.clone()));
    }
    assert_eq!(app.call("GET", "/relays", None).await, (200, json!({ "relays": [added] })));
    app.call("POST", "/relays", relay("wss://two.example")).await;
    let (status, body) = app.call("POST", "/relays", relay("wss://three.example")).await;
    let full = ("/relay", "there may be at most 2 relays; remove one first");
    assert_eq!((status, errors(&body)), (422, vec![full]));

    let removed = json!({ "relay": "wss://one.example", "status": "removed" });
    assert_eq!(app.call("DELETE", "/relays", relay("wss://one.example")).await, (200, removed));
    let (status, body) = app.call("DELETE", "/relays", relay("wss://one.example")).await;
    assert_eq!((status, &body["code"]), (404, &json!("relay_not_found")));
    for (method, body, what) in [
        ("POST", relay("https://one.example"), "must be the address of a relay: wss:// or ws://"),
        ("POST", Some(json!({})), "is required"),
        ("POST", Some(json!({ "relay": 7 })), "must be a string, is a number"),
        ("DELETE", Some(json!({})), "is required"),
    ] {
        let (status, body) = app.call(method, "/relays", body).await;
        assert_eq!((status, errors(&body)), (422, vec![("/relay", what)]));
    }
    assert_eq!(app.call("DELETE", "/relays", None).await.0, 400);
    app.stop().await;
}

#[tokio::test]
async fn user_is_erased_and_what_stays_is_listed() {
    let app = TestApp::start().await;
    let user = key(KNOWN).to_hex();
    let erased = |streams: u64, relays: u64| {
        json!({
            "streams": streams, "passkeys": 0, "remote_signers": 0, "relays": relays, "oidc_consents": 0,
            "oidc_records": 0,
        })
    };
    let path = format!("/users/{}", user.to_uppercase());
    let nothing = json!({ "main_key": user, "erased": erased(0, 0), "kept": [], "next": null });
    assert_eq!(app.call("DELETE", &path, None).await, (200, nothing.clone()), "nobody");

    let (stream, _) = app.authentication(key(KNOWN)).await;
    let open = json!({ "reason": "open", "kind": "authentication", "stream_id": stream, "until": null });
    let kept = json!({ "main_key": user, "erased": erased(0, 0), "kept": [open], "next": null });
    assert_eq!(app.call("DELETE", &path, None).await, (200, kept));
    let challenge = app.challenge_to(key(KNOWN)).await;
    app.approve(&challenge, key(KNOWN), None).await;
    let events = format!("/events/{stream}");
    while app.call("GET", &events, None).await.1["done"] != json!(true) {}
    let (status, body) = app.call("DELETE", &path, None).await;
    assert_eq!((status, &body["erased"]["streams"], &body["kept"]), (200, &json!(1), &json!([])));
    let (status, body) = app.call("GET", &events, None).await;
    assert_eq!((status, &body["code"]), (404, &json!("stream_not_found")));
    assert_eq!(app.call("DELETE", &path, None).await, (200, nothing.clone()));

    // From the middle of the search on.
    for after in
        ["operations:0", "events:1", "responses:0", &format!("operations:0:{stream}"), &format!("events:0:{stream}:7")]
    {
        assert_eq!(app.call("DELETE", &format!("{path}?after={after}"), None).await, (200, nothing.clone()), "{after}");
    }
    for (path, field) in [("/users/xyz", "/main_key"), (&*format!("{path}?after=x"), "/after")] {
        let (status, body) = app.call("DELETE", path, None).await;
        assert_eq!((status, errors(&body)[0].0), (422, field), "{path}");
    }
    app.stop().await;
}
