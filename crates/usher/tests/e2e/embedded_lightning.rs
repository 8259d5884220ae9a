//! The embedded Lightning node in the real program, in a Lightning network of real nodes on a private chain.

mod fixture;
mod kills;
mod operator;
mod sends;

use serde_json::json;
use usher_lightning_network::Network;
use usher_protocol::message::Preimage;

use self::fixture::{Fixture, bolt11, requested_invoice};
use crate::harness::{Builder, statuses};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_pays_over_a_channel_that_opens_for_it_and_the_service_pays_out() {
    // On an Esplora server; the other tests have a bitcoind.
    let esplora =
        |builder: Builder, network: &Network| builder.set("WALLET__EMBEDDED__CHAIN_URL", network.chain.esplora_url());
    let mut fixture = Fixture::open_on(Network::start_copy().await.unwrap(), esplora).await;
    fixture.until_node_runs().await;
    let user = fixture.user().await;
    let stream = fixture.ask(&user, Fixture::FIRST).await;
    let invoice = requested_invoice(&user).await;
    fixture.network.payer.pay(&bolt11(&invoice)).await.unwrap();
    let events = fixture.api().finished(&stream).await;
    assert_eq!(statuses(&events), ["paid"]);
    let preimage: Preimage = serde_json::from_value(events[0].data["preimage"].clone()).unwrap();
    assert_eq!(preimage.payment_hash(), invoice.payment_hash());
    fixture.network.mine(6).await.unwrap();
    fixture.until_balance().await;

    let invoice = fixture.network.payer.invoice(1_000_000, 600).unwrap();
    let stream = fixture.api().start("/invoices/pay", &json!({"invoice": invoice.to_string()})).await;
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"]);
    assert!(fixture.network.payer.is_paid(&invoice));

    // A stop on request closes no channel, and blocks that came meanwhile are seen after the restart.
    let before = fixture.balance().await;
    assert!(fixture.usher.stop().await.success());
    fixture.network.mine(3).await.unwrap();
    fixture.usher.restart().await;
    fixture.until_balance().await;
    assert_eq!(fixture.balance().await, before);
    assert_eq!(statuses(&fixture.receive(&user, 2_000_000).await), ["paid"]);
    assert!(!fixture.usher.log().contains("was closed"), "no channel was closed");
}
