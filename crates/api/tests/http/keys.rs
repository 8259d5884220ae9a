//! API keys: what each may do, and how one could get more than it was given.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use usher_api::TrustedProxies;
use usher_testing::ports::MINT;

use crate::app::{TestApp, key, pointers, stream_of, token_of, until, within};
use crate::sockets::client::Client;

/// A key that was created with these fields beside its name: its id and its secret.
pub(crate) async fn create(app: &TestApp, fields: Value) -> (String, String) {
    let response = ask_for_key(app.post("/keys"), fields).await;
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    read(response).await
}

pub(crate) async fn ask_for_key(request: RequestBuilder, fields: Value) -> Response {
    let mut body = json!({ "name": "test" });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    request.json(&body).send().await.unwrap()
}

async fn read(response: Response) -> (String, String) {
    let body: Value = response.json().await.unwrap();
    (body["key"]["id"].as_str().unwrap().to_owned(), body["secret"].as_str().unwrap().to_owned())
}

pub(crate) struct Holder<'a> {
    pub(crate) app: &'a TestApp,
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl<'a> Holder<'a> {
    pub(crate) async fn of(app: &'a TestApp, fields: Value) -> Self {
        let (id, secret) = create(app, fields).await;
        Self { app, id, secret }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.app.http.request(method, self.app.url(path)).bearer_auth(&self.secret)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::DELETE, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(&body)).await
    }

    async fn handshake(&self) -> String {
        let answer = self.post("/key-handshake", json!({ "static_token": self.id })).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        stream_of(&answer.body)
    }

    pub(crate) async fn socket(&self) -> Client {
        Client::try_open(self.app.address, Some(&format!("Bearer {}", self.secret))).await.unwrap()
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = within(request.send()).await.unwrap();
        let status = response.status().as_u16();
        Self { status, body: within(response.json()).await.unwrap_or_default() }
    }

    pub(crate) fn code(&self) -> (u16, &str) {
        (self.status, self.body["code"].as_str().unwrap_or_default())
    }
}

async fn revoke(app: &TestApp, id: &str) {
    assert_eq!(app.request("DELETE", &format!("/keys/{id}")).send().await.unwrap().status(), 200);
}

const ADMIN: [&str; 3] = ["admin", "login", "events:read"];

#[tokio::test]
async fn key_may_do_what_its_scopes_say() {
    let app = TestApp::with(|of| of.is_development = false).await;
    let shop = Holder::of(&app, json!({ "scopes": ["payments:receive"] })).await;
    assert_eq!(shop.get("/payments").await.status, 200);
    for (method, path, scope) in [
        (Method::POST, "/invoices/pay", "payments:send"),
        (Method::GET, "/relays", "relays"),
        (Method::GET, "/keys", "admin"),
        (Method::HEAD, "/keys", ""),
        (Method::POST, "/keys", "admin"),
        (Method::DELETE, "/users/x", "admin"),
        (Method::GET, "/openapi.json", "admin"),
        (Method::GET, "/docs", "admin"),
        (Method::POST, "/cashu/mint", "tickets"),
        (Method::POST, "/cashu/withdraw", "payments:send"),
        (Method::POST, &format!("/payments/{}/refund", shop.id), "payments:send"),
    ] {
        let answer = Answer::of(shop.request(method.clone(), path)).await;
        assert_eq!(answer.status, 403, "{method} {path}");
        if !scope.is_empty() {
            assert_eq!((answer.code().1, &answer.body["scope"]), ("scope_missing", &json!(scope)), "{method} {path}");
        }
    }
    // A wrong path or method is what it is.
    assert_eq!(shop.get("/nothing").await.status, 404);
    assert_eq!(shop.delete("/payments").await.status, 405);
}

