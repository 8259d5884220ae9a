//! Lists are read page by page.

use serde_json::{Value, json};
use usher_testing::ports::{FakeApp, MINT, Reply, UNIT, token};

use crate::app::{Builder, TestApp, key, pointers, until};
use crate::{lightning_node, openid};

/// All entries of a list, in pages of this size: how each names itself.
async fn entries(app: &TestApp, path: &str, (list, name): (&str, &str), limit: usize) -> Vec<Value> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = app.read(&format!("{path}limit={limit}{after}")).await;
        let entries = page[list].as_array().unwrap();
        assert!(entries.len() <= limit, "{path}: {page}");
        found.extend(entries.iter().map(|entry| entry[name].clone()));
        let Some(next) = page["next"].as_str() else { return found };
        assert_eq!(entries.len(), limit, "{path}: {page}");
        after = format!("&after={next}");
    }
}

#[tokio::test]
async fn every_list_has_pages() {
    let webhook = Some(FakeApp::new(|_| Reply::Refuse) as _);
    let (lightning, openid) = (Some(lightning_node::backend()), Some(openid::provider()));
    let mut builder = Builder { webhook, lightning, openid, ..TestApp::builder() };
    builder.options.payments.spending.approval_above = Some(0);
    let app = builder.start().await;
    assert_eq!(app.read("/audit").await, json!({ "entries": [], "head": null, "next": null }));
    for number in 1..=3 {
        let (_, url_token) = app.handshake(json!({})).await;
        app.scan(&url_token, key(9)).await;
        let (_, challenge) = app.authentication(key(8)).await;
        app.approve(&challenge, key(8), None).await;
        let ticket = token(MINT, UNIT, number, "good").0;
        for (path, body) in [
            ("/key-handshake", json!({ "static_token": number.to_string() })),
            ("/payment-links", json!({ "amount": 5_000, "description": "Coffee" })),
            ("/wallet/send", json!({ "address": "bc1q", "amount": 50_000 })),
            ("/cashu/send-direct", json!({ "main_key": key(7).to_hex(), "subkeys": [], "token": ticket })),
        ] {
            app.done("POST", path, body).await;
        }
    }
    for (path, names) in [
        ("/audit?", ("entries", "sequence")),
        ("/key-handshake?", ("handshakes", "stream_id")),
        ("/logins?", ("logins", "stream_id")),
        ("/payment-links?", ("links", "stream_id")),
        ("/approvals?", ("approvals", "stream_id")),
        ("/cashu/outgoing?", ("outgoing", "stream_id")),
        ("/oidc/consents?", ("consents", "main_key")),
        ("/webhooks/deliveries?status=pending&", ("deliveries", "id")),
    ] {
        // What happens meanwhile is on later pages.
        until(async || {
            let (all, one_by_one) = (entries(&app, path, names, 100).await, entries(&app, path, names, 1).await);
            all.len() >= 3 && all == one_by_one
        })
        .await;
        let (status, problem) = app.call("GET", &format!("{path}after=%ff&limit=0"), Value::Null).await;
        assert_eq!((status, pointers(&problem)), (422, vec!["/after", "/limit"]), "{path}");
        for wrong in ["after=", "after=x", "limit=1001"] {
            assert_eq!(app.call("GET", &format!("{path}{wrong}"), Value::Null).await.0, 422, "{path}{wrong}");
        }
    }
    let audit = app.read("/audit").await;
    let full = app.read(&format!("/audit?limit={}", audit["entries"].as_array().unwrap().len())).await;
    assert_eq!((&full["next"], &audit["next"]), (&Value::Null, &Value::Null));
    let last = audit["entries"].as_array().unwrap().last().unwrap();
    assert_eq!(audit["head"], format!("{}:{}", last["sequence"], last["hash"].as_str().unwrap()));
}
