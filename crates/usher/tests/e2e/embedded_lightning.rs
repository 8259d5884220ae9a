//! The embedded Lightning node in the real program, in a Lightning network of real nodes on a private chain.

mod fixture;
mod kills;
mod operator;
mod sends;

use std::fs::File;
use std::time::Duration;

use ldk_node::lightning_types::payment::{PaymentHash, PaymentPreimage};
use serde_json::json;
use usher_lightning_network::Network;
use usher_protocol::message::Preimage;

use self::fixture::{Fixture, bitcoind, bolt11, requested_invoice};
use crate::harness::{Builder, Event, LONG};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_pays_over_a_channel_that_opens_for_it_and_the_service_pays_out() {
    let mut fixture = Fixture::open().await;
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
    let stream = fixture.start("/invoices/pay", &json!({"invoice": invoice.to_string()})).await;
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"]);
    assert!(fixture.network.payer.is_paid(&invoice));

    // A stop on request closes no channel.
    let before = fixture.balance().await;
    assert!(fixture.usher.stop().await.success());
    fixture.usher.restart().await;
    fixture.until_balance().await;
    assert_eq!(fixture.balance().await, before);
    assert!(!fixture.usher.log().contains("was closed"), "no channel was closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_out_that_a_kill_interrupts_is_paid_once() {
    let mut fixture = Fixture::open().await;
    fixture.fund().await;
    let preimage = [7; 32];
    let hash = PaymentHash::from(PaymentPreimage(preimage));
    let invoice = fixture.network.payer.held_invoice(1_000_000, preimage).unwrap();
    let stream = fixture.start("/invoices/pay", &json!({"invoice": invoice.to_string()})).await;
    fixture.network.payer.until_claimable(hash).await.unwrap();

    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    fixture.network.payer.node().bolt11_payment().claim_for_hash(hash, 1_000_000, PaymentPreimage(preimage)).unwrap();
    // A kill may close the channel: then the payment ends on the chain.
    let blocks = async {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            fixture.network.mine(1).await.unwrap();
        }
    };
    let api = fixture.api();
    let events = tokio::select! {
        events = api.finished(&stream) => events,
        () = blocks => unreachable!(),
    };
    assert_eq!(statuses(&events), ["paid"]);
    assert_eq!(events[0].data["preimage"], hex::encode(preimage));
    assert!(fixture.network.payer.is_paid(&invoice));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_chain_source_everything_else_works_and_payments_wait() {
    let network = Network::start_copy().await.unwrap();
    network.chain.set_reachable(false);
    let mut fixture = Fixture::open_on(network, bitcoind).await;
    let user = fixture.user().await;
    assert!(fixture.waits_for_the_chain().await);
    let stream = fixture.ask(&user, Fixture::FIRST).await;
    fixture.user().await;

    fixture.network.chain.set_reachable(true);
    let invoice = requested_invoice(&user).await;
    fixture.network.payer.pay(&bolt11(&invoice)).await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"]);

    // Nor does a stop wait for it.
    fixture.network.chain.set_reachable(false);
    assert!(fixture.usher.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_and_an_old_copy_are_refused() {
    let mut fixture = Fixture::open().await;
    assert!(fixture.usher.stop().await.success());
    let lock = File::open(fixture.folder().join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(refusal(&mut fixture).await, Some(1));
    assert!(fixture.usher.log().contains("another process uses it"), "{}", fixture.usher.log());
    drop(lock);

    let (file, copy) = (fixture.folder().join("lightning.db"), fixture.usher.data_dir().join("copy"));
    std::fs::copy(&file, &copy).unwrap();
    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    assert!(fixture.usher.stop().await.success());
    for leftover in ["lightning.db-wal", "lightning.db-shm"] {
        let _ = std::fs::remove_file(fixture.folder().join(leftover));
    }
    std::fs::copy(&copy, &file).unwrap();
    assert_eq!(refusal(&mut fixture).await, Some(78), "another start would not help");
    assert!(fixture.usher.log().contains("are an old copy"), "{}", fixture.usher.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_on_an_esplora_server_takes_payments_and_pays() {
    let esplora =
        |builder: Builder, network: &Network| builder.set("WALLET__EMBEDDED__CHAIN_URL", network.chain.esplora_url());
    let mut fixture = Fixture::open_on(Network::start_copy().await.unwrap(), esplora).await;
    fixture.until_node_runs().await;
    fixture.fund().await;
    let invoice = fixture.network.payer.invoice(1_000_000, 600).unwrap();
    let stream = fixture.start("/invoices/pay", &json!({"invoice": invoice.to_string()})).await;
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"]);
    assert!(fixture.network.payer.is_paid(&invoice));

    // Blocks that came while it was away are seen after a restart.
    assert!(fixture.usher.stop().await.success());
    fixture.network.mine(3).await.unwrap();
    fixture.usher.restart().await;
    fixture.until_balance().await;
    let user = fixture.user().await;
    assert_eq!(statuses(&fixture.receive(&user, 2_000_000).await), ["paid"]);
    assert!(!fixture.usher.log().contains("was closed"), "no channel was closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_asks_chain_source_and_liquidity_provider() {
    let mut fixture = Fixture::open().await;
    let report = doctor(&fixture);
    for line in ["the chain source answers, on regtest", "the liquidity provider accepts", "the embedded node runs"] {
        assert!(report.contains(line), "{line}: {report}");
    }
    assert!(fixture.usher.stop().await.success());
    fixture.usher.set("WALLET__NETWORK", "signet");
    let report = doctor(&fixture);
    assert!(report.contains("the chain source is on regtest, and wallet.network is signet"), "{report}");
    fixture.network.chain.set_reachable(false);
    let report = doctor(&fixture);
    assert!(report.contains("the chain source does not work: it answers 503"), "{report}");
}

fn doctor(fixture: &Fixture) -> String {
    let output = fixture.usher.command(&["doctor"]).output().expect("it runs");
    String::from_utf8(output.stdout).expect("text")
}

/// Starts the service, which ends instead; its exit code.
async fn refusal(fixture: &mut Fixture) -> Option<i32> {
    fixture.usher.spawn();
    let ended = tokio::time::timeout(LONG, fixture.usher.ready()).await.expect("it ends in time");
    ended.expect_err("it does not start").code()
}

fn statuses(events: &[Event]) -> Vec<&str> {
    events.iter().map(Event::status).collect()
}