#[tokio::test]
async fn keys_are_listed_without_secrets_and_survive_a_restart() {
    let app = TestApp::start().await;
    let fields = json!({
        "scopes": ["login", "admin", "login"], "networks": ["127.0.0.0/8", "::1"], "expires_at": 1_732_137_601,
        "daily_budget_millisats": 5, "requests_per_second": 6, "own_streams_only": true,
    });
    let holder = Holder::of(&app, fields).await;
    assert_eq!(holder.get("/version").await.status, 200);
    let list = app.read("/keys").await;
    let listed = json!({
        "id": holder.id, "name": "test", "scopes": ["login", "admin"], "created_at": 1_732_137_600,
        "expires_at": 1_732_137_601, "expired": false, "networks": ["127.0.0.0/8", "::1/128"], "own_streams_only": true,
        "daily_budget_millisats": 5, "requests_per_second": 6, "last_used_at": 1_732_137_600,
    });
    assert_eq!(list["keys"], json!([listed]));
    let configured = json!([
        { "setting": "auth.auth_token", "last_used_at": 1_732_137_600 },
        { "setting": "webhook.secret", "last_used_at": 1_732_141_200 },
    ]);
    assert_eq!(list["configured"], configured);
    assert!(!list.to_string().contains(&holder.secret));
    let (id, secret) = (holder.id, holder.secret);

    let folder = app.stop_and_leave_database().await;
    let stored = std::fs::read(folder.path().join("test.sqlite")).unwrap();
    assert!(!stored.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "only its hash is stored");
    let app = TestApp::with(|of| of.folder = Some(folder)).await;
    let holder = Holder { app: &app, id, secret };
    assert_eq!(holder.get("/version").await.status, 200);
    let list = app.read("/keys").await;
    assert_eq!(list["keys"][0]["last_used_at"], 1_732_137_600, "it was stored when the service stopped");
}

#[tokio::test]
async fn key_cannot_create_or_rotate_one_that_may_do_more() {
    let app = TestApp::start().await;
    let limits = json!({
        "scopes": ADMIN, "networks": ["127.0.0.0/8"], "expires_at": 1_732_200_000, "requests_per_second": 50,
    });
    let admin = Holder::of(&app, limits.clone()).await;
    let with = |more: Value| {
        let mut fields = limits.clone();
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fields
    };
    for (more, pointer) in [
        (json!({ "scopes": ["admin", "payments:send"] }), "/scopes"),
        (json!({ "scopes": ["relays"] }), "/scopes"),
        (json!({ "expires_at": null }), "/expires_at"),
        (json!({ "expires_at": 1_732_200_001 }), "/expires_at"),
        (json!({ "networks": [] }), "/networks"),
        (json!({ "networks": ["127.0.0.0/7"] }), "/networks"),
        (json!({ "networks": ["127.0.0.1", "10.0.0.1"] }), "/networks"),
        (json!({ "requests_per_second": 51 }), "/requests_per_second"),
        (json!({ "requests_per_second": null }), "/requests_per_second"),
    ] {
        let answer = ask_for_key(admin.request(Method::POST, "/keys"), with(more.clone())).await;
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["errors"][0]["pointer"], pointer, "{more}: {answer}");
    }
    let child = ask_for_key(admin.request(Method::POST, "/keys"), with(json!({ "networks": ["127.0.0.1"] }))).await;
    let (child, _) = read(child).await;
    // It may have the secret of a key like itself, but of no stronger one.
    assert_eq!(admin.post(&format!("/keys/{child}/rotate"), json!({})).await.status, 200);
    let (strong, secret) = create(&app, json!({ "scopes": ["payments:send"] })).await;
    let refused = admin.post(&format!("/keys/{strong}/rotate"), json!({})).await;
    assert_eq!(refused.code(), (422, "invalid_request"));
    let strong = Holder { app: &app, id: strong, secret };
    assert_eq!(strong.get("/payments").await.code(), (403, "scope_missing"), "it was not rotated");
    // Who has a budget creates no other budgets, and who sees only its own streams manages no keys.
    let fields = json!({ "scopes": ["admin", "payments:send", "tickets"], "daily_budget_millisats": 100 });
    let limited = Holder::of(&app, fields).await;
    let body = json!({ "name": "x", "scopes": ["payments:send"], "daily_budget_millisats": 1 });
    assert_eq!(limited.post("/keys", body).await.code(), (422, "invalid_request"));
    // Nor does it spend what its budget does not count.
    for path in ["/cashu/withdraw", "/wallet/channels"] {
        assert_eq!(limited.post(path, json!({})).await.code(), (403, "budget_not_counted"), "{path}");
    }
    let own = Holder::of(&app, json!({ "scopes": ["admin"], "own_streams_only": true })).await;
    for answer in [own.get("/keys").await, own.post("/keys", json!({ "name": "x", "scopes": ["admin"] })).await] {
        assert_eq!(answer.code(), (403, "own_streams_only"));
    }
}

