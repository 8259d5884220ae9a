//! Invoices of no node, for quotes that are paid without Lightning.

use std::time::Duration;

use anyhow::Context as _;
use cdk::nuts::SecretKey;
use cdk::secp256k1::hashes::{Hash as _, sha256};
use cdk::secp256k1::{Message, Secp256k1};
use lightning_invoice::{Currency, InvoiceBuilder, PaymentSecret};

/// An invoice on regtest, signed by a key that nobody keeps. `now` is in Unix seconds.
pub(crate) fn unpayable(millisats: u64, description: &str, now: u64, expiry_seconds: u64) -> anyhow::Result<String> {
    let node = SecretKey::generate();
    let hash = sha256::Hash::hash(&SecretKey::generate().to_secret_bytes());
    let invoice = InvoiceBuilder::new(Currency::Regtest)
        .description(description.to_owned())
        .payment_hash(hash)
        .payment_secret(PaymentSecret(SecretKey::generate().to_secret_bytes()))
        .duration_since_epoch(Duration::from_secs(now))
        .min_final_cltv_expiry_delta(18)
        .expiry_time(Duration::from_secs(expiry_seconds))
        .amount_milli_satoshis(millisats)
        .basic_mpp()
        .build_signed(|message: &Message| Secp256k1::new().sign_ecdsa_recoverable(message, &node))
        .context("cannot make an invoice")?;
    Ok(invoice.to_string())
}
