use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvoiceTerms {
    /// Millisats.
    pub amount: u64,
    /// What it is for, at most 639 bytes.
    pub description: String,
    /// The SHA-256 of what it is for, in place of the description.
    pub description_hash: Option<[u8; 32]>,
    /// For how many seconds it can be paid.
    pub expiry: u64,
}

impl InvoiceTerms {
    /// An invoice of so many millisats, which can be paid for an hour.
    pub fn of(amount: u64) -> Self {
        Self { amount, description: String::new(), description_hash: None, expiry: 3_600 }
    }

    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The same, to be paid within this many seconds.
    #[must_use]
    pub const fn for_seconds(mut self, expiry: u64) -> Self {
        self.expiry = expiry;
        self
    }
}

/// What the payer is charged beside the amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// Millisats for each payment.
    pub base: u64,
    /// Millionths of the amount, rounded up.
    pub per_million: u64,
}

impl Default for Fees {
    /// A tenth of a percent.
    fn default() -> Self {
        Self { base: 0, per_million: 1_000 }
    }
}

impl Fees {
    /// Payments cost nothing.
    pub const NONE: Self = Self { base: 0, per_million: 0 };

    /// The fee for an amount, both in millisats.
    pub fn of(self, amount: u64) -> u64 {
        let part = (u128::from(amount) * u128::from(self.per_million)).div_ceil(1_000_000);
        self.base.saturating_add(u64::try_from(part).unwrap_or(u64::MAX))
    }
}