#[tokio::test]
async fn rotated_secret_is_accepted_until_the_overlap_ends() {
    let app = TestApp::start().await;
    let old = Holder::of(&app, json!({ "scopes": ["login", "admin"] })).await;
    let mut socket = old.socket().await;
    let rotate = async |overlap: u64| {
        let body = json!({ "overlap_seconds": overlap });
        let response = app.post(&format!("/keys/{}/rotate", old.id)).json(&body).send().await.unwrap();
        let (id, secret) = read(response).await;
        assert_eq!(id, old.id);
        Holder { app: &app, id, secret }
    };
    let new = rotate(60).await;
    assert_eq!((old.get("/version").await.status, new.get("/version").await.status), (200, 200));
    // Who has a former secret may have stolen it, and must not outlive the rotation.
    let rotation = format!("/keys/{}/rotate", old.id);
    for (path, body) in [(&*rotation, json!({})), ("/keys", json!({ "name": "x", "scopes": ["login"] }))] {
        assert_eq!(old.post(path, body).await.code(), (422, "invalid_request"), "{path}");
    }
    socket.done("ping", json!({})).await;
    let list = app.read("/keys").await;
    let previous = json!({ "accepted_until": 1_732_137_660, "last_used_at": 1_732_137_600 });
    assert_eq!(list["keys"][0]["previous"], previous);
    // Set back, it lasts no longer.
    app.clock.turn_back(Duration::from_secs(3600));
    app.clock.turn(Duration::from_secs(59));
    assert_eq!(old.get("/version").await.status, 200);
    app.clock.turn(Duration::from_secs(1));
    assert_eq!((old.get("/version").await.status, new.get("/version").await.status), (401, 200));
    assert_eq!(socket.end().await, 4001, "what was opened with it ends");
    // Without an overlap at once, and never two former ones.
    let newer = rotate(60).await;
    let newest = rotate(0).await;
    for (holder, status) in [(&new, 401), (&newer, 401), (&newest, 200)] {
        assert_eq!(holder.get("/version").await.status, status);
    }
    // The response with `lost` was lost: nobody has used it.
    let lost = rotate(60).await;
    let again = rotate(120).await;
    for (holder, status) in [(&lost, 401), (&newest, 200), (&again, 200)] {
        assert_eq!(holder.get("/version").await.status, status);
    }
    app.clock.turn(Duration::from_secs(60));
    assert_eq!((newest.get("/version").await.status, again.get("/version").await.status), (401, 200));
    app.refused("POST", "/keys/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/rotate", json!({}), (404, "key_not_found")).await;
}

#[tokio::test]
async fn revocation_ends_what_is_open_at_once() {
    let app = TestApp::start().await;
    let holder = Holder::of(&app, json!({ "scopes": ["login", "events:read"] })).await;
    let stream = holder.handshake().await;
    let mut socket = holder.socket().await;
    socket.subscribe(&stream, 0).await;
    let sse = |path: &str| holder.request(Method::GET, path).header("accept", "text/event-stream").send();
    let mut events = sse(&format!("/events/{stream}")).await.unwrap();
    let mut all = sse("/events").await.unwrap();
    let poll = holder.request(Method::GET, &format!("/events/{stream}?wait=60"));
    let poll = tokio::spawn(Answer::of(poll));
    // All are open: the permits of long polls are seen by their metric only, so the poll is given its turn.
    all.chunk().await.unwrap();
    revoke(&app, &holder.id).await;
    assert_eq!(within(poll).await.unwrap().status, 401);
    assert_eq!(socket.end().await, 4001);
    while within(events.chunk()).await.unwrap().is_some() {}
    while within(all.chunk()).await.unwrap().is_some() {}
    assert_eq!(holder.get(&format!("/events/{stream}")).await.code(), (401, "unauthorized"));
    assert_eq!(app.request("DELETE", &format!("/keys/{}", holder.id)).send().await.unwrap().status(), 404);
    // What it has started continues.
    assert_eq!(app.get(&format!("/events/{stream}")).send().await.unwrap().status(), 200);
    app.stop().await;
}

