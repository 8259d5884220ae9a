//! Money leaves on chain: once for each request, within the budget, and the books agree, also after kills.

use std::time::Duration;

use futures_util::future::join_all;
use ldk_node::bitcoin::{Address, Amount};
use serde_json::{Value, json};
use usher_lightning_network::Network;

use super::fixture::{Fixture, bitcoind};
use crate::harness::{Builder, Event, stream_of, until};

/// An address outside the service's wallet.
const PAYEE: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

/// Millisats of a payment.
const AMOUNT: u64 = 100_000_000;

/// Sats of each coin of the node.
const COIN: u64 = 300_000;

async fn with_coins(coins: u64, set: impl FnOnce(Builder) -> Builder) -> Fixture {
    let network = Network::start_copy().await.unwrap();
    let fixture = Fixture::open_on(network, |builder, network| set(bitcoind(builder, network))).await;
    fixture.until_node_runs().await;
    for _ in 0..coins {
        let created = fixture.api().post("/wallet/addresses", &json!({})).await.unwrap();
        let address: Address<_> = created["address"].as_str().unwrap().parse().unwrap();
        fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(COIN)).unwrap();
    }
    until("spendable money", async || spendable(&fixture).await == coins * COIN * 1000).await;
    fixture
}

async fn spendable(fixture: &Fixture) -> u64 {
    fixture.node().await["on_chain"]["spendable"].as_u64().unwrap_or(0)
}

fn body(amount: u64) -> Value {
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
    until("end of the payment", async || {
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
    until("balance that agrees with the books", async || {
        let node = fixture.node().await;
        (node["on_chain"]["total"] == left && node["pending"]["sending"] == 0).then_some(())
    })
    .await;
}

/// Killed before, while and after the transaction is made and stored, and when the response is lost: the repeated request
/// has the same stream, and the payee is paid once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_around_the_transaction_send_it_once() {
    let mut fixture = with_coins(8, |builder| builder).await;
    let before = spendable(&fixture).await;
    let points = ["before-answer", "before-on-chain-record", "after-on-chain-record"];
    for (number, point) in (1_u64..).zip(points) {
        let (key, request) = (format!("key-{number}"), body(AMOUNT + number * 1000));
        fixture.usher.die_at(Some(point));
        fixture.crash().await;
        let first = fixture.api().post_once("/wallet/send", &key, &request).await;
        until("killed service", async || !fixture.api().is_up().await).await;
        fixture.usher.die_at(None);
        fixture.crash().await;
        let again = fixture.api().post_once("/wallet/send", &key, &request).await.unwrap().0;
        if let Ok((first, _)) = first {
            assert_eq!(first, again, "{point}");
        }
        let events = ended(&fixture, &stream_of(&again)).await;
        assert_eq!(events.iter().map(Event::status).collect::<Vec<_>>(), ["sending", "paid"], "{point}");
        assert_eq!(fixture.api().post_once("/wallet/send", &key, &request).await.unwrap().0, again, "{point}");
        assert_eq!(got(&fixture).1 as u64, number, "{point}");
    }
    // And at any time: killed while many are under way.
    let requests: Vec<_> =
        (0..20_u64).map(|number| (format!("many-{number}"), body(10_000_000 + number * 1000))).collect();
    for round in 0..4 {
        let api = fixture.api();
        let posts = join_all(requests.iter().map(|(key, request)| api.post_once("/wallet/send", key, request)));
        let _ = tokio::time::timeout(Duration::from_millis(40 * round), posts).await;
        fixture.crash().await;
    }
    let mut streams = Vec::new();
    for (key, request) in &requests {
        let response = async || Some(stream_of(&fixture.api().post_once("/wallet/send", key, request).await.ok()?.0));
        streams.push(until("response", response).await);
    }
    for stream in &streams {
        assert_eq!(ended(&fixture, stream).await.last().unwrap().status(), "paid");
    }
    assert_eq!(got(&fixture).1, points.len() + requests.len());
    assert_sums(&fixture, before).await;
}
