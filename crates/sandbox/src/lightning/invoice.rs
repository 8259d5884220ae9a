//! Making the text of an invoice.

use std::time::Duration;

use lightning_invoice::{Bolt11Invoice, CreationError, Currency, InvoiceBuilder, PaymentSecret};
use nostr::SECP256K1;
use nostr::hashes::{Hash as _, sha256};
use nostr::secp256k1::SecretKey;
use rand::RngCore as _;
use usher_protocol::bolt11::{Invoice, MAX_DESCRIPTION_BYTES};
use usher_protocol::message::{PaymentHash, Preimage};

use super::{InvoiceTerms, MakeError};

/// Blocks the payee needs to claim a payment: the usual number, unused here.
const CLTV_DELTA: u64 = 18;

/// Largest time in BOLT 11: 35 bits of seconds.
const MAX_TIME: u64 = (1 << 35) - 1;

pub(super) fn new_preimage() -> Preimage {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    Preimage::from_bytes(bytes)
}

pub(super) fn signed(
    node: &SecretKey,
    hash: PaymentHash,
    terms: &InvoiceTerms,
    now: u64,
) -> Result<Invoice, MakeError> {
    if now > MAX_TIME || terms.expiry > MAX_TIME {
        return Err(MakeError::BadTime);
    }
    if terms.amount == 0 {
        return Err(MakeError::ZeroAmount);
    }
    if terms.description.len() > MAX_DESCRIPTION_BYTES {
        return Err(MakeError::DescriptionTooLong);
    }
    let builder = InvoiceBuilder::new(Currency::Regtest);
    let builder = match terms.description_hash {
        Some(hash) => builder.description_hash(sha256::Hash::from_byte_array(hash)),
        None => builder.description(terms.description.clone()),
    };
    let mut secret = [0; 32];
    rand::rng().fill_bytes(&mut secret);
    let builder = builder
        .amount_milli_satoshis(terms.amount)
        .payment_hash(sha256::Hash::from_byte_array(*hash.as_bytes()))
        .payment_secret(PaymentSecret(secret))
        .duration_since_epoch(Duration::from_secs(now))
        .min_final_cltv_expiry_delta(CLTV_DELTA)
        .expiry_time(Duration::from_secs(terms.expiry))
        .basic_mpp();
    let made: Bolt11Invoice = builder.build_signed(|message| SECP256K1.sign_ecdsa_recoverable(message, node)).map_err(
        |error| match error {
            CreationError::DescriptionTooLong => MakeError::DescriptionTooLong,
            CreationError::TimestampOutOfBounds => MakeError::BadTime,
            _ => MakeError::AmountTooLarge,
        },
    )?;
    // A new invoice is parsed like one from somebody else.
    made.to_string().parse().map_err(|_| MakeError::AmountTooLarge)
}
