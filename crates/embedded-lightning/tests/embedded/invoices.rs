//! An invoice that cannot be paid is never handed out.

use tempfile::TempDir;
use usher_engine::ports::{Lightning as _, LightningError};
use usher_lightning_network::{Fees, Network};

use crate::fixture::{Fixture, Setup, bolt11, until, wanted};

async fn refusal(fixture: &Fixture, amount: u64) -> String {
    match fixture.backend.make_invoice(&wanted(amount)).await {
        Err(LightningError::Refused { again: true, reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_payment_opens_a_channel_and_what_the_provider_keeps_is_counted() {
    let mut fixture = Fixture::start().await;
    let invoice = fixture.backend.make_invoice(&wanted(50_000_000)).await.unwrap();
    fixture.network.payer.pay(&bolt11(&invoice)).await.unwrap();
    let settlement = fixture.settlement(&invoice).await;
    assert_eq!(settlement.skimmed_fee, 2_000_000, "what the provider asks for at least");
    assert_eq!(settlement.amount, Some(48_000_000), "the payer paid all of it");
    fixture.until_channel_is_usable().await;
    let balance = fixture.backend.info().await.unwrap().balance.unwrap();
    assert!(balance <= 48_000_000, "the provider kept its fee: {balance}");

    // Now there is room, and another payment opens no channel: it costs nothing.
    let invoice = fixture.backend.make_invoice(&wanted(10_000_000)).await.unwrap();
    fixture.network.payer.pay(&bolt11(&invoice)).await.unwrap();
    assert_eq!(fixture.settlement(&invoice).await.amount, Some(10_000_000));
    assert_eq!(fixture.network.provider.node().list_channels().len(), 2, "the payer's and one of ours");

    // More than fits is offered with another channel, and more than the provider opens a channel for is refused.
    fixture.backend.make_invoice(&wanted(Network::MAX_PAYMENT)).await.unwrap();
    let reason = refusal(&fixture, Network::MAX_PAYMENT + 1).await;
    assert!(reason.contains("opens no channel for this amount"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn inbound_capacity_is_promised_once() {
    let mut fixture = Fixture::start().await;
    let first = fixture.backend.make_invoice(&wanted(50_000_000)).await.unwrap();
    fixture.network.payer.pay(&bolt11(&first)).await.unwrap();
    fixture.settlement(&first).await;
    fixture.until_channel_is_usable().await;
    // The channel has room for one of these; the other gets a channel of its own.
    let wanted = wanted(30_000_000);
    let (one, other) = tokio::join!(fixture.backend.make_invoice(&wanted), fixture.backend.make_invoice(&wanted));
    let (one, other) = (one.unwrap(), other.unwrap());
    for invoice in [&one, &other] {
        fixture.network.payer.pay(&bolt11(invoice)).await.unwrap();
        fixture.settlement(invoice).await;
    }
    assert_eq!(fixture.network.provider.node().list_channels().len(), 3, "the payer's and two of ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_invoice_without_somebody_who_opens_a_channel() {
    let expensive = Fees { minimum: 60_000_000, proportional: 0 };
    let fixture = Fixture::start_with(expensive).await;
    let reason = refusal(&fixture, 100_000_000).await;
    assert!(reason.contains("wants more than 50000000 msat for opening a channel"), "{reason}");

    let folder = TempDir::new().unwrap();
    let setup = Setup { provider: None, ..Setup::of(&fixture.network, folder.path()) };
    let (alone, _notifications) = setup.start().await;
    until("a started node", async || alone.status().connected).await;
    let reason = until("another reason", async || match alone.make_invoice(&wanted(1_000_000)).await {
        Err(LightningError::Refused { reason, .. }) => Some(reason).filter(|reason| !reason.contains("chain source")),
        other => panic!("{other:?}"),
    });
    let reason = reason.await;
    assert!(reason.contains("no liquidity provider is configured"), "{reason}");

    let invoice = crate::fixture::invoice(&fixture.network.payer.invoice(1_000, 600).unwrap());
    assert_eq!(alone.prepare_payment(&invoice, u64::MAX).await, Err(LightningError::NotSent));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_does_not_wait_for_the_chain() {
    let network = Network::start_copy().await.unwrap();
    network.chain.set_reachable(false);
    let folder = TempDir::new().unwrap();
    let setup = Setup::of(&network, folder.path());
    let (backend, _notifications) = setup.start().await;
    for _ in 0..5 {
        let made = backend.make_invoice(&wanted(50_000_000)).await;
        assert!(matches!(made, Err(LightningError::NotSent | LightningError::Refused { again: true, .. })), "{made:?}");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    network.chain.set_reachable(true);
    until("an invoice", async || backend.make_invoice(&wanted(50_000_000)).await.is_ok()).await;
}
