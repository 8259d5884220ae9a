//! The console's requests: an operator's session in place of a key, what each role may do, and what others try with it.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use usher_engine::access::{AcceptError, Role, Scope};
use usher_testing::ports::MINT;

use crate::app::{
    ADMIN, APPROVER, CONSOLE, OWNER, SUPPORT, TOKEN, TestApp, VIEWER, key, pointers, read, stream_of, within,
};
use crate::keys::Holder;
use crate::lightning_node;

const STREAM: &str = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11";

struct Browser<'a> {
    app: &'a TestApp,
    session: String,
}

impl<'a> Browser<'a> {
    fn log_in(app: &'a TestApp, operator: u8) -> Self {
        Self { app, session: app.keys.operators().sessions().begin(key(operator)) }
    }

    /// A request of the console's program, without a path of the API.
    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let own = [("sec-fetch-site", "same-origin"), ("origin", CONSOLE), ("usher-console", "1")];
        own.into_iter().fold(self.bare(method, path), |request, (name, value)| request.header(name, value))
    }

    /// What a page of another site can make the browser send, at most.
    fn bare(&self, method: &str, path: &str) -> RequestBuilder {
        let request = self.app.http.request(method.parse().unwrap(), self.app.url(path));
        request.header("cookie", format!("session={}", self.session)).header("x-request-id", "test")
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.request(method, &format!("/console/api{path}"));
        read(if body.is_null() { request } else { request.json(&body) }).await
    }

    /// The status of a call, and the code of a problem.
    async fn outcome(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let (status, body) = self.call(method, path, body).await;
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    }

    async fn session(&self) -> (u16, Value) {
        read(self.request("GET", "/console/session")).await
    }
}