#[tokio::test]
async fn expiry_ends_what_is_open_and_follows_no_clock_that_is_set_back() {
    let app = TestApp::start().await;
    let fields = json!({ "scopes": ["admin", "events:read", "login"], "expires_at": 1_732_137_660 });
    let holder = Holder::of(&app, fields).await;
    let mut socket = holder.socket().await;
    app.clock.turn_back(Duration::from_secs(86_400));
    app.clock.turn(Duration::from_secs(59));
    assert_eq!(holder.get("/version").await.status, 200);
    app.clock.turn(Duration::from_secs(1));
    assert_eq!(holder.get("/version").await.status, 401);
    assert_eq!(socket.end().await, 4001);
    let list = app.read("/keys").await;
    assert_eq!(list["keys"][0]["expired"], true);
}

#[tokio::test]
async fn key_is_accepted_from_its_networks_only() {
    let app = TestApp::start().await;
    let of = async |networks: Value| Holder::of(&app, json!({ "scopes": ["admin"], "networks": networks })).await;
    let (near, far) = (of(json!(["192.0.2.7", "::ffff:127.0.0.0/104"])).await, of(json!(["192.0.2.0/24"])).await);
    assert_eq!(near.get("/version").await.status, 200);
    let refused = far.get("/version").await;
    assert_eq!(refused.code(), (403, "network_not_allowed"));
    assert!(refused.body["detail"].as_str().unwrap().contains("127.0.0.1"));
    // A client's own forwarding headers are ignored.
    let forwarded = far.request(Method::GET, "/version").header("x-forwarded-for", "192.0.2.7");
    assert_eq!(Answer::of(forwarded).await.status, 403);
    assert_eq!(Client::try_open(app.address, Some(&format!("Bearer {}", far.secret))).await.err(), Some(403));
    let mut stranger = Client::open_as_stranger(&app).await;
    let answer = stranger.ask("auth", json!({ "token": far.secret })).await;
    assert_eq!(answer["type"], "error", "{answer}");
    assert_eq!(stranger.end().await, 4001);
}

/// Whatever it may do: a leaked key takes neither the token's places nor those of all keys.
#[tokio::test]
async fn one_key_leaves_places_to_others() {
    let mut builder = TestApp::builder();
    let limits = &mut builder.limits;
    (limits.max_event_streams, limits.max_websockets, limits.max_mint_calls, limits.max_changes) = (8, 8, 8, 1);
    limits.mint_timeout = Duration::from_secs(3_600);
    let app = builder.start().await;
    let leaked = Holder::of(&app, json!({ "scopes": ["events:read", "tickets"] })).await;
    let listen = || leaked.request(Method::GET, "/events").send();
    let streams = [listen().await.unwrap(), listen().await.unwrap()];
    assert!(streams.iter().all(|stream| stream.status() == 200));
    let refused = leaked.get("/events").await;
    assert_eq!(refused.code(), (503, "overloaded"));
    assert!(refused.body["detail"].as_str().unwrap().contains("a quarter of limits.max_event_streams"));
    assert_eq!(app.get("/events").send().await.unwrap().status(), 200);
    let secret = format!("Bearer {}", leaked.secret);
    let open = || Client::try_open(app.address, Some(&secret));
    let sockets = [open().await.unwrap(), open().await.unwrap()];
    assert_eq!(open().await.err(), Some(503));
    drop((Client::open(&app).await, sockets));

    // A mint that does not respond holds up nothing else, though one change may run at a time.
    app.tickets.hang(Some((MINT, false)));
    let minting = json!({ "mint_url": MINT, "unit": "multi", "amount": 1 });
    let mint = || leaked.request(Method::POST, "/cashu/mint").json(&minting).send();
    let waiting = [mint(), mint()].map(tokio::spawn);
    until(async || app.tickets.calls("mint").len() == 2).await;
    assert_eq!(leaked.post("/cashu/mint", minting.clone()).await.code(), (503, "overloaded"));
    within(app.handshake(json!({}))).await;
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    app.tickets.hang(None);
}

