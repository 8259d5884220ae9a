//! The audit log: which requests have an entry, and its content.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use usher_engine::access::Role;
use usher_engine::ports::{AuditKey, AuditStore as _, Clock as _, SystemClock};
use usher_testing::ports::{FakeApp, MINT, Reply, UNIT, token};

use crate::app::{Builder, TOKEN, TestApp, key};
use crate::keys::Holder;
use crate::{lightning_node, openid};

impl TestApp {
    /// The entries after this number.
    async fn audit_after(&self, after: u64) -> Vec<Value> {
        self.read(&format!("/audit?after={after}")).await["entries"].as_array().unwrap().clone()
    }

    async fn newest(&self) -> u64 {
        self.audit_after(0).await.last().map_or(0, |entry| entry["sequence"].as_u64().unwrap())
    }
}

fn outcomes(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["outcome"].as_str().unwrap()).collect()
}

/// The operations of the document that may change something: all but those that are read.
fn changing_operations() -> BTreeSet<String> {
    let document: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    let items = document["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| ["post", "put", "patch", "delete"].map(|method| item.get(method)));
    operations.flatten().map(|operation| operation["operationId"].as_str().unwrap().to_owned()).collect()
}

const STREAM: &str = "{stream}";

/// An operator who is removed.
const INVITED: u8 = 71;

/// Each of them changes something; what starts with `+` begins before its change.
fn cases() -> Vec<(&'static str, &'static str, String, Value)> {
    let user = key(7).to_hex();
    let soon = SystemClock.now().secs() + 3_600;
    let payment = json!({
        "main_key": user, "subkeys": [], "description": "Coffee", "amount": 7_000, "currency": "millisats", "expires_at": soon,
    });
    let minting = json!({ "mint_url": MINT, "unit": UNIT, "amount": 3 });
    let good = json!({ "mint_url": MINT, "unit": UNIT, "token": token(MINT, UNIT, 3, "good").0 });
    let send = json!({ "main_key": user, "subkeys": [], "mint_url": MINT, "unit": UNIT, "token": token(MINT, UNIT, 5, "sent").0 });
    let asked = json!({ "main_key": user, "subkeys": [] });
    let wanted =
        json!({ "recipient_key": user, "subkeys": [], "content": { "amount": 3_000, "currency": "millisats" } });
    let ticket = json!({ "main_key": user, "subkeys": [], "mint_url": MINT, "unit": UNIT, "amount": 1 });
    let proof = json!({ "recipient_key": user, "subkeys": [], "mint_url": MINT });
    let mut recurring = payment.clone();
    recurring["recurrence"] = json!({ "calendar": "monthly", "first_payment_due": soon });
    let relay = json!({ "relay": "wss://another.example" });
    let rejected = json!({ "decision": "reject" });
    let consent = json!({ "client_id": "a", "main_key": key(1).to_hex() });
    let none = || json!({});
    let case = |action, method, path: &str, body| (action, method, path.to_owned(), body);
    vec![
        case("startLogin", "POST", "/login", none()),
        case("createKeyHandshake", "POST", "/key-handshake", json!({ "static_token": "door" })),
        case("closeKeyHandshake", "DELETE", "/key-handshake/{stream}", none()),
        case("authenticateKey", "POST", "/authenticate-key", asked),
        case("requestPayment", "POST", "/payments/single", payment),
        case("requestInvoice", "POST", "/invoices/request", wanted),
        case("createPaymentLink", "POST", "/payment-links", json!({ "amount": 5_000, "description": "Coffee" })),
        case("closePaymentLink", "DELETE", "/payment-links/{stream}", none()),
        case("requestSubscription", "POST", "/payments/recurring", recurring),
        case("requestTicket", "POST", "/cashu/request", ticket),
        case("createVerificationSession", "POST", "/verification/sessions", none()),
        case("decideVerificationSession", "POST", "/verification/sessions/{stream}/decision", rejected),
        case("requestVerificationToken", "POST", "/verification/token", proof),
        case("sendTicket", "POST", "/cashu/send-direct", send),
        case("+reclaimTicket", "POST", "/cashu/outgoing/{stream}/reclaim", none()),
        case("issueJwt", "POST", "/jwt/issue", json!({ "target_key": user, "duration_hours": 1 })),
        case("+mintTicket", "POST", "/cashu/mint", minting.clone()),
        case("+burnTicket", "POST", "/cashu/burn", good),
        case("+withdrawTicket", "POST", "/cashu/withdraw", minting),
        case("+addRelay", "POST", "/relays", relay.clone()),
        case("+removeRelay", "DELETE", "/relays", relay),
        case("+publishProfile", "PUT", "/profile", json!({ "name": "shop" })),
        case("+eraseUser", "DELETE", &format!("/users/{user}"), none()),
        case(
            "+createOidcClient",
            "POST",
            "/oidc/clients",
            json!({ "client_id": "b", "name": "B", "redirect_uris": ["https://b/"] }),
        ),
        case("+changeOidcClient", "PATCH", "/oidc/clients/b", json!({ "name": "C" })),
        case("+deleteOidcClient", "DELETE", "/oidc/clients/b", none()),
        case("+revokeOidcConsent", "DELETE", "/oidc/consents", consent),
        case("+rotateOidcKeys", "POST", "/oidc/keys", none()),
        case("+revokeOidcKey", "DELETE", "/oidc/keys/key-0", none()),
        case("testWebhook", "POST", "/webhooks/test", none()),
        case("+openChannel", "POST", "/wallet/channels", json!({ "amount": 5_000, "peer": "03aa@host:1" })),
        case("+closeChannel", "POST", "/wallet/channels/ab/close", none()),
        case("+createKey", "POST", "/keys", json!({ "name": "shop", "scopes": ["login"] })),
        case("+rotateKey", "POST", "/keys/{stream}/rotate", json!({ "overlap_seconds": 60 })),
        case("+revokeKey", "DELETE", "/keys/{stream}", none()),
        case("+inviteOperator", "POST", "/operators/invitations", json!({ "name": "Ben", "role": "viewer" })),
        case("+removeOperator", "DELETE", &format!("/operators/{}", key(INVITED).to_hex()), none()),
        case("+createAddress", "POST", "/wallet/addresses", none()),
    ]
}

/// They need a user, or money that was paid: tested with real ones in `crates/usher/tests/e2e`.
const WITH_REAL_PARTS: &str =
    "redeemLogin payInvoice refundPayment closeSubscription retryWebhookDelivery sendOnChain decideApproval";

/// The last two: there is nothing to forget here, which is tested below.
const CHANGE_NOTHING: &str = "verifyJwt getNextOccurrence getReceivingCost forgetPasskeys forgetRemoteSigner";

async fn start() -> TestApp {
    let builder = TestApp::builder();
    let (openid, webhook) = (Some(openid::provider()), Some(FakeApp::new(|_| Reply::Accept) as _));
    Builder { openid, webhook, lightning: Some(lightning_node::backend()), ..builder }.start().await
}

#[tokio::test]
async fn each_change_has_one_entry() {
    let app = start().await;
    let (secret, _) = app.keys.operators().invite("Cleo", Role::Viewer).await.unwrap();
    app.keys.operators().accept(&secret, key(INVITED)).await.unwrap();
    let (mut tested, mut stream) = (BTreeSet::new(), String::new());
    for (action, method, path, body) in cases() {
        let (begins, action) = (action.starts_with('+'), action.trim_start_matches('+'));
        let before = app.newest().await;
        let path = path.replace(STREAM, &stream);
        let response = app.done(method, &path, body).await;
        let entries = app.audit_after(before).await;
        assert_eq!(outcomes(&entries), if begins { &["begun", "ok"][..] } else { &["ok"] }, "{action}");
        for entry in &entries {
            assert_eq!(entry["action"], action);
            assert_eq!((&entry["actor"], &entry["address"]), (&json!("token"), &json!("127.0.0.1")), "{action}");
            assert_eq!(entry["request_id"], "test");
        }
        for name in ["/stream_id", "/session_id", "/key/id"] {
            if let Some(id) = response.pointer(name).and_then(Value::as_str) {
                id.clone_into(&mut stream);
                let is_named = entries.iter().all(|entry| entry["details"].to_string().contains(id));
                assert!(is_named || name != "/stream_id", "{action}: {entries:?}");
            }
        }
        tested.insert(action.to_owned());
    }
    let document = changing_operations();
    let others = WITH_REAL_PARTS.split(' ').chain(CHANGE_NOTHING.split(' ')).map(str::to_owned);
    let all: BTreeSet<_> = tested.iter().cloned().chain(others).collect();
    assert_eq!(document.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "these have no test");

    // No entry names a user, or holds a secret.
    let log = Value::from(app.audit_after(0).await).to_string();
    for hidden in [&*key(7).to_hex(), &key(1).to_hex(), "cashuB", "door", TOKEN, "Coffee"] {
        assert!(!log.contains(hidden), "{hidden}");
    }
    assert!(log.contains(r#""amount_millisats":"7000""#), "{log}");
    assert!(log.contains(r#""relay":"wss://another.example"#), "{log}");
    let (head, newest) = (app.read("/audit").await["head"].clone(), app.newest().await);
    assert_eq!(app.read("/audit/verification").await, json!({ "head": head, "removed": 0, "fault": null }));
    // Somebody who can write the database, without the service's key.
    let word = |word: &str| word.to_owned();
    let mut forged = app.engine.audit().entry(word("token"), word(""), word("startLogin"), word("request"));
    forged.key = AuditKey::of_service(&[8; 32]);
    app.store.add_audit_entry(forged).await.unwrap();
    let found = app.read("/audit/verification").await;
    assert_eq!(found["head"], head);
    assert!(
        found["fault"].as_str().unwrap().contains(&format!("entry {} is not what was written", newest + 1)),
        "{found}"
    );
}

#[tokio::test]
async fn what_changes_nothing_has_no_entry() {
    let app = start().await;
    let jwt = json!({ "public_key": key(1).to_hex(), "token": "no" });
    for (method, path, body) in [
        ("POST", "/jwt/verify", jwt),
        ("POST", "/calendar/next-occurrence", json!({ "calendar": "daily", "from": 0 })),
        ("POST", "/wallet/receiving-cost", json!({ "amount": 300 })),
        // With mistakes, and of paths that do not exist.
        ("POST", "/key-handshake", json!({ "static_token": 7 })),
        ("POST", "/cashu/mint", json!({})),
        ("POST", "/nothing", json!({})),
        ("GET", "/relays", Value::Null),
    ] {
        app.call(method, path, body).await;
    }
    let anonymous = app.http.post(app.url("/key-handshake")).json(&json!({})).send().await.unwrap();
    assert_eq!(anonymous.status(), 401);
    assert_eq!(app.audit_after(0).await, Vec::<Value>::new());

    // A failed request has its error as the outcome.
    for (path, code) in [("passkeys", "passkey_not_found"), ("remote-signers", "remote_signer_not_found")] {
        app.refused("DELETE", &format!("/{path}/{}", key(7).to_hex()), json!({}), (404, code)).await;
    }
    assert_eq!(outcomes(&app.audit_after(0).await), ["begun", "passkey_not_found", "begun", "remote_signer_not_found"]);
}

#[tokio::test]
async fn a_repeated_request_has_one_entry() {
    let app = start().await;
    for path in ["/key-handshake", "/oidc/keys"] {
        for repeated in [false, true, true] {
            let response = app.post(path).header("idempotency-key", "once").json(&json!({})).send().await.unwrap();
            assert_eq!(response.headers().contains_key("idempotency-replayed"), repeated);
        }
    }
    assert_eq!(outcomes(&app.audit_after(0).await), ["ok", "begun", "ok"]);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_done() {
    let app = start().await;
    app.store.fail(&["add_audit_entry"], 1);
    app.refused("POST", "/relays", json!({ "relay": "wss://another.example" }), (503, "storage_unavailable")).await;
    let relays = app.get("/relays").send().await.unwrap().text().await.unwrap();
    assert!(!relays.contains("another.example"), "{relays}");
}

#[tokio::test]
async fn entries_name_the_key_also_when_it_was_refused() {
    let app = start().await;
    let shop = Holder::of(&app, json!({ "scopes": ["login"] })).await;
    let before = app.newest().await;
    for (method, path, status) in [
        ("POST", "/key-handshake", 200),
        ("POST", "/payments/single", 403),
        ("GET", "/payments", 403),
        ("GET", "/audit", 403),
    ] {
        assert_eq!(shop.request(method.parse().unwrap(), path).json(&json!({})).send().await.unwrap().status(), status);
    }
    let entries = app.audit_after(before).await;
    assert!(entries.iter().all(|entry| entry["actor"] == shop.id));
    let actions: Vec<_> = entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["createKeyHandshake", "requestPayment", "listPayments", "listAuditEntries"]);
    assert_eq!(outcomes(&entries), ["ok", "scope_missing", "scope_missing", "scope_missing"]);
    let created = app.audit_after(0).await;
    assert!(created.iter().any(|entry| entry["details"]["key_id"] == shop.id), "{created:?}");
    assert!(!Value::from(created).to_string().contains(&shop.secret));
}

#[tokio::test]
async fn refused_keys_and_commands_are_named_and_bounded() {
    let app = start().await;
    let far = Holder::of(&app, json!({ "scopes": ["admin"], "networks": ["192.0.2.0/24"] })).await;
    let near = Holder::of(&app, json!({ "scopes": ["login"] })).await;
    let before = app.newest().await;
    for _ in 0..30 {
        assert_eq!(far.post("/login", json!({})).await.status, 403);
    }
    let mut socket = near.socket().await;
    for _ in 0..30 {
        let refused = socket.ask("subscribe", json!({ "stream_id": "subscriptions", "after": 0 })).await;
        assert!(refused.to_string().contains("scope_missing"), "{refused}");
    }
    let entries = app.audit_after(before).await;
    for (holder, action, outcome) in [(far, "startLogin", "network_not_allowed"), (near, "subscribe", "scope_missing")]
    {
        let of_key = entries.iter().filter(|entry| entry["actor"] == holder.id);
        let of_key: Vec<_> = of_key.map(|entry| (entry["action"].as_str(), entry["outcome"].as_str())).collect();
        assert_eq!(of_key, [(Some(action), Some(outcome)); 10]);
    }
    assert_eq!(entries.len(), 20);
}

/// What a client writes may be a secret, or name a user.
#[tokio::test]
async fn nothing_that_a_client_wrote_is_in_an_entry() {
    let app = start().await;
    let shop = Holder::of(&app, json!({ "scopes": ["login"] })).await;
    let secret = &*shop.secret;
    let before = app.newest().await;
    for path in [&format!("/keys/{secret}"), "/payment-links/alice%40example.com", "/payment-links/%C2%9B2J%E2%80%AE"] {
        assert_eq!(shop.delete(path).await.status, 403, "{path}");
    }
    for relay in ["wss://user:pass@relay.example/?token=hidden", "wss://relay.example/inbox?token=hidden"] {
        app.call("DELETE", "/relays", json!({ "relay": relay })).await;
    }
    let entries = app.audit_after(before).await;
    assert_eq!(entries.iter().map(|entry| &entry["details"]).filter(|details| **details == json!({})).count(), 3);
    let text = Value::from(entries).to_string();
    for hidden in [secret, "alice", "2J", "pass", "hidden"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

#[tokio::test]
async fn a_key_is_limited_by_its_rate_and_told_what_is_left() {
    let app = start().await;
    let terms = json!({ "scopes": ["login"], "requests_per_second": 2 });
    let shop = Holder::of(&app, terms.clone()).await;
    let request = || shop.request(Method::GET, "/key-handshake");
    // The clock stands still.
    for (status, left) in [(200, 1), (200, 0), (429, 0)] {
        let response = request().send().await.unwrap();
        let field = |name| response.headers()[name].to_str().unwrap();
        assert_eq!(field("ratelimit-policy"), "\"key\";q=2;w=1");
        assert_eq!(field("ratelimit"), format!("\"key\";r={left};t=1"));
        assert_eq!(response.status(), status);
        assert_eq!(response.headers().contains_key("retry-after"), status == 429);
    }
    let response = app.get("/key-handshake").send().await.unwrap();
    assert!(response.status() == 200 && !response.headers().contains_key("ratelimit"), "the token");
    app.clock.turn(std::time::Duration::from_secs(1));
    assert_eq!(request().send().await.unwrap().status(), 200);
    // Commands on a WebSocket count too, as does its opening.
    let other = Holder::of(&app, terms).await;
    let mut socket = other.socket().await;
    let ask = json!({ "stream_id": "subscriptions", "after": 0 });
    assert!(socket.ask("subscribe", ask.clone()).await.to_string().contains("scope_missing"));
    assert!(socket.ask("subscribe", ask).await.to_string().contains("rate_limited"));
    let auth = json!({ "token": other.secret });
    assert!(socket.ask("auth", auth.clone()).await.to_string().contains("rate_limited"));
    app.clock.turn(std::time::Duration::from_secs(1));
    socket.done("auth", auth).await;
}
