//! `Idempotency-Key`: the service is killed between the work and the response, and the work is done once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use usher_sandbox::lightning::{InvoiceTerms, Method};
use usher_sandbox::wallet::{Agreement, Policy, Wallet};

use super::fixture::{Fixture, now, statuses};
use crate::harness::{CallError, LONG, TestTasks};

/// Dies after the work, which for calls that start something is committed by then, before the answer is kept or sent.
const POINT: &str = "before-answer";

impl Fixture {
    /// Has the service die in the middle of this call, starts it again, and repeats the call from many sides; answers what
    /// they all were answered, and whether it was the answer of the call that was cut off.
    /// However it went, the audit log says once that it was done, and nothing in it was lost.
    async fn cut_off(&mut self, path: &str, key: &str, body: &Value) -> (Value, bool) {
        const CHANGE_NOTHING: [&str; 2] = ["/jwt/verify", "/calendar/next-occurrence"];
        let before = self.audit_log().await.len();
        self.usher.die_at(Some(POINT));
        self.crash().await;
        match self.api().post_once(path, key, body).await {
            Err(CallError::Network(_)) => {}
            other => panic!("{path}: it should have died: {other:?}"),
        }
        self.usher.die_at(None);
        self.crash().await;
        let api = self.api();
        // Until there is an answer, as an app would: a connection from before may be tried first.
        let call = async || loop {
            match api.post_once(path, key, body).await {
                Err(CallError::Network(_)) => {}
                answered => break answered.expect("answered"),
            }
        };
        let answers = join_all((0..8).map(|_| call())).await;
        assert!(answers.iter().all(|(answer, _)| *answer == answers[0].0), "{path}: {answers:?}");
        let anew = answers.iter().filter(|(_, replayed)| !replayed).count();
        assert!(anew <= 1, "{path}: {answers:?}");
        let entries = self.audit_log().await.split_off(before);
        let count = |outcome| entries.iter().filter(|entry| entry["outcome"] == outcome).count();
        // One that died after its change, and whose response was stored with that, has only `begun`.
        let done = count("ok").max(usize::from(count("begun") > 0));
        assert_eq!(done, usize::from(!CHANGE_NOTHING.contains(&path)), "{path}: {entries:?}");
        (answers[0].0.clone(), anew == 0)
    }

    /// All entries.
    async fn audit_log(&self) -> Vec<Value> {
        let (mut entries, mut after) = (Vec::new(), "0".to_owned());
        loop {
            let page = self.api().get(&format!("/audit?limit=1000&after={after}")).await.unwrap();
            entries.extend(page["entries"].as_array().unwrap().iter().cloned());
            match page["next"].as_str() {
                Some(next) => next.clone_into(&mut after),
                None => return entries,
            }
        }
    }