/// A proxy of the pages is trusted only for pages: clients of the API at its address could forge another one.
#[tokio::test]
async fn only_proxies_of_the_api_name_its_clients() {
    let loopback = || TrustedProxies::new(["127.0.0.0/8".parse().unwrap()]);
    for of_api in [false, true] {
        let mut builder = TestApp::builder();
        builder.serve.trusted_proxies = loopback();
        if of_api {
            builder.serve.trusted_api_proxies = loopback();
        }
        let app = builder.start().await;
        let far = Holder::of(&app, json!({ "scopes": ["admin"], "networks": ["192.0.2.0/24"] })).await;
        let forwarded = far.request(Method::GET, "/audit").header("x-forwarded-for", "192.0.2.7");
        assert_eq!(Answer::of(forwarded).await.status == 200, of_api);
        if of_api {
            // Nor are the wrong tokens of one client held against the others.
            let wrong = |client| {
                app.http.get(app.url("/version")).bearer_auth("wrong").header("x-forwarded-for", client).send()
            };
            let crowd = futures_util::future::join_all((0..100).map(|_| wrong("192.0.2.8")));
            let is_first = tokio::select! { _ = crowd => false, _ = wrong("192.0.2.9") => true };
            assert!(is_first);
        }
        app.stop().await;
    }
}

/// A confused deputy: a key that sees only its own streams asks for those of another.
#[tokio::test]
async fn streams_of_others_do_not_exist_for_a_key_that_sees_only_its_own() {
    let app = TestApp::start().await;
    let fields =
        json!({ "scopes": ["login", "events:read", "payments:receive", "tickets", "admin"], "own_streams_only": true });
    let (one, other) = (Holder::of(&app, fields.clone()).await, Holder::of(&app, fields).await);
    let (own, theirs) = (one.handshake().await, other.handshake().await);
    let (of_token, _) = app.handshake(json!({ "static_token": "t" })).await;
    for stream in [&theirs, &of_token, "subscriptions", "lightning-address"] {
        for path in [format!("/events/{stream}"), format!("/events/{stream}?wait=1")] {
            assert_eq!(one.get(&path).await.code(), (404, "stream_not_found"), "{path}");
        }
        let sse = one.request(Method::GET, &format!("/events/{stream}")).header("accept", "text/event-stream");
        assert_eq!(Answer::of(sse).await.status, 404);
        assert_eq!(one.delete(&format!("/key-handshake/{stream}")).await.status, 404);
        assert_eq!(one.post(&format!("/login/{stream}/redeem"), json!({ "code": "x" })).await.status, 404);
        assert_eq!(one.get(&format!("/payments/{stream}/receipt")).await.status, 404);
        assert_eq!(one.post(&format!("/cashu/outgoing/{stream}/reclaim"), json!({})).await.status, 404);
        assert_eq!(one.delete(&format!("/payment-links/{stream}")).await.status, 404);
    }
    assert_eq!(one.get(&format!("/events/{own}")).await.status, 200);
    // What is open under a static token of another client is not shown.
    for token in ["t", &other.id] {
        let answer = one.post("/key-handshake", json!({ "static_token": token })).await;
        assert_eq!((answer.status, pointers(&answer.body)), (422, vec!["/static_token"]));
    }
    // Lists, page by page.
    let (mut listed, mut next) = (Vec::new(), Some(String::new()));
    while let Some(after) = next {
        let page = one.get(&format!("/key-handshake?limit=1{after}")).await.body;
        listed.extend(page["handshakes"].as_array().unwrap().iter().map(stream_of));
        next = page["next"].as_str().map(|next| format!("&after={next}"));
    }
    assert_eq!(listed, [own.as_str()]);
    // Over a WebSocket.
    let mut socket = one.socket().await;
    socket.subscribe(&own, 0).await;
    let refused = socket.ask("subscribe", json!({ "stream_id": theirs, "after": 0 })).await;
    assert_eq!(refused["type"], "error", "{refused}");
    let get = |path: &str| json!({ "method": "GET", "path": path });
    let answer = socket.ask("request", get(&format!("/events/{theirs}"))).await;
    assert!(answer.to_string().contains("stream_not_found"), "{answer}");
    let answer = socket.ask("request", get("/relays")).await;
    assert!(answer.to_string().contains("scope_missing"), "{answer}");
    // The secret of another does not make the connection theirs.
    let refused = socket.ask("auth", json!({ "token": other.secret })).await;
    assert_eq!(refused["type"], "error");
    assert_eq!(socket.end().await, 4001);
    // Logins that have ended.
    for holder in [&one, &other] {
        let body = json!({ "main_key": key(5).to_hex(), "subkeys": [] });
        let stream = stream_of(&holder.post("/authenticate-key", body).await.body);
        app.approve(&app.challenge_to(key(5)).await, key(5), None).await;
        let is_all = async || {
            let logins = holder.get("/logins").await.body["logins"].as_array().unwrap().clone();
            logins.iter().map(|login| login["stream_id"].as_str().unwrap()).eq([stream.as_str()])
        };
        until(is_all).await;
    }
    // What is about the whole service.
    for path in ["/metrics", "/health/ready", "/summary", "/wallet/info", "/cashu/balances", "/webhooks/deliveries"] {
        assert_eq!(one.get(path).await.code(), (403, "own_streams_only"), "{path}");
    }
}

