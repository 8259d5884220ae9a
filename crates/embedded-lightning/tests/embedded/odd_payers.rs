//! Payers who pay twice, too much, too little or too late: what is reported is what arrived, and nothing is taken that is
//! not reported.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ldk_node::bip39::Mnemonic;
use ldk_node::bitcoin::NetworkKind;
use ldk_node::bitcoin::bip32::Xpriv;
use ldk_node::bitcoin::secp256k1::Secp256k1;
use ldk_node::lightning::sign::KeysManager;
use ldk_node::lightning_invoice::{Bolt11Invoice, Currency, InvoiceBuilder};
use usher_engine::ports::{InvoiceStatus, Lightning as _, Settlement, WantedInvoice};
use usher_lightning_network::{PaymentStatus, Peer};
use usher_protocol::bolt11::Invoice;

use crate::fixture::{Fixture, MNEMONIC, bolt11, until, wanted};

/// Millisats of each invoice.
const AMOUNT: u64 = 5_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_is_paid_once_however_many_pay_it() {
    let mut fixture = Fixture::start_funded().await;
    // One after the other.
    let invoice = fixture.backend.make_invoice(&wanted(AMOUNT)).await.unwrap();
    let (payer, provider) = (&fixture.network.payer, &fixture.network.provider);
    payer.pay(&bolt11(&invoice)).await.unwrap();
    assert_eq!(attempt(provider, &bolt11(&invoice), AMOUNT).await, PaymentStatus::Failed);
    assert_eq!(settled(&fixture, &invoice).await, AMOUNT);

    // At once: at most one arrives, whoever it is.
    let raced = fixture.backend.make_invoice(&wanted(AMOUNT)).await.unwrap();
    let bolt11 = bolt11(&raced);
    let outcomes = tokio::join!(attempt(payer, &bolt11, AMOUNT), attempt(provider, &bolt11, AMOUNT));
    let paid = [outcomes.0, outcomes.1].into_iter().filter(|status| *status == PaymentStatus::Succeeded).count();
    assert_eq!(paid, 1, "{outcomes:?}");
    assert_eq!(settled(&fixture, &raced).await, AMOUNT);
    assert_eq!(fixture.settlement(&invoice).await.amount, Some(AMOUNT));
    assert_eq!(fixture.settlement(&raced).await.amount, Some(AMOUNT));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_settled_is_what_arrived_and_too_little_is_refused() {
    let fixture = Fixture::start_funded().await;
    let payer = &fixture.network.payer;
    for (paid, settles) in [(AMOUNT + 1, true), (2 * AMOUNT, true), (3 * AMOUNT, true), (AMOUNT - 1, false), (1, false)]
    {
        let invoice = fixture.backend.make_invoice(&wanted(AMOUNT)).await.unwrap();
        let forged = forged(&invoice, paid.min(AMOUNT), 600);
        let outcome = attempt(payer, &forged, paid).await;
        assert_eq!(outcome == PaymentStatus::Succeeded, settles, "{paid}");
        if settles {
            assert_eq!(settled(&fixture, &invoice).await, paid);
        } else {
            // It stays open, and an honest payment settles it.
            assert_eq!(fixture.backend.look_up_invoice(invoice.payment_hash()).await, Ok(InvoiceStatus::Open));
            attempt(&fixture.network.provider, &bolt11(&invoice), AMOUNT).await;
            assert_eq!(settled(&fixture, &invoice).await, AMOUNT, "{paid}");
        }
    }
}

/// The library accepts a payment two hours after the expiry: it is reported like any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_after_the_expiry_is_settled() {
    let mut fixture = Fixture::start_funded().await;
    let short = WantedInvoice { expiry: 1, ..wanted(AMOUNT) };
    let invoice = fixture.backend.make_invoice(&short).await.unwrap();
    until("an expired invoice", async || bolt11(&invoice).is_expired()).await;
    let forged = forged(&invoice, AMOUNT, 600);
    let outcome = attempt(&fixture.network.payer, &forged, AMOUNT).await;
    assert_eq!(outcome, PaymentStatus::Succeeded);
    assert_eq!(fixture.settlement(&invoice).await.amount, Some(AMOUNT));
    assert_eq!(settled(&fixture, &invoice).await, AMOUNT);
}

/// Pays this many millisats of an invoice; returns the result. A payer who has tried before may be refused by its own
/// node.
async fn attempt(payer: &Peer, invoice: &Bolt11Invoice, amount: u64) -> PaymentStatus {
    let (node, paid) = (Arc::clone(payer.node()), invoice.clone());
    let sent = tokio::task::spawn_blocking(move || node.bolt11_payment().send_using_amount(&paid, amount, None));
    sent.await.unwrap().unwrap();
    payer.outcome(invoice).await.unwrap()
}

/// What arrived for an invoice, in millisats.
async fn settled(fixture: &Fixture, invoice: &Invoice) -> u64 {
    until("a settled invoice", async || match fixture.backend.look_up_invoice(invoice.payment_hash()).await.unwrap() {
        InvoiceStatus::Settled(Settlement { amount, .. }) => amount,
        _ => None,
    })
    .await
}

/// An invoice as a dishonest payer reads it: with another amount and expiry, signed with the payee's key, because the payer's
/// library checks that.
fn forged(invoice: &Invoice, amount: u64, expiry: u64) -> Bolt11Invoice {
    let honest = bolt11(invoice);
    let seed = Mnemonic::from_str(MNEMONIC).unwrap().to_seed("");
    let seed = Xpriv::new_master(NetworkKind::Test, &seed).unwrap().private_key.secret_bytes();
    let key = KeysManager::new(&seed, 0, 0, true).get_node_secret_key();
    let mut builder = InvoiceBuilder::new(Currency::Regtest)
        .description(String::new())
        .payment_hash(*honest.payment_hash())
        .payment_secret(*honest.payment_secret())
        .timestamp(SystemTime::now())
        .min_final_cltv_expiry_delta(honest.min_final_cltv_expiry_delta())
        .expiry_time(Duration::from_secs(expiry))
        .amount_milli_satoshis(amount)
        .basic_mpp();
    for route in honest.route_hints() {
        builder = builder.private_route(route);
    }
    let forged = builder.build_signed(|message| Secp256k1::new().sign_ecdsa_recoverable(message, &key)).unwrap();
    assert_eq!(forged.recover_payee_pub_key(), honest.recover_payee_pub_key());
    forged
}