    /// What `usher audit verify` prints.
    async fn verify_audit_log(&self) -> String {
        let mut command = self.usher.command(&["audit", "verify"]);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// How many operations of this kind are open.
    async fn count(&self, kind: &str) -> u64 {
        self.api().metric(&format!("usher_operations_open{{kind=\"{kind}\"}}")).await
    }
}

fn payment(user: &Wallet) -> Value {
    json!({
        "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Coffee", "amount": 7_000,
        "currency": "millisats", "expires_at": now() + 120,
    })
}

#[test]
fn each_post_is_tested_here() {
    // What the embedded Lightning node does is recorded by the node, and tested with it (`crates/embedded-lightning/tests`).
    const BY_THE_NODE: [&str; 4] =
        ["/wallet/addresses", "/wallet/channels", "/wallet/channels/{channel_id}/close", "/wallet/receiving-cost"];
    let document: Value = serde_json::from_str(include_str!("../../../../../docs/openapi.json")).unwrap();
    let posts = document["paths"].as_object().unwrap().iter().filter(|(_, calls)| calls.get("post").is_some());
    // What waits for a mint is repeated through kills by the tests of tickets.
    let tests = [
        include_str!("idempotency.rs"),
        include_str!("../tickets.rs"),
        include_str!("../tickets/kills.rs"),
        // What the embedded Lightning node sends on chain, too.
        include_str!("../embedded_lightning/sends.rs"),
    ];
    for (path, _) in posts.filter(|(path, _)| !BY_THE_NODE.contains(&path.as_str())) {
        let path =
            path.replace("{id}", "{stream}:0").replace("{stream_id}", "{stream}").replace("{session_id}", "{session}");
        let tested = format!("\"{path}\"");
        assert!(tests.iter().any(|test| test.contains(&tested)), "{path} has no test");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_is_asked_for_once() {
    let mut fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let body = payment(&user);
    let (answer, replayed) = fixture.cut_off("/payments/single", "order-7", &body).await;
    assert!(replayed, "it was committed with the payment");
    assert_eq!(fixture.count("single_payment").await, 1);
    let request = user.next_request(LONG).await.expect("asked");
    user.fulfil(&request).await.expect("paid");
    let events = fixture.api().finished(answer["stream_id"].as_str().unwrap()).await;
    assert_eq!(statuses(&events).last(), Some(&"paid"));
    // The Lightning backend may also have been asked right before the end: nobody sees that invoice.
    let invoices = fixture.wallet.metrics().executed(Method::MakeInvoice);
    assert!((1..=2).contains(&invoices), "{invoices}");
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 7_000);
    // Also when all is over, and with another body it is another call.
    assert_eq!(fixture.api().post_once("/payments/single", "order-7", &body).await.unwrap(), (answer.clone(), true));
    let other = fixture.api().post_once("/payments/single", "order-7", &json!({})).await;
    assert!(matches!(other, Err(CallError::Status(409, _))), "{other:?}");

    // And paid back once.
    let stream = answer["stream_id"].as_str().unwrap();
    let all = json!({});
    let (refund, replayed) = fixture.cut_off(&format!("/payments/{stream}/refund"), "refund-7", &all).await;
    assert!(replayed && refund["stream_id"].is_string(), "{refund}");
    assert_eq!(fixture.count("refund").await, 1);
    assert!(fixture.network.totals().add_up());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_operation_is_started_once() {
    let mut fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let payee = fixture.network.open_account("payee", 0);
    let invoice = payee.make_invoice(&InvoiceTerms::of(5_000)).unwrap();
    let main_key = user.main_key().to_hex();
    let asked = json!({"main_key": main_key, "subkeys": []});
    let mut recurring = payment(&user);
    recurring["recurrence"] = json!({"calendar": "monthly", "first_payment_due": now()});
    let wanted = json!({
        "recipient_key": main_key, "subkeys": [], "content": {"amount": 3_000, "currency": "millisats"},
    });
    let ticket =
        json!({"main_key": main_key, "subkeys": [], "mint_url": "https://mint.example", "unit": "multi", "amount": 1});
    let proof = json!({"recipient_key": main_key, "subkeys": [], "mint_url": "https://mint.example"});
    for (path, kind, body) in [
        ("/cashu/request", "ticket_request", ticket),
        ("/verification/token", "ticket_request", proof),
        ("/verification/sessions", "verification_session", json!({})),
        ("/key-handshake", "key_handshake", json!({})),
        ("/key-handshake", "key_handshake", json!({"static_token": "door"})),
        ("/login", "login", json!({})),
        // A reusable login is a key handshake that starts logins.
        ("/login", "key_handshake", json!({"static_token": "another-door"})),
        ("/authenticate-key", "authentication", asked),
        ("/payments/recurring", "recurring_request", recurring),
        ("/invoices/request", "invoice_request", wanted),
        ("/payment-links", "payment_link", json!({"amount": 5_000, "description": "Coffee"})),
        ("/invoices/pay", "own_payment", json!({"invoice": invoice.as_str()})),
    ] {
        let before = fixture.count(kind).await;
        let key = format!("{kind}-{}", body.to_string().len());
        let (answer, replayed) = fixture.cut_off(path, &key, &body).await;
        assert!(replayed && answer["stream_id"].is_string(), "{path}: {answer}");
        let after = fixture.count(kind).await;
        // Our own wallet may have paid right before the end, and then it is over.
        assert!(after == before + 1 || kind == "own_payment" && after == before, "{path}: {before}, {after}");
    }
    assert!(fixture.network.executed(invoice.payment_hash()) <= 1);
    assert!(fixture.network.totals().add_up());
}

/// The code that the page of a login gives to the browser that opens it first.
async fn code_on_the_page(page_url: &str) -> String {
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut cookie = String::new();
    for _ in 0..4 {
        let page = browser.get(page_url).header("Accept", "text/html").header("Cookie", &cookie).send().await.unwrap();
        let header = |name| page.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        if let Some(set) = header("set-cookie") {
            cookie = set.split(';').next().unwrap().to_owned();
        }
        let location = header("location").unwrap_or_default();
        let text = location + &page.text().await.unwrap();
        if let Some((_, code)) = text.split_once("code=") {
            return code.chars().take_while(char::is_ascii_alphanumeric).collect();
        }
    }
    panic!("the page gives no code");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_is_redeemed_once() {
    let return_url = "http://127.0.0.1:9/app";
    let mut fixture = Fixture::open_with(|builder| builder.set("PAGES__RETURN_URLS", return_url)).await;
    let user = fixture.user(Policy::silent()).await;
    let login = fixture.api().post("/login", &json!({ "return_url": return_url })).await.unwrap();
    let stream = login["stream_id"].as_str().unwrap();
    user.open(&login["url"].as_str().unwrap().parse().unwrap(), LONG).await.unwrap();
    let request = user.next_request(LONG).await.expect("asked");
    user.approve(&request).unwrap();
    while !statuses(&fixture.api().events(stream).await.0).contains(&"user_approved") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let code = code_on_the_page(login["page_url"].as_str().unwrap()).await;
    let (redeemed, replayed) =
        fixture.cut_off(&format!("/login/{stream}/redeem"), "redeem", &json!({ "code": code })).await;
    assert!(replayed && redeemed["main_key"] == user.main_key().to_hex(), "{redeemed}");
    let events = fixture.api().finished(stream).await;
    assert_eq!(statuses(&events).iter().filter(|status| **status == "approved").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_is_closed_once_and_what_starts_nothing_may_be_done_again() {
    // Nobody is there: deliveries wait.
    let app = json!([{
        "id": "app", "name": "App", "public": true, "redirect_uris": ["https://app.example.com/callback"],
    }]);
    let mut fixture =
        Fixture::open_with(|builder| builder.set("WEBHOOK__URL", "http://127.0.0.1:9/hook").set("OIDC__CLIENTS", app))
            .await;
    let user = fixture.user(Policy::silent()).await;
    let mut recurring = payment(&user);
    recurring["recurrence"] = json!({"calendar": "monthly", "first_payment_due": now() + 86_400});
    let stream = fixture.start("/payments/recurring", &recurring).await;
    let request = user.next_request(LONG).await.expect("asked");
    user.agree(&request, &Agreement::default()).unwrap();
    let events = fixture.api().finished(&stream).await;
    let id = events[0].data["subscription_id"].clone();

    let close = json!({"main_key": user.main_key().to_hex(), "subkeys": [], "subscription_id": id});
    let (answer, replayed) = fixture.cut_off("/payments/recurring/close", "bye", &close).await;
    assert!(replayed && answer["status"] == "closed", "{answer}");
    let subscription = fixture.api().get(&format!("/subscriptions/{}", id.as_str().unwrap())).await.unwrap();
    assert_eq!(subscription["state"], "closed_by_provider");

    let (delivery, replayed) =
        fixture.cut_off(&format!("/webhooks/deliveries/{stream}:0/retry"), "again", &json!({})).await;
    assert!(replayed && delivery["status"] == "pending", "{delivery}");

    let session = fixture.api().post("/verification/sessions", &json!({})).await.unwrap();
    let session = session["session_id"].as_str().unwrap();
    let decision = json!({"decision": "reject"});
    let (decided, replayed) =
        fixture.cut_off(&format!("/verification/sessions/{session}/decision"), "decided", &decision).await;
    assert!(replayed && decided["session_id"] == session, "{decided}");

    // No response is stored before these are done; repeated, they have the same result.
    let jwt = json!({"target_key": user.main_key().to_hex(), "duration_hours": 1});
    let (issued, replayed) = fixture.cut_off("/jwt/issue", "jwt", &jwt).await;
    assert!(!replayed && issued["token"].is_string());
    let verify = json!({"public_key": fixture.usher.public_key().to_hex(), "token": issued["token"]});
    let (verified, replayed) = fixture.cut_off("/jwt/verify", "verify", &verify).await;
    assert!(!replayed && verified["target_key"] == jwt["target_key"]);
    let calendar = json!({"calendar": "daily", "from": 0});
    let (next, replayed) = fixture.cut_off("/calendar/next-occurrence", "next", &calendar).await;
    assert!(!replayed && next["next_occurrence"] == 86_400);
    let relay = json!({"relay": "ws://127.0.0.1:9"});
    let before = fixture.api().get("/relays").await.unwrap();
    let count = |answer: &Value| answer["relays"].as_array().expect("relays").len();
    let (_, replayed) = fixture.cut_off("/relays", "relay", &relay).await;
    assert!(!replayed);
    assert_eq!(count(&fixture.api().get("/relays").await.unwrap()), count(&before) + 1);
    // A repeated response shows no secret.
    let key = json!({"name": "app", "scopes": ["login"]});
    let mut created = Value::Null;
    for (path, body) in [("/keys".to_owned(), key), ("/keys/{key_id}/rotate".to_owned(), json!({}))] {
        let path = path.replace("{key_id}", created["key"]["id"].as_str().unwrap_or_default());
        let (first, replayed) = fixture.api().post_once(&path, "key", &body).await.unwrap();
        assert!(!replayed && first["secret"].is_string());
        let (again, replayed) = fixture.api().post_once(&path, "key", &body).await.unwrap();
        assert!(replayed && again.get("secret").is_none() && again["key"] == first["key"], "{again}");
        created = first;
    }
    // Rotated once more, and the answer is what holds.
    let (rotated, replayed) = fixture.cut_off("/oidc/keys", "rotate", &json!({})).await;
    assert!(!replayed);
    assert_eq!(fixture.api().get("/oidc/keys").await.unwrap(), rotated);
}

/// What was answered to a key, by all who asked with it.
type Answers = Arc<Mutex<Vec<Vec<Value>>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_instants_each_key_stands_for_one_operation() {
    const KEYS: usize = 40;
    const CALLERS: usize = 3;
    let mut fixture = Fixture::open().await;
    let api = fixture.api();
    let (answers, over): (Answers, _) =
        (Arc::new(Mutex::new(vec![Vec::new(); KEYS])), Arc::new(AtomicBool::new(false)));
    let test_tasks = TestTasks::default();
    for _ in 0..CALLERS {
        let (api, answers) = (api.clone(), Arc::clone(&answers));
        let over = Arc::clone(&over);
        test_tasks.spawn(async move {
            for key in 0..KEYS {
                // Until there is an answer, as an app would.
                loop {
                    match api.post_once("/key-handshake", &format!("login-{key}"), &json!({})).await {
                        Ok((answer, _)) => break answers.lock()[key].push(answer),
                        Err(CallError::Network(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
                        Err(error) => panic!("refused: {error:?}"),
                    }
                }
                if !over.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        });
    }
    for round in 0..6_u64 {
        tokio::time::sleep(Duration::from_millis(37 * round % 90)).await;
        fixture.usher.restart().await;
        test_tasks.check();
    }
    over.store(true, Ordering::Relaxed);
    test_tasks.ended(LONG).await;
    for (key, answers) in answers.lock().iter().enumerate() {
        assert_eq!(answers.len(), CALLERS);
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{key}: {answers:?}");
    }
    assert_eq!(fixture.count("key_handshake").await, KEYS as u64);

    // Each of them, and nothing else, is in the audit log once; and its chain has survived.
    let entries = fixture.audit_log().await;
    for answers in answers.lock().iter() {
        let stream = &answers[0]["stream_id"];
        let of_it: Vec<_> = entries.iter().filter(|entry| entry["details"]["stream_id"] == *stream).collect();
        assert_eq!(of_it.len(), 1, "{stream}: {of_it:?}");
    }
    assert_eq!(entries.len(), KEYS);
    let last = entries.last().unwrap();
    assert_eq!(fixture.verify_audit_log().await, format!("{}:{}", last["sequence"], last["hash"].as_str().unwrap()));
}
