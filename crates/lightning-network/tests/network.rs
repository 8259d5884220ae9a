//! The network by itself: payer and provider pay each other over a real channel.

use usher_lightning_network::Network;

#[tokio::test(flavor = "multi_thread")]
async fn payer_and_provider_pay_each_other() {
    let network = Network::start().await.unwrap();

    let bill = network.provider.invoice(5_000, 600).unwrap();
    network.payer.pay(&bill).await.unwrap();
    assert!(network.provider.is_paid(&bill));

    let bill = network.payer.invoice(7_000, 600).unwrap();
    network.provider.pay(&bill).await.unwrap();
    assert!(network.payer.is_paid(&bill));
}
