//! Profiles, identifiers and relays.

use serde_json::{Value, json};
use usher_engine::ports::PublishError;

use crate::app::{KNOWN, TestApp, UNREACHABLE, key, pointers};
use crate::keys::Holder;

#[tokio::test]
async fn user_profile_is_returned() {
    let app = TestApp::start().await;
    let expected = json!({
        "id": "01".repeat(32), "pubkey": key(KNOWN).to_hex(), "name": "ada", "display_name": null, "picture": null,
        "about": null, "nip05": "ada@example.com",
    });
    for written in [key(KNOWN).to_hex(), key(KNOWN).to_hex().to_uppercase()] {
        assert_eq!(app.read(&format!("/profile/{written}")).await, expected);
    }
    app.refused("GET", &format!("/profile/{}", key(2).to_hex()), Value::Null, (404, "profile_not_found")).await;
    app.refused("GET", &format!("/profile/{}", key(UNREACHABLE).to_hex()), Value::Null, (503, "no_relay_connected"))
        .await;
}

#[tokio::test]
async fn service_profile_can_be_published_and_read() {
    let app = TestApp::start().await;
    let change = json!({ "name": "shop", "display_name": null, "nip05": "_@shop.example", "unknown": 1 });
    let body = app.done("PUT", "/profile", change).await;
    let expected = [json!("shop"), json!(null), json!("_@shop.example"), json!(key(crate::app::SERVICE).to_hex())];
    assert_eq!(["name", "display_name", "nip05", "pubkey"].map(|name| body[name].clone()), expected);

    app.directory.fail_publishing(PublishError::NoRelay);
    app.refused("PUT", "/profile", json!({ "name": "shop" }), (503, "no_relay_connected")).await;
    app.directory.fail_publishing(PublishError::Signing);
    app.refused("PUT", "/profile", json!({ "name": "shop" }), (500, "internal_error")).await;
    assert_eq!(app.call("PUT", "/profile", Value::Null).await.0, 400, "a body that is missing clears nothing");
}

#[tokio::test]
async fn well_known_nostr_json_is_public() {
    let app = TestApp::start().await;
    let nobody = json!({ "names": {}, "relays": {} });
    assert_eq!(app.read("/.well-known/nostr.json").await, nobody);
    app.done("PUT", "/profile", json!({ "name": "shop" })).await;
    let us = key(crate::app::SERVICE).to_hex();
    let whole = json!({ "names": { "shop": us }, "relays": { us: ["wss://relay.example"] } });
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
    let preflight = app.http.request(http::Method::OPTIONS, app.url("/.well-known/nostr.json")).send().await.unwrap();
    assert_eq!(preflight.status(), 204);
    assert_eq!(preflight.headers()["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn nip05_identifiers_are_resolved() {
    let app = TestApp::start().await;
    let expected = json!({ "pubkey": key(KNOWN).to_hex(), "relays": ["wss://relay.example"] });
    for written in ["ada@example.com", "Ada@Example.com", "ada%40example.com"] {
        assert_eq!(app.read(&format!("/nip05/{written}")).await, expected, "{written}");
    }
    app.refused("GET", "/nip05/bob@example.com", Value::Null, (404, "profile_not_found")).await;
    app.refused("GET", "/nip05/busy@example.com", Value::Null, (503, "overloaded")).await;
}

#[tokio::test]
async fn keys_learn_nothing_of_the_internal_network_by_adding_relays() {
    let app = TestApp::start().await;
    let manager = Holder::of(&app, json!({ "scopes": ["relays"] })).await;
    let private = json!({ "relay": "ws://127.0.0.1:22" });
    assert_eq!(manager.post("/relays", private.clone()).await.code(), (422, "invalid_request"));
    assert_eq!(app.call("POST", "/relays", private).await.0, 200);
    let added = manager.post("/relays", json!({ "relay": "wss://one.example" })).await;
    let listed = manager.get("/relays").await;
    for relay in [&added.body, &listed.body["relays"][0], &listed.body["relays"][1]] {
        assert_eq!(relay["reason"], "it cannot be reached");
    }
}

#[tokio::test]
async fn relays_can_be_added_and_removed() {
    let app = TestApp::start().await;
    assert_eq!(app.read("/relays").await, json!({ "relays": [] }));
    let relay = |url: &str| json!({ "relay": url });
    let added = json!({
        "relay": "wss://one.example", "status": "disconnected", "origin": "added", "since": 1_732_137_600,
        "reason": "connection refused", "subscribed": false, "queued": 3,
    });
    for _ in 0..2 {
        assert_eq!(app.call("POST", "/relays", relay("wss://one.example")).await, (200, added.clone()));
    }
    assert_eq!(app.read("/relays").await, json!({ "relays": [added] }));
    app.call("POST", "/relays", relay("wss://two.example")).await;
    let (status, body) = app.call("POST", "/relays", relay("wss://three.example")).await;
    assert_eq!((status, pointers(&body)), (422, vec!["/relay"]));
    assert_eq!(body["errors"][0]["detail"], "there may be at most 2 relays; remove one first");

    let removed = json!({ "relay": "wss://one.example", "status": "removed" });
    assert_eq!(app.call("DELETE", "/relays", relay("wss://one.example")).await, (200, removed));
    app.refused("DELETE", "/relays", relay("wss://one.example"), (404, "relay_not_found")).await;
    assert_eq!(app.call("DELETE", "/relays", Value::Null).await.0, 400);
}

#[tokio::test]
async fn user_is_erased_and_what_stays_is_listed() {
    let app = TestApp::start().await;
    let user = key(KNOWN).to_hex();
    let erased = |streams: u64, relays: u64| {
        json!({
            "streams": streams, "passkeys": 0, "logins": 0, "remote_signers": 0, "relays": relays, "oidc_consents": 0,
            "oidc_records": 0,
        })
    };
    let path = format!("/users/{}", user.to_uppercase());
    app.refused("GET", &path, Value::Null, (404, "user_not_found")).await;
    let nothing = json!({ "main_key": user, "erased": erased(0, 0), "kept": [], "next": null });
    assert_eq!(app.call("DELETE", &path, Value::Null).await, (200, nothing.clone()), "nobody");

    let (stream, _) = app.authentication(key(KNOWN)).await;
    let open = json!({ "reason": "open", "kind": "authentication", "stream_id": stream, "until": null });
    let kept = json!({ "main_key": user, "erased": erased(0, 0), "kept": [open], "next": null });
    assert_eq!(app.call("DELETE", &path, Value::Null).await, (200, kept));
    let shown = app.read(&path).await;
    assert_eq!(json!([shown["main_key"], shown["logins"], shown["logins_total"]]), json!([user, [stream], 1]));
    assert!(shown["first_seen"].is_u64() && shown["next"].is_null());
    let challenge = app.challenge_to(key(KNOWN)).await;
    app.approve(&challenge, key(KNOWN), None).await;
    let events = format!("/events/{stream}");
    while app.call("GET", &events, Value::Null).await.1["done"] != json!(true) {}
    let (status, body) = app.call("DELETE", &path, Value::Null).await;
    assert_eq!((status, &body["erased"]["streams"], &body["kept"]), (200, &json!(1), &json!([])));
    app.refused("GET", &events, Value::Null, (404, "stream_not_found")).await;
    assert_eq!(app.call("DELETE", &path, Value::Null).await, (200, nothing.clone()));

    // From the middle of the search on.
    for after in ["streams:0", "responses:0", &format!("streams:1:{stream}")] {
        assert_eq!(app.done("DELETE", &format!("{path}?after={after}"), Value::Null).await, nothing, "{after}");
    }
}
