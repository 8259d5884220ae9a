//! The endpoints of the Lightning node that the service runs itself; the node is scripted.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use usher_engine::LightningBackend;
use usher_engine::StreamId;
use usher_engine::ports::{
    Channel, ChannelOpening, Closures, LightningNode, NodeChannels, NodeError, NodeOnChain, NodePending, NodeState,
    NodeWarning, OnChainAmount, OnChainOrder, OnChainPrice, OnChainState, OnChainStatus, OnChainWish, OpeningState,
    ReceivingCost, WantedChannel,
};
use usher_protocol::bolt11::Network;
use usher_testing::ports::FakeLightning;

use crate::app::{TestApp, read, stream_of};
use crate::keys::Holder;

/// A node that does not run; what was asked of it is kept.
#[derive(Default)]
struct ScriptedNode {
    opened: Mutex<Vec<WantedChannel>>,
    closed: Mutex<Vec<(String, bool)>>,
    sent: Mutex<Vec<OnChainOrder>>,
    fails: Mutex<Option<NodeError>>,
}

impl ScriptedNode {
    fn respond<T>(&self, value: T) -> Result<T, NodeError> {
        self.fails.lock().clone().map_or(Ok(value), Err)
    }
}

#[async_trait]
impl LightningNode for ScriptedNode {
    async fn state(&self) -> Result<NodeState, NodeError> {
        self.respond(NodeState {
            node_id: "02ee".to_owned(),
            network: Network::Signet,
            synced_at: None,
            height: 7,
            channels: NodeChannels { usable: 1, unusable: 2, capacity: 100 },
            outbound: 40,
            inbound: 50,
            on_chain: NodeOnChain { total: 30, spendable: 5, reserved: 25 },
            pending: NodePending { payments: 1, closing: 9, sending: 11 },
            skimmed_fees: 2,
            closures: Closures { cooperative: 3, forced: 2, after_kill: 1 },
            warnings: vec![NodeWarning { code: "not_running", text: "it waits".to_owned() }],
        })
    }

    async fn channels(&self) -> Result<Vec<Channel>, NodeError> {
        self.respond(vec![Channel {
            id: "ab".to_owned(),
            peer: "03aa".to_owned(),
            peer_address: None,
            funding: Some("cd:0".to_owned()),
            capacity: 100,
            outbound: 40,
            inbound: 50,
            opened_by_service: true,
            ready: true,
            usable: false,
        }])
    }

    async fn new_address(&self) -> Result<String, NodeError> {
        self.respond("bcrt1q".to_owned())
    }

    async fn receiving_cost(&self, amount: u64) -> Result<ReceivingCost, NodeError> {
        self.respond(ReceivingCost { opens_channel: true, opening_fee: amount / 100 })
    }

    async fn open_channel(&self, wanted: &WantedChannel) -> Result<ChannelOpening, NodeError> {
        self.respond(())?;
        self.opened.lock().push(wanted.clone());
        Ok(ChannelOpening { peer: "03aa".to_owned(), state: OpeningState::Opening })
    }

    async fn close_channel(&self, id: &str, force: bool) -> Result<(), NodeError> {
        self.respond(())?;
        self.closed.lock().push((id.to_owned(), force));
        Ok(())
    }

    async fn price_on_chain(&self, wish: &OnChainWish) -> Result<OnChainPrice, NodeError> {
        let amount = match wish.amount {
            OnChainAmount::Exactly(amount) => amount,
            OnChainAmount::All => 5_000,
        };
        self.respond(OnChainPrice { amount, fee: 141_000, fee_rate: wish.fee_rate.unwrap_or(1) * 250 })
    }

    async fn send_on_chain(&self, order: &OnChainOrder) -> Result<OnChainStatus, NodeError> {
        self.respond(())?;
        {
            let mut sent = self.sent.lock();
            if !sent.contains(order) {
                sent.push(order.clone());
            }
        }
        Ok(self.look_up_on_chain(order.id).await?.expect("it was sent"))
    }