fn outcome(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn session_reaches_the_routes_of_the_api_under_the_operators_name() {
    let app = TestApp::start().await;
    let admin = Browser::log_in(&app, ADMIN);
    let (status, started) = admin.call("POST", "/key-handshake", json!({ "static_token": "door" })).await;
    assert_eq!(status, 200, "{started}");
    assert_eq!(admin.call("GET", "/key-handshake", Value::Null).await.1, app.read("/key-handshake").await);
    let path = format!("/console/api/events/{}?wait=0", stream_of(&started));
    assert_eq!(read(admin.bare("GET", &path)).await.0, 200, "a read needs no header");

    let repeated = |key: &str| {
        let request = admin.request("POST", "/console/api/login").header("idempotency-key", key.to_owned());
        read(request.json(&json!({})))
    };
    let (first, second) = (repeated("a").await, repeated("a").await);
    assert_eq!(first, second);
    let entries = app.read("/audit").await["entries"].as_array().unwrap().clone();
    let entry = |entry: &Value| (entry["actor"].clone(), entry["action"].clone());
    let actions = ["createKeyHandshake", "startLogin"].map(|action| (json!("operator:admin"), json!(action)));
    assert_eq!(entries.iter().map(entry).collect::<Vec<_>>(), actions);

    assert_eq!(admin.outcome("GET", "/nothing", Value::Null).await, outcome(404, "route_not_found"));
    assert_eq!(admin.outcome("PUT", "/keys", Value::Null).await, outcome(405, "method_not_allowed"));
    for page in ["/ws", "/docs", "/openapi.json"] {
        assert_eq!(admin.outcome("GET", page, Value::Null).await, outcome(404, "route_not_found"), "{page}");
    }
}

#[tokio::test]
async fn roles_may_do_what_they_are_for() {
    let app = TestApp::with(|of| of.lightning = Some(lightning_node::backend())).await;
    let [viewer, support, admin] = [VIEWER, SUPPORT, ADMIN].map(|operator| Browser::log_in(&app, operator));
    let link = json!({ "amount": 5_000, "description": "Coffee" });
    let new_key = json!({ "name": "shop", "scopes": ["login"] });
    let approver = json!({ "name": "shop", "scopes": ["approvals"] });
    let user = format!("/users/{}", key(9).to_hex());
    let refund = format!("/payments/{STREAM}/refund");
    let approval = format!("/approvals/{STREAM}");
    let delivery = format!("/webhooks/deliveries/{STREAM}:0/retry");
    let decision = format!("/verification/sessions/{STREAM}/decision");
    let closed = json!({ "main_key": key(9).to_hex(), "subkeys": [], "subscription_id": STREAM });
    let approve = json!({ "decision": "approve" });
    let no = (403, "role_not_allowed");
    let unknown = (404, "stream_not_found");
    for (method, path, body, expected) in [
        // Everybody sees everything.
        ("GET", "/keys", Value::Null, [(200, ""); 3]),
        ("GET", "/audit", Value::Null, [(200, ""); 3]),
        ("GET", "/operators", Value::Null, [(200, ""); 3]),
        ("GET", "/approvals", Value::Null, [(200, ""); 3]),
        ("POST", "/payment-links", link, [no, (200, ""), (200, "")]),
        ("DELETE", &format!("/payment-links/{STREAM}"), Value::Null, [no, unknown, unknown]),
        // Without a limit, nobody would look at a refund.
        ("POST", &refund, json!({}), [no, no, unknown]),
        ("POST", &delivery, json!({}), [no, (404, "delivery_not_found"), (404, "delivery_not_found")]),
        (
            "POST",
            &decision,
            json!({ "decision": "reject" }),
            [no, (404, "session_not_found"), (404, "session_not_found")],
        ),
        (
            "POST",
            "/payments/recurring/close",
            closed,
            [no, (404, "subscription_not_found"), (404, "subscription_not_found")],
        ),
        ("DELETE", &user, Value::Null, [no, (200, ""), (200, "")]),
        ("POST", "/login", json!({}), [no, no, (200, "")]),
        ("POST", "/relays", json!({ "relay": "wss://other.example" }), [no, no, (200, "")]),
        ("POST", "/keys", new_key, [no, no, (200, "")]),
        // An administrator does not become an approver by a detour.
        ("POST", "/keys", approver, [no, no, (422, "invalid_request")]),
        ("POST", &approval, approve, [no; 3]),
        ("POST", "/invoices/pay", json!({}), [no, no, (422, "invalid_request")]),
    ] {
        for (browser, (status, code)) in [&viewer, &support, &admin].into_iter().zip(expected) {
            let found = browser.outcome(method, path, body.clone()).await;
            assert_eq!(found, outcome(status, code), "{method} {path} {}", browser.session().await.1["role"]);
        }
    }
    let app = TestApp::with(|of| {
        of.lightning = Some(lightning_node::backend());
        of.options.payments.spending.approval_above = Some(0);
    })
    .await;
    let support = Browser::log_in(&app, SUPPORT);
    assert_eq!(support.outcome("POST", &refund, json!({})).await, outcome(404, "stream_not_found"), "within the limit");
}

/// A person in `wallet.approvers`, without a role or with one, decides about what others have asked for, and by that alone sees
/// nothing else.
#[tokio::test]
async fn approvers_decide_about_requests_of_others_and_without_a_role_see_nothing_else() {
    let app = TestApp::with(|of| {
        of.lightning = Some(lightning_node::backend());
        of.options.payments.spending.approval_above = Some(0);
    })
    .await;
    let [viewer, owner, approver] = [VIEWER, OWNER, APPROVER].map(|operator| Browser::log_in(&app, operator));
    let asked = async |browser: &Browser<'_>| {
        let body = json!({ "address": "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", "amount": 5_000_000 });
        let (status, started) = browser.call("POST", "/wallet/send", body).await;
        assert_eq!(status, 200, "{started}");
        stream_of(&started)
    };
    let (first, second) = (asked(&owner).await, asked(&owner).await);
    let decide = async |browser: &Browser<'_>, stream: &str, decision: &str| {
        browser.outcome("POST", &format!("/approvals/{stream}"), json!({ "decision": decision })).await
    };
    let session = approver.session().await.1;
    let name = &key(APPROVER).to_hex()[..16];
    let shown = ["name", "role", "approver", "scopes"].map(|field| session[field].clone());
    assert_eq!(json!(shown), json!([name, null, true, ["approvals"]]));
    for browser in [&viewer, &owner, &approver] {
        let (status, list) = browser.call("GET", "/approvals", Value::Null).await;
        let by = list["approvals"].as_array().unwrap().iter().map(|one| &one["requested_by"]).collect::<Vec<_>>();
        assert_eq!((status, json!(by)), (200, json!(["operator:owner", "operator:owner"])));
    }
    let no = outcome(403, "role_not_allowed");
    let user = format!("/users/{}", key(9).to_hex());
    for path in
        ["/payments", "/events", "/settings", "/operators", "/keys", "/audit", "/summary", "/health/ready", &user]
    {
        assert_eq!(approver.outcome("GET", path, Value::Null).await, no, "{path}");
    }
    for (path, body) in
        [("/payment-links", json!({})), ("/wallet/send", json!({})), ("/operators/invitations", json!({}))]
    {
        assert_eq!(approver.outcome("POST", path, body).await, no, "{path}");
    }
    assert_eq!(decide(&viewer, &first, "decline").await, no, "no approver");
    assert_eq!(decide(&owner, &first, "approve").await, outcome(403, "own_request"));
    let shop = Holder::of(&app, json!({ "scopes": ["payments:send"] })).await;
    for (path, body) in [
        ("/keys", json!({ "name": "own", "scopes": ["payments:send"] })),
        (&*format!("/keys/{}/rotate", shop.id), json!({})),
        ("/operators/invitations", json!({ "name": "Ben", "role": "support" })),
    ] {
        let (status, refused) = owner.call("POST", path, body).await;
        assert_eq!(status, 422, "could approve what it asks for: {path} {refused}");
    }
    app.clock.turn(Duration::from_secs(301));
    assert_eq!(decide(&approver, &first, "approve").await, outcome(403, "step_up_required"));
    let approver = Browser::log_in(&app, APPROVER);
    assert_eq!(decide(&approver, &first, "approve").await, outcome(200, ""));
    assert_eq!(decide(&approver, &first, "decline").await, outcome(404, "approval_not_found"));
    let fresh = Browser::log_in(&app, OWNER);
    assert_eq!(decide(&fresh, &second, "decline").await, outcome(200, ""), "one's own can be declined");

    let entries = app.read("/audit?limit=1000").await["entries"].as_array().unwrap().clone();
    let decided = entries.iter().filter(|entry| entry["action"] == "decideApproval" && entry["outcome"] == "ok");
    let decided =
        decided.map(|entry| json!([entry["actor"], entry["details"]["decision"], entry["details"]["stream_id"]]));
    let expected =
        [json!([format!("operator:{name}"), "approve", first]), json!(["operator:owner", "decline", second])];
    assert_eq!(decided.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn money_keys_and_operators_need_a_fresh_login() {
    let app = TestApp::start().await;
    let admin = Browser::log_in(&app, ADMIN);
    app.clock.turn(Duration::from_secs(301));
    let (invite, refund) = (json!({ "name": "Ben", "role": "admin" }), format!("/payments/{STREAM}/refund"));
    let old = outcome(403, "step_up_required");
    assert_eq!(admin.outcome("POST", "/operators/invitations", invite.clone()).await, old);
    assert_eq!(admin.outcome("POST", "/keys", json!({ "name": "x", "scopes": ["login"] })).await, old);
    for path in [&refund, "/invoices/pay", "/wallet/send", "/wallet/channels", "/cashu/mint", "/oidc/keys"] {
        assert_eq!(admin.outcome("POST", path, json!({})).await, old, "{path}");
    }
    assert_eq!(admin.outcome("POST", "/login", json!({})).await.0, 200);
    let fresh = Browser::log_in(&app, ADMIN);
    assert_eq!(fresh.outcome("POST", "/operators/invitations", invite).await.0, 200);
}

/// Requests that another site, another program on the same domain, or the operator's own mistake could cause.
#[tokio::test]
async fn requests_from_elsewhere_change_and_read_nothing() {
    let app = TestApp::start().await;
    let admin = Browser::log_in(&app, ADMIN);
    let own = [("sec-fetch-site", "same-origin"), ("origin", CONSOLE)];
    let forged: [&[(&str, &str)]; 9] = [
        &[],
        &[("usher-console", "1")],
        &own,
        &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example"), ("usher-console", "1")],
        &[("sec-fetch-site", "same-site"), ("origin", "https://blog.usher.example"), ("usher-console", "1")],
        &[("sec-fetch-site", "none"), ("usher-console", "1")],
        &[("origin", "null"), ("usher-console", "1")],
        &[("origin", "http://usher.example"), ("usher-console", "1")],
        &[("sec-fetch-site", "same-origin"), ("origin", CONSOLE), ("usher-console", "true")],
    ];
    for headers in forged {
        for (method, path) in [("POST", "/console/api/login"), ("DELETE", "/console/session")] {
            let request =
                headers.iter().fold(admin.bare(method, path), |request, (name, value)| request.header(*name, *value));
            let (status, problem) = read(request.json(&json!({}))).await;
            assert_eq!((status, &problem["code"]), (404, &json!("route_not_found")), "{headers:?}: {problem}");
        }
    }
    for site in ["cross-site", "same-site", "none"] {
        let request = admin.bare("GET", "/console/api/keys").header("sec-fetch-site", site);
        assert_eq!(read(request).await.0, 404, "{site}");
    }
    assert_eq!(app.read("/audit").await["entries"], json!([]));

    // Each credential has one place.
    let bearer = |method: &str, path: &str| {
        let request = app.http.request(method.parse().unwrap(), app.url(path)).bearer_auth(TOKEN);
        own.into_iter().fold(request, |request, (name, value)| request.header(name, value)).header("usher-console", "1")
    };
    for path in ["/console/api/payments", "/console/session", "/console/api/nothing"] {
        let (status, problem) = read(bearer("GET", path)).await;
        assert_eq!((status, &problem["code"]), (401, &json!("unauthorized")), "{path}");
    }
    for path in ["/payments", "/events", "/console/../payments"] {
        assert_eq!(read(admin.request("GET", path)).await.0, 401, "{path}");
    }
    // Whose role was removed.
    let stranger = Browser::log_in(&app, 99);
    assert_eq!(stranger.session().await.0, 401);
}

#[tokio::test]
async fn operator_sees_and_ends_sessions_and_a_stream_ends_with_its_own() {
    let app = TestApp::start().await;
    let admin = Browser::log_in(&app, ADMIN);
    app.clock.turn(Duration::from_secs(1));
    let (other, support) = (Browser::log_in(&app, ADMIN), Browser::log_in(&app, SUPPORT));
    let (status, session) = admin.session().await;
    assert_eq!(status, 200);
    let shown = ["name", "key", "role", "approver", "service", "currency", "test_mode", "version"];
    let expected = json!(["admin", key(ADMIN).to_hex(), "admin", false, "Bar Seven", null, true, "1.2.3"]);
    assert_eq!(json!(shown.map(|field| session[field].clone())), expected);
    let began = session["sessions"][0]["began_at"].as_u64().unwrap();
    assert_eq!((&session["step_up_until"], &session["expires_at"]), (&json!(began + 300), &json!(began + 1_801)));
    let sessions = session["sessions"].as_array().unwrap();
    assert_eq!(sessions.iter().map(|session| session["current"] == true).collect::<Vec<_>>(), [true, false]);
    assert!(!session.to_string().contains(&admin.session));

    let mut stream = other.bare("GET", "/console/api/events").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert!(within(stream.chunk()).await.unwrap().is_some());
    let end = |browser: &Browser<'_>, session: &Value| {
        let id = session["id"].as_str().unwrap();
        browser.request("DELETE", &format!("/console/sessions/{id}")).send()
    };
    assert_eq!(end(&support, &sessions[1]).await.unwrap().status(), 204);
    assert_eq!(other.session().await.0, 200, "somebody else's");
    assert_eq!(end(&admin, &sessions[1]).await.unwrap().status(), 204);
    while within(stream.chunk()).await.unwrap().is_some() {}
    assert_eq!(other.session().await.0, 401);
    assert_eq!(admin.request("DELETE", "/console/session").send().await.unwrap().status(), 204);
    assert_eq!(admin.outcome("GET", "/payments", Value::Null).await, outcome(401, "unauthorized"));

    // Reads that nobody has caused do not extend a session.
    for _ in 0..2 {
        app.clock.turn(Duration::from_secs(901));
        read(support.bare("GET", "/console/session")).await;
    }
    assert_eq!(support.session().await.0, 401);
}

