//! Two invoices with one payment hash: only one of them can be paid.

use ldk_node::bitcoin::hashes::{Hash as _, sha256};
use ldk_node::bitcoin::secp256k1::{Secp256k1, SecretKey};
use ldk_node::lightning_invoice::{Currency, InvoiceBuilder};
use ldk_node::lightning_types::payment::PaymentSecret;
use serde_json::json;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::Method;

use super::fixture::{Fixture, invoice};
use crate::harness::statuses;

fn with_the_hash_of(invoice: &Invoice, amount: u64) -> String {
    let (secp, key) = (Secp256k1::new(), SecretKey::from_slice(&[7; 32]).unwrap());
    InvoiceBuilder::new(Currency::Regtest)
        .amount_milli_satoshis(amount)
        .description("another".to_owned())
        .payment_hash(sha256::Hash::from_slice(invoice.payment_hash().as_bytes()).unwrap())
        .payment_secret(PaymentSecret([8; 32]))
        .current_timestamp()
        .min_final_cltv_expiry_delta(18)
        .build_signed(|message| secp.sign_ecdsa_recoverable(message, &key))
        .unwrap()
        .to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_invoice_with_the_hash_of_one_that_was_paid_is_refused() {
    let fixture = Fixture::open().await;
    let invoice = invoice(&fixture.payee(), 30_000);
    let stream = fixture.pay(&invoice).await;
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"]);

    let other = with_the_hash_of(&invoice, 90_000);
    let (status, problem) = fixture.refused("/invoices/pay", &json!({"invoice": other})).await;
    assert_eq!((status, problem["errors"][0]["pointer"].as_str()), (422, Some("/invoice")), "{problem}");
    assert!(problem.to_string().contains("payment hash of another invoice"), "{problem}");
    // The same one in other letters is the same.
    let again = json!({"invoice": invoice.as_str().to_uppercase()});
    assert_eq!(fixture.api().start("/invoices/pay", &again).await, stream);
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1);
}
