//! Money leaves on chain: once for each request, within the budget, and the books agree, also after kills.

use std::time::Duration;

use futures_util::future::join_all;
use ldk_node::bitcoin::{Address, Amount};
use serde_json::{Value, json};
use usher_lightning_network::Network;

use super::fixture::{Fixture, bitcoind, until};
use crate::harness::{Api, Builder, CallError, Event};

/// An address of somebody else.
const PAYEE: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

/// Millisats of a payment.
const AMOUNT: u64 = 100_000_000;

/// Sats of each coin of the node.
const COIN: u64 = 300_000;

async fn with_coins(coins: u64, budget: Option<u64>) -> Fixture {
    with_coins_and(coins, |builder| match budget {
        Some(budget) => builder.set("WALLET__DAILY_BUDGET_MILLISATS", budget),
        None => builder,
    })
    .await
}

async fn with_coins_and(coins: u64, set: impl FnOnce(Builder) -> Builder) -> Fixture {
    let network = Network::start_copy().await.unwrap();
    let fixture = Fixture::open_on(network, |builder, network| set(bitcoind(builder, network))).await;
    fixture.until_node_runs().await;
    for _ in 0..coins {
        let created = fixture.api().post("/wallet/addresses", &json!({})).await.unwrap();
        let address: Address<_> = created["address"].as_str().unwrap().parse().unwrap();
        fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(COIN)).unwrap();
    }
    until("money on the chain", async || (spendable(&fixture).await == coins * COIN * 1000).then_some(())).await;
    fixture
}

async fn node(fixture: &Fixture) -> Value {
    fixture.api().get("/wallet/info").await.unwrap_or_default()["node"].clone()
}

async fn spendable(fixture: &Fixture) -> u64 {
    node(fixture).await["on_chain"]["spendable"].as_u64().unwrap_or(0)
}

fn body(amount: &Value) -> Value {
    json!({ "address": PAYEE, "amount": amount, "fee_rate": 2, "request_id": "theirs" })
}

/// What the payee has got, in millisats, and in how many transactions.
fn got(fixture: &Fixture) -> (u64, usize) {
    let payee = PAYEE.parse::<Address<_>>().unwrap().assume_checked();
    let transactions = fixture.network.chain.payments_to(&payee);
    let script = payee.script_pubkey();
    let outputs = transactions.iter().flat_map(|transaction| &transaction.output);
    let sum = outputs.filter(|output| output.script_pubkey == script).map(|output| output.value.to_sat() * 1000).sum();
    (sum, transactions.len())
}

/// Waits until the stream has ended, while blocks come.
async fn ended(fixture: &Fixture, stream: &str) -> Vec<Event> {
    until("an end of the payment", async || {
        let _ = fixture.network.chain.mine(1);
        let page = fixture.api().try_events(stream, 0, 1).await.ok()?;
        let is_over = page.events.iter().any(|event| ["paid", "error"].contains(&event.status()));
        is_over.then_some(page.events)
    })
    .await
}