/// An operator has no limits, and stays when the key is revoked.
#[tokio::test]
async fn key_invites_nobody_who_may_do_more() {
    let app = TestApp::start().await;
    let invite = async |fields: Value, role: &str| {
        let key = Holder::of(&app, fields).await;
        key.post("/operators/invitations", json!({ "name": "Ben", "role": role })).await
    };
    let most: Vec<&str> = Scope::ALL.into_iter().map(Scope::as_str).filter(|scope| *scope != "approvals").collect();
    for (fields, role) in [
        (json!({ "scopes": ["admin"] }), "viewer"),
        (json!({ "scopes": ["admin", "events:read"] }), "support"),
        (json!({ "scopes": most, "networks": ["127.0.0.0/8"] }), "admin"),
        (json!({ "scopes": most, "daily_budget_millisats": 1_000 }), "admin"),
        (json!({ "scopes": most, "requests_per_second": 10 }), "viewer"),
        (json!({ "scopes": most, "expires_at": 1_732_200_000 }), "viewer"),
    ] {
        let refused = invite(fields.clone(), role).await;
        assert_eq!((refused.status, pointers(&refused.body)), (422, vec!["/role"]), "{fields} {role}");
    }
    assert_eq!(app.read("/operators").await["invitations"], json!([]));
    for (scopes, role) in [(vec!["admin", "events:read"], "viewer"), (most, "admin")] {
        assert_eq!(invite(json!({ "scopes": scopes }), role).await.status, 200, "{role}");
    }
}

