//! A liquidity provider that breaks its word: what is reported is what the payer paid.

use std::sync::Arc;

use rusqlite::{Connection, params};
use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningNode as _};
use usher_lightning_network::PaymentStatus;

use crate::fixture::{Fixture, assert_same_as_payer, bolt11, wanted};

/// What the provider of the test network keeps of this payment.
const AMOUNT: u64 = 50_000_000;
const FEE: u64 = 2_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_of_which_the_provider_keeps_more_than_agreed_is_refused() {
    let mut fixture = Fixture::start().await;
    let invoice = fixture.backend.make_invoice(&wanted(AMOUNT)).await.unwrap();
    // The node believes that less was agreed on.
    fixture.release_folder().await;
    let database = Connection::open(fixture.folder.path().join("lightning.db")).unwrap();
    let key = hex::encode(invoice.payment_hash().as_bytes());
    let stored: Vec<u8> =
        database.query_row("SELECT value FROM entries WHERE key = ?1", [&key], |row| row.get(0)).unwrap();
    let at = stored.windows(8).position(|bytes| bytes == FEE.to_be_bytes()).expect("the agreed fee");
    let mut changed = stored.clone();
    changed[at..at + 8].copy_from_slice(&(FEE - 1).to_be_bytes());
    database.execute("UPDATE entries SET value = ?2 WHERE key = ?1", params![key, changed]).unwrap();
    drop(database);
    fixture.start_again().await;

    let payer = &fixture.network.payer;
    payer.begin_payment(&bolt11(&invoice)).await.unwrap();
    assert_eq!(payer.outcome(&bolt11(&invoice)).await.unwrap(), PaymentStatus::Failed);
    assert_eq!(fixture.backend.look_up_invoice(invoice.payment_hash()).await, Ok(InvoiceStatus::Open));
    let state = fixture.backend.state().await.unwrap();
    assert_eq!((state.outbound, state.skimmed_fees), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_disappears_after_it_has_opened_the_channel() {
    let fixture = Fixture::start().await;
    let invoice = fixture.backend.make_invoice(&wanted(AMOUNT)).await.unwrap();
    fixture.network.payer.begin_payment(&bolt11(&invoice)).await.unwrap();
    while fixture.backend.channels().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let provider = Arc::clone(fixture.network.provider.node());
    let stopping = Arc::clone(&provider);
    tokio::task::spawn_blocking(move || stopping.stop()).await.unwrap().unwrap();
    // Nothing is paid that the payer has not paid.
    let here = fixture.backend.look_up_invoice(invoice.payment_hash()).await.unwrap();
    assert!(matches!(here, InvoiceStatus::Open | InvoiceStatus::Settled(_)), "{here:?}");

    tokio::task::spawn_blocking(move || provider.start()).await.unwrap().unwrap();
    assert_same_as_payer(&fixture, &invoice, "provider back").await;
}
