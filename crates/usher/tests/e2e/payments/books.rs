//! The books agree with the wallet, also after kills.

use serde_json::{Value, json};
use usher_sandbox::wallet::Policy;

use super::fixture::{Fixture, invoice};
use crate::harness::{LONG, now, refusal, stream_of, until};

/// All entries, page by page.
async fn books(fixture: &Fixture, query: &str) -> Vec<Value> {
    let (mut payments, mut after) = (Vec::new(), String::new());
    loop {
        let page = fixture.api().get(&format!("/payments?limit=2{query}{after}")).await.unwrap();
        payments.extend(page["payments"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return payments,
        }
    }
}

/// The invoice on a payment's page, once it is made.
async fn invoice_on(fixture: &Fixture, page_url: &str) -> String {
    until("invoice", async || {
        let html = fixture.api().http.get(page_url).send().await.unwrap().text().await.unwrap();
        html.split("id=\"invoice\" readonly value=\"").nth(1)?.split('"').next().map(str::to_owned)
    })
    .await
}

/// What the wallet's balance should have changed by.
fn change(payments: &[Value]) -> i64 {
    let sum = |direction: &str, name: &str| -> i64 {
        let of = payments.iter().filter(|payment| payment["direction"] == direction);
        of.filter_map(|payment| payment[name].as_i64()).sum()
    };
    sum("in", "settled_millisats") - sum("out", "settled_millisats") - sum("out", "fee_millisats")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_books_agree_with_the_wallet_also_after_kills() {
    let mut fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let began = now();
    let paid = fixture.ask(&user, 10_000).await;
    let request = user.next_request(LONG).await.unwrap();
    user.fulfil(&request).await.unwrap();
    fixture.api().finished(&paid).await;
    let refused = fixture.ask(&user, 2_000).await;
    let request = user.next_request(LONG).await.unwrap();
    user.decline(&request, None).unwrap();
    fixture.api().finished(&refused).await;

    // Nobody knows the payer of the third, who pays while the service is down.
    let body = json!({ "description": "=1+1", "amount": 7_000, "currency": "millisats", "expires_at": now() + 600 });
    let started = fixture.api().post("/payments/single", &body).await.unwrap();
    let anybodys = stream_of(&started);
    let shown = invoice_on(&fixture, started["page_url"].as_str().unwrap()).await;
    fixture.usher.kill();
    fixture.somebody_pays(&shown);
    fixture.crash().await;
    fixture.later(&anybodys, 1).await;

    let invoice = invoice(&fixture.payee(), 5_000);
    let bill = json!({ "invoice": invoice.as_str(), "request_id": "bill-1" });
    let out = fixture.api().start("/invoices/pay", &bill).await;
    fixture.api().finished(&out).await;
    let open = fixture.api().start("/payments/single", &body).await;
    fixture.crash().await;

    // The open one changes once more, when its invoice is made.
    let all = until("invoice of the last one", async || {
        let all = books(&fixture, "").await;
        all.last().is_some_and(|last| last["payment_hash"].is_string()).then_some(all)
    })
    .await;
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    let seen: Vec<_> = all.iter().map(|entry| (text(entry, "stream_id"), text(entry, "status"))).collect();
    let expected = [(&paid, "paid"), (&refused, "not_paid"), (&anybodys, "paid"), (&out, "paid"), (&open, "open")];
    assert_eq!(seen, expected.map(|(stream, status)| (stream.clone(), status.to_owned())));
    let balance = i64::try_from(fixture.shop.balance()).unwrap();
    assert_eq!(change(&all), balance - i64::try_from(Fixture::SHOP).unwrap(), "{all:#?}");
    assert_eq!(all[3]["request_id"], "bill-1");
    assert_eq!(all[3]["payment_hash"], invoice.payment_hash().to_string());
    assert_eq!(books(&fixture, "&status=not_paid").await.len(), 1);
    assert_eq!(books(&fixture, &format!("&from={began}")).await, all);
    assert_eq!(books(&fixture, &format!("&to={began}")).await, [] as [Value; 0]);
    let reversed: Vec<_> = all.iter().rev().cloned().collect();
    assert_eq!(books(&fixture, "&order=newest").await, reversed);
    assert_eq!(books(&fixture, "&order=newest&direction=in").await, [&reversed[..1], &reversed[2..]].concat());
    assert_eq!(books(&fixture, "&direction=out").await, [all[3].clone()]);
    for (q, found) in [
        (&*out, vec![&out]),
        ("bill-1", vec![&out]),
        ("order-1", vec![&refused, &paid]),
        (&invoice.payment_hash().to_string(), vec![&out]),
        (&format!("lightning:{}", invoice.as_str().to_uppercase()), vec![&out]),
        // A part of a description.
        ("%3D1%2B", vec![&open, &anybodys]),
        ("%3D1", vec![]),
        ("OFFE", vec![&refused, &paid]),
    ] {
        let found_now: Vec<_> =
            books(&fixture, &format!("&q={q}")).await.iter().map(|entry| text(entry, "stream_id")).collect();
        assert_eq!(found_now.iter().collect::<Vec<_>>(), found, "{q}");
    }
    assert_eq!(books(&fixture, "&q=offe&status=paid").await, [all[0].clone()]);
    assert_eq!(books(&fixture, &format!("&q=bill-1&to={began}")).await, [] as [Value; 0]);
    let wrong = ["from=-1", "to=x", "status=PAID", "direction=both", "order=last", "q="];
    for (query, pointer) in wrong.map(|query| (query, format!("/{}", query.split('=').next().unwrap()))) {
        let (status, problem) = refusal(fixture.api().get(&format!("/payments?{query}")).await);
        assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!(pointer)), "{query}");
    }

    let summary = fixture.api().get(&format!("/summary?from={began}&to={}", now() + 1)).await.unwrap();
    let sum = |name: &str| summary["summary"].as_array().unwrap().iter().filter_map(|sums| sums[name].as_u64()).sum();
    let sums: [u64; 5] = ["paid", "paid_millisats", "unpaid", "sent_millisats", "refunded_millisats"].map(sum);
    assert_eq!(sums, [2, 17_000, 1, 5_000, 0], "{summary}");

    let receipt = fixture.api().get(&format!("/payments/{anybodys}/receipt")).await.unwrap();
    assert_eq!((&receipt["amount_millisats"], &receipt["description"]), (&json!(7_000), &json!("=1+1")));
    for none in [&refused, &open, "nonsense"] {
        let (status, problem) = refusal(fixture.api().get(&format!("/payments/{none}/receipt")).await);
        assert_eq!((status, &problem["code"]), (404, &json!("receipt_not_found")));
    }

    let csv = fixture.usher.says(&["payments", "export", "--csv", "--status", "paid"]).await;
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(lines[0].starts_with("stream_id,created_at,"), "{csv}");
    assert!(lines[2].contains(",in,payment,paid,7000,,,,7000,,'=1+1,,"), "{csv}");
}