#[tokio::test]
async fn invitation_counts_once_and_for_an_hour_and_its_operator_can_be_removed() {
    let app = TestApp::start().await;
    let admin = Browser::log_in(&app, ADMIN);
    let operators = app.keys.operators();
    let invite = async |name: &str| {
        let body = json!({ "name": name, "role": "support" });
        let (status, invited) = admin.call("POST", "/operators/invitations", body).await;
        assert_eq!(status, 200, "{invited}");
        let url = invited["page_url"].as_str().unwrap().to_owned();
        url.strip_prefix("https://usher.example/console/invite/").unwrap().to_owned()
    };
    let first = invite("Ben").await;
    let second = invite("Ben").await;
    assert_eq!(app.read("/operators").await["invitations"].as_array().unwrap().len(), 1);
    assert!(matches!(operators.accept(&first, key(71)).await, Err(AcceptError::NotFound)), "replaced");
    assert!(matches!(operators.accept(&second, key(ADMIN)).await, Err(AcceptError::IsOperator)));
    assert_eq!(operators.accept(&second, key(71)).await.unwrap().role, Role::Support);
    assert!(matches!(operators.accept(&second, key(72)).await, Err(AcceptError::NotFound)), "used");
    app.clock.turn(Duration::from_secs(200));
    let late = invite("Cleo").await;
    app.clock.turn(Duration::from_secs(3_600));
    assert!(matches!(operators.accept(&late, key(72)).await, Err(AcceptError::NotFound)), "expired");

    let listed = app.read("/operators").await;
    let ben = json!({ "key": key(71).to_hex(), "name": "Ben", "role": "support", "source": "invitation" });
    assert_eq!((&listed["operators"][4], &listed["invitations"]), (&ben, &json!([])));
    for (name, role) in [("", "admin"), ("Ben", "admin"), ("admin", "admin"), (" x", "admin"), ("Dora", "root")] {
        app.refused("POST", "/operators/invitations", json!({ "name": name, "role": role }), (422, "invalid_request"))
            .await;
    }

    let browser = Browser::log_in(&app, 71);
    assert_eq!(browser.session().await.1["name"], "Ben");
    for unknown in [key(ADMIN).to_hex(), key(99).to_hex(), "Ben".to_owned()] {
        let path = format!("/operators/{unknown}");
        app.refused("DELETE", &path, Value::Null, (404, "operator_not_found")).await;
    }
    app.done("DELETE", &format!("/operators/{}", key(71).to_hex()), Value::Null).await;
    assert_eq!(browser.session().await.0, 401);
    let folder = app.stop_and_leave_database().await;
    let app = TestApp::with(|of| of.folder = Some(folder)).await;
    assert_eq!(app.read("/operators").await["operators"].as_array().unwrap().len(), 4, "it is durable");
}

