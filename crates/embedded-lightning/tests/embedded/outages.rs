//! The peer goes away, or closes the channel, while a payment is under way.

use std::sync::Arc;
use std::time::Duration;

use ldk_node::bitcoin::{Address, Amount};
use ldk_node::lightning_types::payment::{PaymentHash as LibraryHash, PaymentPreimage};
use usher_engine::ports::{
    Clock as _, Lightning as _, LightningNode as _, OutgoingPaymentStatus, SignedPayment, SystemClock,
};
use usher_protocol::bolt11::Invoice;

use crate::fixture::{Fixture, bolt11, follow, invoice, until, until_state};

const AMOUNT: u64 = 5_000_000;

const PREIMAGE: [u8; 32] = [42; 32];

/// Begins to pay an invoice that the payee holds, and returns when the payment has arrived there.
async fn begin(fixture: &Fixture) -> (Invoice, SignedPayment) {
    let invoice = invoice(&fixture.network.payer.held_invoice(AMOUNT, PREIMAGE).unwrap());
    let payment = fixture.backend.prepare_payment(&invoice, SystemClock.now().secs() + 3600).await.unwrap();
    let (backend, paid_invoice, request) = (Arc::clone(&fixture.backend), invoice.clone(), payment.clone());
    tokio::spawn(async move { backend.pay(&paid_invoice, &request, false).await });
    fixture.network.payer.until_claimable(hash(&invoice)).await.unwrap();
    (invoice, payment)
}

fn hash(invoice: &Invoice) -> LibraryHash {
    LibraryHash(*invoice.payment_hash().as_bytes())
}

fn claim(fixture: &Fixture, invoice: &Invoice) {
    let payments = fixture.network.payer.node().bolt11_payment();
    payments.claim_for_hash(hash(invoice), AMOUNT, PaymentPreimage(PREIMAGE)).unwrap();
}

/// The provider closes its channel to the node without asking it.
fn force_close(fixture: &Fixture) {
    let provider = fixture.network.provider.node();
    let payer = fixture.network.payer.id();
    let channel = provider.list_channels().into_iter().find(|channel| channel.counterparty_node_id != payer).unwrap();
    let reason = Some("test".to_owned());
    provider.force_close_channel(&channel.user_channel_id, channel.counterparty_node_id, reason).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_ends_although_the_peer_was_away() {
    let fixture = Fixture::start_funded().await;
    let (invoice, payment) = begin(&fixture).await;
    let provider = fixture.network.provider.node();
    let payer = fixture.network.payer.id();
    let node = provider.list_peers().into_iter().find(|peer| peer.node_id != payer).unwrap().node_id;
    provider.disconnect(node).unwrap();
    claim(&fixture, &invoice);

    let status = follow(&fixture, &invoice, &payment, 0).await;
    assert!(matches!(status, OutgoingPaymentStatus::Paid(_)), "{status:?}");
    assert!(fixture.network.payer.is_paid(&bolt11(&invoice)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_arrives_after_its_channel_was_closed_is_paid() {
    let fixture = Fixture::start_funded().await;
    let (invoice, payment) = begin(&fixture).await;
    force_close(&fixture);
    claim(&fixture, &invoice);
    until("a payment at the payee", async || fixture.network.payer.is_paid(&bolt11(&invoice))).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    let status = follow(&fixture, &invoice, &payment, 1).await;
    match status {
        OutgoingPaymentStatus::Paid(paid) => assert_eq!(paid.preimage.as_bytes(), &PREIMAGE),
        other => panic!("{other:?}"),
    }
    let state = fixture.backend.state().await.unwrap();
    assert_eq!(state.closures.forced, 1, "the operator is told");
    assert!(state.warnings.iter().any(|warning| warning.code == "forced_closure"), "{state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_fails_after_its_channel_was_closed_is_failed() {
    let fixture = Fixture::start_funded().await;
    let (invoice, payment) = begin(&fixture).await;
    force_close(&fixture);
    let status = fixture.backend.look_up_payment(invoice.payment_hash(), Some(&payment)).await.unwrap();
    assert_eq!(status, OutgoingPaymentStatus::Pending);
    fixture.network.payer.node().bolt11_payment().fail_for_hash(hash(&invoice)).unwrap();

    assert_eq!(follow(&fixture, &invoice, &payment, 6).await, OutgoingPaymentStatus::Failed);
    assert!(!fixture.network.payer.is_paid(&bolt11(&invoice)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_can_be_closed_although_the_provider_is_gone_for_good() {
    let mut fixture = Fixture::start_funded().await;
    let provider = Arc::clone(fixture.network.provider.node());
    tokio::task::spawn_blocking(move || provider.stop()).await.unwrap().unwrap();
    let channel = fixture.backend.channels().await.unwrap().pop().unwrap();
    fixture.backend.close_channel(&channel.id, true).await.unwrap();
    // Without a balance on the chain the node cannot pay for the closing transaction, and reports this.
    until_state(&fixture, "warning", |state| state.warnings.iter().any(|it| it.code == "cannot_close")).await;
    assert_eq!(fixture.network.chain.unconfirmed(), 0);

    let address: Address<_> = fixture.backend.new_address().await.unwrap().parse().unwrap();
    fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(50_000)).unwrap();
    fixture.network.chain.mine(5).unwrap();
    until_state(&fixture, "balance on the chain", |state| state.on_chain.spendable == 50_000_000).await;
    fixture.restart().await;
    until("a closing transaction", async || fixture.network.chain.unconfirmed() > 0).await;
    let state = fixture.backend.state().await.unwrap();
    assert_eq!(state.pending.closing, 148_000_000, "all of it is on its way: {state:?}");
    assert!(state.warnings.iter().all(|it| it.code != "cannot_close"), "{state:?}");
}
