//! Lightning invoices (BOLT 11): parsed and checked before any code relies on them.

use std::fmt;
use std::str::FromStr;

use lightning_invoice::{Bolt11Invoice, Bolt11InvoiceDescriptionRef, Currency, SignedRawBolt11Invoice};
use serde::{Deserialize, Serialize};

use crate::message::{MAX_INVOICE_BYTES, PaymentHash};

/// Longest description an invoice can carry, in bytes of UTF-8: a tagged field holds 1,023 groups of five bits.
pub const MAX_DESCRIPTION_BYTES: usize = 639;

/// The Bitcoin network an invoice is paid on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// The network with real money: `lnbc…`.
    Bitcoin,
    /// The public test network: `lntb…`.
    Testnet,
    /// The public test network with signed blocks: `lntbs…`.
    Signet,
    /// A private test network: `lnbcrt…`.
    Regtest,
}

impl Network {
    /// Every network.
    pub const ALL: [Self; 4] = [Self::Bitcoin, Self::Testnet, Self::Signet, Self::Regtest];

    /// Its name in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bitcoin => "bitcoin",
            Self::Testnet => "testnet",
            Self::Signet => "signet",
            Self::Regtest => "regtest",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An invoice with a valid signature and all required fields.
#[derive(Clone, PartialEq, Eq)]
pub struct Invoice {
    text: String,
    payment_hash: PaymentHash,
    amount: Option<u64>,
    created_at: u64,
    expires_at: u64,
    network: Network,
    description: Description,
}

#[derive(Clone, PartialEq, Eq)]
enum Description {
    Text(String),
    Hash([u8; 32]),
}

/// A text is not a usable invoice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvoiceError {
    /// It is longer than [`MAX_INVOICE_BYTES`].
    #[error("is longer than {MAX_INVOICE_BYTES} bytes")]
    TooLong,
    /// Not a BOLT 11 invoice, an invalid checksum or signature, a missing field, or an invalid amount.
    #[error("is not a valid BOLT 11 invoice")]
    Invalid,
    /// It is for an unknown network.
    #[error("is for an unknown network")]
    UnknownNetwork,
}

impl Invoice {
    /// The invoice's text, in lower case.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Identifies the payment.
    pub const fn payment_hash(&self) -> PaymentHash {
        self.payment_hash
    }

    /// Millisats; `None` leaves it to the payer.
    pub const fn amount(&self) -> Option<u64> {
        self.amount
    }

    /// Unix seconds of its creation, as stated in the invoice.
    pub const fn created_at(&self) -> u64 {
        self.created_at
    }

    /// Unix seconds at which it expires.
    pub const fn expires_at(&self) -> u64 {
        self.expires_at
    }

    /// Whether it has expired at `now` (Unix seconds).
    pub const fn is_expired(&self, now: u64) -> bool {
        now >= self.expires_at
    }

    /// The network it is paid on.
    pub const fn network(&self) -> Network {
        self.network
    }

    /// The public key of the payee's node, compressed, as 66 hex characters.
    pub fn payee(&self) -> String {
        // Parsing succeeded before.
        let parsed = self.text.parse::<Bolt11Invoice>();
        parsed.map(|invoice| invoice.get_payee_pub_key().to_string()).unwrap_or_default()
    }

    /// The description; `None` if there is only its hash.
    pub fn description(&self) -> Option<&str> {
        match &self.description {
            Description::Text(text) => Some(text),
            Description::Hash(_) => None,
        }
    }

    /// The SHA-256 of the description, if the invoice has only that.
    pub const fn description_hash(&self) -> Option<&[u8; 32]> {
        match &self.description {
            Description::Text(_) => None,
            Description::Hash(hash) => Some(hash),
        }
    }
}

impl FromStr for Invoice {
    type Err = InvoiceError;