#[tokio::test]
async fn live_feed_leaves_out_the_events_of_others() {
    let app = TestApp::start().await;
    let fields = json!({ "scopes": ["login", "events:read"], "own_streams_only": true });
    let one = Holder::of(&app, fields).await;
    let mut feed = one.request(Method::GET, "/events").header("accept", "text/event-stream").send().await.unwrap();
    feed.chunk().await.unwrap();
    let (_, token) = app.handshake(json!({})).await;
    app.scan(&token, key(3)).await;
    let answer = one.post("/key-handshake", json!({})).await;
    app.scan(&token_of(&answer.body), key(4)).await;
    let mut seen = String::new();
    while !seen.contains("event: KeyHandshake") {
        let chunk = within(feed.chunk()).await.unwrap().unwrap();
        seen.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(seen.contains(answer.body["stream_id"].as_str().unwrap()), "{seen}");
    assert!(seen.contains(&key(4).to_hex()) && !seen.contains(&key(3).to_hex()), "{seen}");
}

#[tokio::test]
async fn each_key_has_idempotency_keys_of_its_own() {
    let app = TestApp::start().await;
    let fields = json!({ "scopes": ["login"] });
    let (one, other) = (Holder::of(&app, fields.clone()).await, Holder::of(&app, fields).await);
    let post = async |holder: Option<&Holder<'_>>| {
        let path = "/key-handshake";
        let request = holder.map_or_else(|| app.post(path), |of| of.request(Method::POST, path));
        Answer::of(request.header("idempotency-key", "k").json(&json!({}))).await.body["stream_id"].clone()
    };
    let first = [post(None).await, post(Some(&one)).await, post(Some(&other)).await];
    assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2], "{first:?}");
    assert_eq!([post(None).await, post(Some(&one)).await, post(Some(&other)).await], first);
}

#[tokio::test]
async fn repeated_creation_gives_the_same_key_without_its_secret() {
    let app = TestApp::start().await;
    let create = || ask_for_key(app.post("/keys").header("idempotency-key", "k"), json!({ "scopes": ["login"] }));
    let first: Value = create().await.json().await.unwrap();
    let again: Value = create().await.json().await.unwrap();
    assert!(first["secret"].is_string() && again.get("secret").is_none());
    assert_eq!(again["key"], first["key"]);
    assert_eq!(app.keys.list().len(), 1);
}

/// A key that is revoked while it creates another one: one of the two comes first.
#[tokio::test]
async fn revocation_and_creation_at_the_same_time_leave_no_key_of_a_revoked_one_unseen() {
    let app = TestApp::start().await;
    for _ in 0..10 {
        let admin = Holder::of(&app, json!({ "scopes": ["admin"] })).await;
        let body = json!({ "name": "child", "scopes": ["admin"] });
        let (created, ()) = tokio::join!(admin.post("/keys", body), revoke(&app, &admin.id));
        let listed = app.keys.list().into_iter().filter(|listed| listed.terms.name == "child").count();
        assert_eq!(listed, usize::from(created.status == 200), "{created:?}");
        for child in app.keys.list() {
            revoke(&app, &child.id.to_string()).await;
        }
    }
}
