//! Real Lightning invoices, with preimages derived from a number.

use std::time::Duration;

use lightning_invoice::{Currency, InvoiceBuilder, PaymentSecret};
use nostr::hashes::{Hash as _, sha256};
use usher_protocol::Keys;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Preimage;

/// The preimage with this number.
pub fn preimage(number: u64) -> Preimage {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Preimage::from_bytes(bytes)
}

/// An invoice of `node` for the preimage with this number, made at `now` (Unix seconds).
pub fn invoice(node: &Keys, number: u64, amount: u64, now: u64, expiry: u64) -> Option<Invoice> {
    InvoiceBuilder::new(Currency::Regtest)
        .description(format!("invoice {number}"))
        .payment_hash(sha256::Hash::from_byte_array(*preimage(number).payment_hash().as_bytes()))
        .payment_secret(PaymentSecret([9; 32]))
        .duration_since_epoch(Duration::from_secs(now))
        .min_final_cltv_expiry_delta(18)
        .expiry_time(Duration::from_secs(expiry))
        .amount_milli_satoshis(amount)
        .build_signed(|message| nostr::SECP256K1.sign_ecdsa_recoverable(message, node.secret_key()))
        .ok()?
        .to_string()
        .parse()
        .ok()
}