    fn from_str(text: &str) -> Result<Self, InvoiceError> {
        if text.len() > MAX_INVOICE_BYTES {
            return Err(InvoiceError::TooLong);
        }
        let signed: SignedRawBolt11Invoice = text.parse().map_err(|_| InvoiceError::Invalid)?;
        let says_amount = signed.hrp.raw_amount.is_some() || signed.hrp.si_prefix.is_some();
        let parsed = Bolt11Invoice::from_signed(signed).map_err(|_| InvoiceError::Invalid)?;
        let amount = parsed.amount_milli_satoshis();
        // The library reads an amount that is too large for it as none, which would leave the amount to the payer.
        if says_amount != amount.is_some() || amount == Some(0) {
            return Err(InvoiceError::Invalid);
        }
        let network = match parsed.currency() {
            Currency::Bitcoin => Network::Bitcoin,
            Currency::BitcoinTestnet => Network::Testnet,
            Currency::Signet => Network::Signet,
            Currency::Regtest => Network::Regtest,
            Currency::Simnet => return Err(InvoiceError::UnknownNetwork),
        };
        let description = match parsed.description() {
            Bolt11InvoiceDescriptionRef::Direct(text) => Description::Text(text.to_string()),
            Bolt11InvoiceDescriptionRef::Hash(hash) => Description::Hash(*hash.0.as_ref()),
        };
        let created_at = parsed.duration_since_epoch().as_secs();
        Ok(Self {
            text: text.to_ascii_lowercase(),
            payment_hash: PaymentHash::from_bytes(*parsed.payment_hash().as_ref()),
            amount,
            created_at,
            expires_at: created_at.saturating_add(parsed.expiry_time().as_secs()),
            network,
            description,
        })
    }
}

impl fmt::Display for Invoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

crate::debug_shows!(Invoice { payment_hash, amount });