#[tokio::test]
async fn console_is_for_its_networks() {
    let app = TestApp::with(|of| of.console_networks = vec!["192.0.2.0/24".parse().unwrap()]).await;
    let admin = Browser::log_in(&app, ADMIN);
    assert_eq!(admin.outcome("GET", "/keys", Value::Null).await, outcome(403, "network_not_allowed"));
}

/// A ticket in an event is money to whoever reads it.
#[tokio::test]
async fn only_administrators_see_tickets() {
    let app = TestApp::with(|of| of.options.verification.mint_url = Some(MINT.to_owned())).await;
    let [support, admin] = [SUPPORT, ADMIN].map(|operator| Browser::log_in(&app, operator));
    let mut live = support.bare("GET", "/console/api/events").send().await.unwrap();
    within(live.chunk()).await.unwrap();
    let session = app.done("POST", "/verification/sessions", json!({})).await;
    let path = format!("/verification/sessions/{}/decision", session["session_id"].as_str().unwrap());
    assert_eq!(support.outcome("POST", &path, json!({ "decision": "approve" })).await.0, 200);
    let events = format!("/events/{}?wait=60", stream_of(&session));
    let token = |event: (u16, Value)| event.1["events"][0]["data"]["token"].clone();
    assert!(
        token(admin.call("GET", &events, Value::Null).await).as_str().is_some_and(|token| token.starts_with("cashu"))
    );
    let of_support = support.call("GET", &events, Value::Null).await;
    assert_eq!(of_support.1["events"][0]["data"]["status"], "success", "{of_support:?}");
    assert_eq!(token(of_support), Value::Null);
    let request = support.bare("GET", &format!("/console/api{events}")).header("accept", "text/event-stream");
    let of_stream = within(request.send()).await.unwrap().text().await.unwrap();
    let mut of_feed = String::new();
    while !of_feed.contains("CashuResponse") || !of_feed.ends_with("\n\n") {
        of_feed.push_str(std::str::from_utf8(&within(live.chunk()).await.unwrap().unwrap()).unwrap());
    }
    for text in [of_stream, of_feed] {
        assert!(text.contains("success") && !text.contains("cashu"), "{text}");
    }
}