    async fn look_up_on_chain(&self, order: StreamId) -> Result<Option<OnChainStatus>, NodeError> {
        let sent = self.sent.lock();
        let known = sent.iter().find(|known| known.id == order);
        Ok(known.map(|known| OnChainStatus {
            transaction: "ab".repeat(32),
            amount: known.most.saturating_sub(282_000),
            fee: 141_000,
            state: OnChainState::Unconfirmed,
        }))
    }
}

pub(crate) fn backend() -> LightningBackend {
    scripted().0
}

fn scripted() -> (LightningBackend, Arc<ScriptedNode>) {
    let node = Arc::new(ScriptedNode::default());
    let adapter = Arc::new(FakeLightning::default());
    adapter.be_away(true);
    adapter.tells(true);
    let backend = LightningBackend { adapter, name: "embedded", node: Some(Arc::clone(&node) as _) };
    (backend, node)
}

async fn start() -> (TestApp, Arc<ScriptedNode>) {
    let (backend, node) = scripted();
    (TestApp::with(|of| of.lightning = Some(backend)).await, node)
}

#[tokio::test]
async fn a_node_that_does_not_run_is_described() {
    let (app, _node) = start().await;
    let node = json!({
        "node_id": "02ee", "synced_at": null, "height": 7,
        "channels": { "usable": 1, "unusable": 2, "capacity": 100 }, "inbound": 50,
        "on_chain": { "total": 30, "spendable": 5, "reserved": 25 },
        "pending": { "payments": 1, "closing": 9, "sending": 11 }, "skimmed_fees": 2,
        "closures": { "cooperative": 3, "forced": 2, "after_kill": 1 },
        "warnings": [{ "code": "not_running", "text": "it waits" }],
    });
    let expected = json!({
        "backend": "embedded", "balance": 40, "alias": null, "network": "signet", "notifications": true, "node": node,
    });
    assert_eq!(app.read("/wallet/info").await, expected);
    assert_eq!(app.read("/wallet/channels").await["channels"][0]["channel_id"], "ab");
}

#[tokio::test]
async fn a_channel_is_opened_under_its_idempotency_key() {
    let (app, node) = start().await;
    for key in [Some("a"), Some("a"), Some("b"), None] {
        let request = app.post("/wallet/channels").json(&json!({ "amount": 5_000, "peer": "03aa@host:1" }));
        let request = key.into_iter().fold(request, |request, key| request.header("Idempotency-Key", key));
        assert_eq!(read(request).await, (200, json!({ "peer": "03aa", "status": "opening" })));
    }
    let opened = node.opened.lock().clone();
    assert_eq!(opened.len(), 3, "the second request got the first response");
    assert!(opened[0].key.is_some() && opened[0].key != opened[1].key && opened[2].key.is_none());
    assert_eq!((opened[0].amount, opened[0].peer.as_deref()), (5_000, Some("03aa@host:1")));
}

#[tokio::test]
async fn closing_addresses_and_prices_are_passed_on() {
    let (app, node) = start().await;
    for (id, body) in [("ab", json!({})), ("cd", json!({ "force": true }))] {
        let closed = app.done("POST", &format!("/wallet/channels/{id}/close"), body).await;
        assert_eq!(closed, json!({ "status": "closing" }));
    }
    assert_eq!(*node.closed.lock(), [("ab".to_owned(), false), ("cd".to_owned(), true)]);
    assert_eq!(app.done("POST", "/wallet/addresses", json!({})).await, json!({ "address": "bcrt1q" }));
    let cost = json!({ "opens_channel": true, "opening_fee": 3 });
    assert_eq!(app.done("POST", "/wallet/receiving-cost", json!({ "amount": 300 })).await, cost);
}

