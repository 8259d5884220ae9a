//! Preimages that do not match the payment hash.

use usher_protocol::message::Preimage;

/// A preimage that belongs to no payment.
pub(super) fn unrelated_preimage() -> Preimage {
    Preimage::from_bytes(rand::random())
}
