//! The network by itself: nodes pay each other over real channels, and both chain sources show the same chain.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "tests end with a panic")]

use std::sync::Arc;
use std::time::Duration;

use ldk_node::bitcoin::Amount;
use ldk_node::config::EsploraSyncConfig;
use ldk_node::{Builder, Node};
use usher_lightning_network::Network;

#[tokio::test(flavor = "multi_thread")]
async fn payer_and_provider_pay_each_other() {
    let network = Network::start().await.unwrap();

    let invoice = network.provider.invoice(5_000, 600).unwrap();
    network.payer.pay(&invoice).await.unwrap();
    assert!(network.provider.is_paid(&invoice));

    let invoice = network.payer.invoice(7_000, 600).unwrap();
    network.provider.pay(&invoice).await.unwrap();
    assert!(network.payer.is_paid(&invoice));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_on_esplora_gets_money_opens_a_channel_and_closes_it() {
    let network = Network::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Builder::new();
    builder
        .set_network(ldk_node::bitcoin::Network::Regtest)
        .set_storage_dir_path(folder.path().to_string_lossy().into_owned())
        .set_chain_source_esplora(
            network.chain.esplora_url(),
            Some(EsploraSyncConfig { background_sync_config: None }),
        );
    let node = Arc::new(tokio::task::spawn_blocking(move || builder.build().unwrap()).await.unwrap());
    blocking(&node, |node| node.start().unwrap()).await;

    let address = node.onchain_payment().new_address().unwrap();
    network.chain.fund(&address, Amount::from_sat(1_000_000)).unwrap();
    blocking(&node, |node| node.sync_wallets().unwrap()).await;
    assert_eq!(node.list_balances().total_onchain_balance_sats, 1_000_000);

    let (id, provider) = (network.provider.id(), network.provider.address());
    blocking(&node, move |node| node.open_channel(id, provider, 500_000, None, None).unwrap()).await;
    eventually(async || network.chain.unconfirmed() > 0).await;
    eventually(async || {
        network.mine(1).await.unwrap();
        blocking(&node, |node| node.sync_wallets().unwrap()).await;
        node.list_channels().iter().any(|channel| channel.is_usable)
    })
    .await;
    let invoice = network.provider.invoice(5_000_000, 600).unwrap();
    let sent = invoice.clone();
    blocking(&node, move |node| node.bolt11_payment().send(&sent, None).unwrap()).await;
    eventually(async || network.provider.is_paid(&invoice)).await;

    let channel = node.list_channels().remove(0);
    blocking(&node, move |node| node.close_channel(&channel.user_channel_id, id).unwrap()).await;
    eventually(async || {
        network.mine(1).await.unwrap();
        blocking(&node, |node| node.sync_wallets().unwrap()).await;
        node.list_balances().spendable_onchain_balance_sats > 900_000
    })
    .await;
    blocking(&node, |node| node.stop().unwrap()).await;
}

async fn blocking<T: Send + 'static>(node: &Arc<Node>, work: impl FnOnce(&Node) -> T + Send + 'static) -> T {
    let node = Arc::clone(node);
    tokio::task::spawn_blocking(move || work(&node)).await.unwrap()
}

/// Waits until it is so.
async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(180), waiting).await.expect("in time");
}