#[tokio::test]
async fn errors_of_the_node_have_codes_and_name_the_field() {
    let (app, node) = start().await;
    let (invalid, wallet) = ((422, "invalid_request"), (502, "wallet_error"));
    let (close, open, send) = ("/wallet/channels/ab/close", "/wallet/channels", "/wallet/send");
    let why = |text: &str| text.to_owned();
    for (path, error, refusal, pointer) in [
        (close, NodeError::ChannelNotFound, (404, "channel_not_found"), None),
        (close, NodeError::Refused(why("the peer is away")), wallet, None),
        (close, NodeError::Unavailable(why("it waits")), wallet, None),
        (open, NodeError::Refused(why("the peer is away")), wallet, None),
        (open, NodeError::InvalidAmount(why("too much")), invalid, Some("/amount")),
        (open, NodeError::InvalidPeer(why("no peer")), invalid, Some("/peer")),
        (send, NodeError::InvalidAddress(why("is of another network")), invalid, Some("/address")),
        (send, NodeError::InvalidAmount(why("too much")), invalid, Some("/amount")),
        (send, NodeError::InvalidFeeRate(why("is required")), invalid, Some("/fee_rate")),
        (send, NodeError::Unavailable(why("it waits")), wallet, None),
    ] {
        *node.fails.lock() = Some(error.clone());
        let body = if path == close { json!({}) } else { json!({ "address": "bc1q", "amount": 1_000 }) };
        let problem = app.refused("POST", path, body, refusal).await;
        assert_eq!(problem["errors"][0]["pointer"].as_str(), pointer, "{error:?}");
    }
    let more_than_all = json!({ "address": "bc1q", "amount": 2_100_000_000_000_001_u64, "currency": "sats" });
    let problem = app.refused("POST", send, more_than_all, invalid).await;
    assert_eq!(problem["errors"][0]["detail"], "is more than all bitcoins");
    assert!(node.sent.lock().is_empty());
}

#[tokio::test]
async fn without_a_node_of_its_own_the_service_says_so() {
    let app = TestApp::start().await;
    for (method, path, body) in [
        ("GET", "/wallet/channels", Value::Null),
        ("POST", "/wallet/addresses", json!({})),
        ("POST", "/wallet/receiving-cost", json!({ "amount": 1 })),
        ("POST", "/wallet/send", json!({ "address": "bc1q", "amount": "all" })),
    ] {
        let problem = app.refused(method, path, body, (503, "wallet_not_configured")).await;
        assert!(problem["detail"].as_str().unwrap().contains("embedded"), "{problem}");
    }
}

#[tokio::test]
async fn money_is_sent_on_chain_once_for_each_key() {
    let (app, node) = start().await;
    let mut streams = Vec::new();
    for key in ["a", "a", "b"] {
        let body = json!({ "address": "bc1q", "amount": 50_000, "fee_rate": 4, "request_id": "theirs" });
        streams.push(stream_of(&read(app.post("/wallet/send").json(&body).header("Idempotency-Key", key)).await.1));
    }
    assert!(streams[0] == streams[1] && streams[1] != streams[2], "{streams:?}");
    let page = app.read(&format!("/events/{}?wait=30", streams[0])).await;
    let expected = json!({
        "status": "sending", "txid": "ab".repeat(32), "amount_millisats": 50_000, "fees_paid": 141_000, "request_id": "theirs",
    });
    assert_eq!(page["events"][0]["data"], expected);
    app.read(&format!("/events/{}?wait=30", streams[2])).await;
    let sent = node.sent.lock().clone();
    assert_eq!(sent.len(), 2);
    assert_eq!((sent[0].fee_rate, sent[0].most, sent[0].amount), (1_000, 332_000, OnChainAmount::Exactly(50_000)));
    let booked = &app.read("/payments").await["payments"][0];
    assert!(booked["txid"] == "ab".repeat(32) && booked["payment_hash"].is_null(), "{booked}");
    let expected = [json!("on_chain"), json!("out"), json!("open"), json!(50_000)];
    assert_eq!(["kind", "direction", "status", "amount_millisats"].map(|name| booked[name].clone()), expected);
    let payer = Holder::of(&app, json!({ "scopes": ["payments:send"], "daily_budget_millisats": 400_000 })).await;
    let body = json!({ "address": "bc1q", "amount": 50_000, "fee_rate": 4 });
    assert_eq!(payer.post("/wallet/send", body.clone()).await.status, 200);
    assert_eq!(payer.post("/wallet/send", body).await.code(), (429, "budget_exhausted"));
}
