//! `Idempotency-Key`: the service is killed between the work and the response, and the work is done once.

use futures_util::future::join_all;
use serde_json::{Value, json};
use usher_sandbox::lightning::Method;
use usher_sandbox::wallet::{Policy, Wallet};

use super::fixture::{Fixture, invoice};
use crate::harness::{CallError, LONG, now, refusal, statuses, stream_of};

/// Dies after the work, which for calls that start something is committed by then, before the answer is kept or sent.
const POINT: &str = "before-answer";

impl Fixture {
    /// Has the service die in the middle of this call, starts it again, and repeats the call from many sides; answers
    /// what they all were answered, and whether it was the answer of the call that was cut off. In any case, the audit
    /// log has one successful entry, and no entry was lost.
    async fn cut_off(&mut self, path: &str, key: &str, body: &Value) -> (Value, bool) {
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
        assert_eq!(done, 1, "{path}: {entries:?}");
        (answers[0].0.clone(), anew == 0)
    }

    /// All entries.
    async fn audit_log(&self) -> Vec<Value> {
        let page = self.api().get("/audit?limit=1000").await.unwrap();
        page["entries"].as_array().unwrap().clone()
    }

    /// The chain of the audit log has survived all kills.
    async fn verify_audit_log(&self) {
        let entries = self.audit_log().await;
        let last = entries.last().unwrap();
        let expected = format!("{}:{}\n", last["sequence"], last["hash"].as_str().unwrap());
        assert_eq!(self.usher.says(&["audit", "verify"]).await, expected);
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
    let stream = stream_of(&answer);
    assert_eq!(statuses(&fixture.api().finished(&stream).await).last(), Some(&"paid"));
    // The Lightning backend may also have been asked right before the end: nobody sees that invoice.
    let invoices = fixture.wallet.metrics().executed(Method::MakeInvoice);
    assert!((1..=2).contains(&invoices), "{invoices}");
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 7_000);
    // Also when all is over, and with another body it is another call.
    assert_eq!(fixture.api().post_once("/payments/single", "order-7", &body).await.unwrap(), (answer.clone(), true));
    assert_eq!(refusal(fixture.api().post_once("/payments/single", "order-7", &json!({})).await).0, 409);

    // And paid back once.
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
    let invoice = invoice(&fixture.payee(), 5_000);
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
    fixture.verify_audit_log().await;
}