crate::text_in_json!(Invoice);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use lightning_invoice::{PayeePubKey, RawBolt11Invoice, RawTaggedField, SiPrefix, TaggedField};

    use super::*;

    // Examples of BOLT 11 itself (its section "Examples").
    const DONATION: &str = "lnbc1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdpl2pkx2ctnv5sxxmmwwd5kgetjypeh2ursdae8g6twvus8g6rfwvs8qun0dfjkxaq9qrsgq357wnc5r2ueh7ck6q93dj32dlqnls087fxdwk8qakdyafkq3yap9us6v52vjjsrvywa6rt52cm9r9zqt8r2t7mlcwspyetp5h2tztugp9lfyql";
    const COFFEE: &str = "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh";

    #[test]
    fn parses_the_bolt11_examples() {
        let coffee: Invoice = COFFEE.parse().unwrap();
        assert_eq!(coffee.amount(), Some(250_000_000));
        assert_eq!(coffee.payee(), "03e7156ae33b0a208d0744199163177e909e80176e55d97a2f221ede0f934dd9ad");
        assert_eq!(coffee.description(), Some("1 cup coffee"));
        assert_eq!((coffee.created_at(), coffee.expires_at()), (1_496_314_658, 1_496_314_658 + 60));
        assert_eq!(coffee.network(), Network::Bitcoin);
        let hash = "0001020304050607080900010203040506070809000102030405060708090102";
        assert_eq!(coffee.payment_hash().to_string(), hash);
        assert!(coffee.is_expired(1_496_314_718) && !coffee.is_expired(1_496_314_717));

        let donation: Invoice = DONATION.parse().unwrap();
        assert_eq!(donation.amount(), None);
        assert_eq!(donation.expires_at(), 1_496_314_658 + 3600);
    }

    #[test]
    fn upper_and_lower_case_are_equal() {
        let upper: Invoice = COFFEE.to_uppercase().parse().unwrap();
        assert_eq!(upper, COFFEE.parse().unwrap());
        assert_eq!(upper.as_str(), COFFEE);
    }

    #[test]
    fn invalid_invoices_are_refused() {
        let changed = COFFEE.replacen("2500u", "2501u", 1);
        let mixed = COFFEE.replacen('l', "L", 1);
        for text in ["", "lnbc", "lightning:lnbc1", &changed, &mixed, &COFFEE[..COFFEE.len() - 1]] {
            assert_eq!(text.parse::<Invoice>(), Err(InvoiceError::Invalid), "{text}");
        }
        assert_eq!("l".repeat(MAX_INVOICE_BYTES + 1).parse::<Invoice>(), Err(InvoiceError::TooLong));
    }

    #[test]
    fn debug_omits_the_invoice_text() {
        let coffee: Invoice = COFFEE.parse().unwrap();
        assert!(!format!("{coffee:?}").contains("lnbc"));
    }

    fn changed(change: impl FnOnce(&mut RawBolt11Invoice)) -> String {
        let mut raw = COFFEE.parse::<SignedRawBolt11Invoice>().unwrap().into_parts().0;
        change(&mut raw);
        let key = nostr::SecretKey::from_slice(&[0x11; 32]).unwrap();
        let secp = nostr::secp256k1::Secp256k1::new();
        let signed = raw.sign(|hash| Ok::<_, ()>(secp.sign_ecdsa_recoverable(hash, &key)));
        signed.unwrap().to_string()
    }

    fn of_amount(raw_amount: Option<u64>, si_prefix: Option<SiPrefix>) -> String {
        changed(|raw| (raw.hrp.raw_amount, raw.hrp.si_prefix) = (raw_amount, si_prefix))
    }

    #[test]
    fn wrong_payees_and_unknown_required_features_are_refused() {
        let payee = |secret: u8| {
            let key = nostr::SecretKey::from_slice(&[secret; 32]).unwrap();
            let payee = PayeePubKey(key.public_key(&nostr::secp256k1::Secp256k1::new()));
            changed(|raw| raw.data.tagged_fields.push(TaggedField::PayeePubKey(payee).into()))
        };
        payee(0x11).parse::<Invoice>().unwrap();
        assert_eq!(payee(0x12).parse::<Invoice>(), Err(InvoiceError::Invalid), "signed by another key");

        let requires = |bit: usize| {
            changed(|raw| {
                for field in &mut raw.data.tagged_fields {
                    if let RawTaggedField::KnownSemantics(TaggedField::Features(features)) = field {
                        features.set_required_custom_bit(bit).unwrap();
                    }
                }
            })
        };
        assert_eq!(requires(512).parse::<Invoice>(), Err(InvoiceError::Invalid), "nobody here can pay it");
        let twice = changed(|raw| {
            let hash =
                |field: &&RawTaggedField| matches!(field, RawTaggedField::KnownSemantics(TaggedField::PaymentHash(_)));
            let hash = raw.data.tagged_fields.iter().find(hash).unwrap().clone();
            raw.data.tagged_fields.push(hash);
        });
        assert_eq!(twice.parse::<Invoice>(), Err(InvoiceError::Invalid), "two payments");
    }

    #[test]
    fn only_payable_amounts_are_accepted() {
        for (raw_amount, si_prefix, millisats) in [
            (None, None, None),
            (Some(1), None, Some(100_000_000_000)),
            (Some(10), Some(SiPrefix::Pico), Some(1)),
            (Some(1), Some(SiPrefix::Nano), Some(100)),
        ] {
            let invoice: Invoice = of_amount(raw_amount, si_prefix).parse().unwrap();
            assert_eq!(invoice.amount(), millisats);
        }
        for (raw_amount, si_prefix) in [
            // More than 18,446,744 bitcoin overflow the integer of picobitcoin: invalid, not an open amount.
            (21_000_000, None),
            (0, None),
            (0, Some(SiPrefix::Micro)),
            (18_446_745, None),
            (u64::MAX, None),
            (u64::MAX, Some(SiPrefix::Milli)),
            (1, Some(SiPrefix::Pico)),
            (15, Some(SiPrefix::Pico)),
        ] {
            let text = of_amount(Some(raw_amount), si_prefix);
            assert_eq!(text.parse::<Invoice>(), Err(InvoiceError::Invalid), "{text}");
        }
    }
}