/// The books agree with the balance and with what the payee got.
async fn assert_sums(fixture: &Fixture, before: u64) {
    let booked = fixture.api().get("/payments?status=paid").await.unwrap();
    let sum = |name: &str| -> u64 {
        booked["payments"].as_array().unwrap().iter().map(|payment| payment[name].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("settled_millisats"), got(fixture).0, "{booked}");
    let left = before - sum("settled_millisats") - sum("fee_millisats");
    until("a balance that agrees with the books", async || {
        let node = node(fixture).await;
        (node["on_chain"]["total"] == left && node["pending"]["sending"] == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_amount_and_then_all_of_it_are_sent_and_told() {
    let fixture = with_coins(2, None).await;
    let before = spendable(&fixture).await;
    for (wrong, pointer, words) in [
        (
            json!({ "address": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "amount": AMOUNT }),
            "/address",
            "bitcoin, and wallet.network is regtest",
        ),
        (json!({ "address": PAYEE, "amount": 293_000 }), "/amount", "dust"),
        (json!({ "address": PAYEE, "amount": before }), "/amount", "600000 sat"),
        (json!({ "address": PAYEE, "amount": AMOUNT, "fee_rate": 1001 }), "/fee_rate", "1000"),
    ] {
        match fixture.api().post("/wallet/send", &wrong).await {
            Err(CallError::Status(422, problem)) => {
                let error = &problem["errors"][0];
                assert_eq!(error["pointer"], pointer, "{problem}");
                assert!(error["detail"].as_str().unwrap().contains(words), "{problem}");
            }
            other => panic!("{wrong}: {other:?}"),
        }
    }
    let stream = fixture.start("/wallet/send", &body(&json!(AMOUNT))).await;
    let sending = fixture.api().at_least(&stream, 1).await.remove(0).data;
    assert_eq!((&sending["status"], &sending["amount_millisats"]), (&json!("sending"), &json!(AMOUNT)));
    let fee = sending["fees_paid"].as_u64().unwrap();
    assert!((280_000..=284_000).contains(&fee) && sending["request_id"] == "theirs", "{sending}");
    assert_eq!(node(&fixture).await["pending"]["sending"], AMOUNT + fee);
    let events = ended(&fixture, &stream).await;
    assert_eq!(events.iter().map(Event::status).collect::<Vec<_>>(), ["sending", "paid"]);
    assert_eq!(events[1].data["txid"], sending["txid"]);
    let booked = fixture.api().get("/payments").await.unwrap()["payments"][0].clone();
    assert_eq!((&booked["kind"], &booked["txid"]), (&json!("on_chain"), &sending["txid"]));
    assert_sums(&fixture, before).await;

    let mut command = fixture.usher.command(&["lightning", "send", PAYEE, "all", "--fee-rate", "1"]);
    let asked = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert_eq!(asked.status.code(), Some(2), "it asks");
    let mut command = fixture.usher.command(&["lightning", "send", PAYEE, "all", "--fee-rate", "1", "--yes"]);
    let sent = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8(sent.stdout).unwrap();
    assert!(sent.status.success() && said.contains(": transaction "), "{said}");
    let stream = said.rsplit("stream ").next().unwrap().trim().trim_end_matches(')').to_owned();
    assert_eq!(ended(&fixture, &stream).await.last().unwrap().status(), "paid");
    assert_sums(&fixture, before).await;
    assert_eq!(node(&fixture).await["on_chain"]["total"], 0);
}

/// Above the limit money is sent after an approval, and what is declined is not, across a kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_needs_an_approval_is_sent_once_after_it() {
    let mut fixture = with_coins_and(2, |builder| builder.set("WALLET__APPROVAL_ABOVE_MILLISATS", AMOUNT)).await;
    let before = spendable(&fixture).await;
    let created = fixture.api().post("/keys", &json!({ "name": "desk", "scopes": ["approvals"] })).await.unwrap();
    let decide = async |fixture: &Fixture, stream: &str, decision: &str| {
        let desk = Api { token: created["secret"].as_str().unwrap().to_owned(), ..fixture.api() };
        desk.post(&format!("/approvals/{stream}"), &json!({ "decision": decision })).await.unwrap();
    };
    let declined = fixture.start("/wallet/send", &body(&json!(AMOUNT))).await;
    let approved = fixture.start("/wallet/send", &body(&json!(AMOUNT))).await;
    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    assert_eq!(got(&fixture), (0, 0));
    decide(&fixture, &declined, "decline").await;
    decide(&fixture, &approved, "approve").await;
    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    let statuses = |events: Vec<Event>| events.iter().map(|event| event.status().to_owned()).collect::<Vec<_>>();
    assert_eq!(statuses(ended(&fixture, &approved).await), ["approval_required", "sending", "paid"]);
    assert_eq!(statuses(ended(&fixture, &declined).await), ["approval_required", "error"]);
    assert_eq!(got(&fixture), (AMOUNT, 1));
    assert_sums(&fixture, before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_requests_at_once_stay_within_the_budget_and_the_balance() {
    // Room for five with their largest fees; money for more.
    let mut fixture = with_coins(7, Some(5 * (AMOUNT + 3_000_000))).await;
    let before = spendable(&fixture).await;
    let api = fixture.api();
    let request = body(&json!(AMOUNT));
    let results = join_all((0..100).map(|_| api.post("/wallet/send", &request))).await;
    let mut streams = Vec::new();
    for result in results {
        match result {
            Ok(started) => streams.push(started["stream_id"].as_str().unwrap().to_owned()),
            Err(CallError::Status(429, problem)) => assert_eq!(problem["code"], "budget_exhausted"),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(streams.len(), 5);
    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    for stream in &streams {
        assert_eq!(ended(&fixture, stream).await.last().unwrap().status(), "paid");
    }
    assert_eq!(got(&fixture).0, 5 * AMOUNT);
    assert_sums(&fixture, before).await;
    let exhausted = fixture.api().post("/wallet/send", &request).await;
    assert!(matches!(exhausted, Err(CallError::Status(429, _))), "{exhausted:?}");
    let too_much = fixture.api().post("/wallet/send", &body(&json!(6 * AMOUNT))).await;
    assert!(matches!(too_much, Err(CallError::Status(422, _))), "{too_much:?}");
}

/// Killed before, while and after the transaction is made and stored, and when the response is lost: the repeated request
/// has the same stream, and the payee is paid once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_around_the_transaction_send_it_once() {
    let mut fixture = with_coins(8, None).await;
    let before = spendable(&fixture).await;
    let points = ["before-answer", "before-on-chain-record", "after-on-chain-record"];
    for (number, point) in (1_u64..).zip(points) {
        let (key, request) = (format!("key-{number}"), body(&json!(AMOUNT + number * 1000)));
        fixture.usher.die_at(Some(point));
        fixture.usher.restart().await;
        fixture.until_node_runs().await;
        let first = fixture.api().post_once("/wallet/send", &key, &request).await;
        until("a killed service", async || (!fixture.api().is_up().await).then_some(())).await;
        fixture.usher.die_at(None);
        fixture.usher.restart().await;
        fixture.until_node_runs().await;
        let again = fixture.api().post_once("/wallet/send", &key, &request).await.unwrap().0;
        if let Ok((first, _)) = first {
            assert_eq!(first, again, "{point}");
        }
        let stream = again["stream_id"].as_str().unwrap().to_owned();
        let events = ended(&fixture, &stream).await;
        assert_eq!(events.iter().map(Event::status).collect::<Vec<_>>(), ["sending", "paid"], "{point}");
        assert_eq!(fixture.api().post_once("/wallet/send", &key, &request).await.unwrap().0, again, "{point}");
        assert_eq!(got(&fixture).1 as u64, number, "{point}");
    }
    // And at any time: killed while many are under way.
    let requests: Vec<_> =
        (0..20_u64).map(|number| (format!("many-{number}"), body(&json!(10_000_000 + number * 1000)))).collect();
    for round in 0..4 {
        let api = fixture.api();
        let posts = join_all(requests.iter().map(|(key, request)| api.post_once("/wallet/send", key, request)));
        let _ = tokio::time::timeout(Duration::from_millis(40 * round), posts).await;
        fixture.usher.kill();
        fixture.usher.restart().await;
        fixture.until_node_runs().await;
    }
    let mut streams = Vec::new();
    for (key, request) in &requests {
        let stream = until("a response", async || {
            let started = fixture.api().post_once("/wallet/send", key, request).await.ok()?.0;
            Some(started["stream_id"].as_str()?.to_owned())
        })
        .await;
        streams.push(stream);
    }
    for stream in &streams {
        assert_eq!(ended(&fixture, stream).await.last().unwrap().status(), "paid");
    }
    assert_eq!(got(&fixture).1, points.len() + requests.len());
    assert_sums(&fixture, before).await;
}
