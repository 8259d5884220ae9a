use std::fmt;

/// What an app may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    MakeInvoice,
    /// How an invoice or payment stands.
    LookupInvoice,
    PayInvoice,
    GetBalance,
    GetInfo,
    /// Past invoices and payments.
    ListTransactions,
}

impl Method {
    pub const ALL: [Self; 6] = [
        Self::MakeInvoice,
        Self::LookupInvoice,
        Self::PayInvoice,
        Self::GetBalance,
        Self::GetInfo,
        Self::ListTransactions,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MakeInvoice => "make_invoice",
            Self::LookupInvoice => "lookup_invoice",
            Self::PayInvoice => "pay_invoice",
            Self::GetBalance => "get_balance",
            Self::GetInfo => "get_info",
            Self::ListTransactions => "list_transactions",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == word)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a wallet refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// Too many calls.
    RateLimited,
    NotImplemented,
    InsufficientBalance,
    /// The app may spend no more.
    QuotaExceeded,
    /// The app may not do this.
    Restricted,
    /// The app is not known.
    Unauthorized,
    /// Something broke.
    Internal,
    /// It cannot read messages encrypted so.
    UnsupportedEncryption,
    /// The payment came to nothing.
    PaymentFailed,
    /// It knows no such invoice.
    NotFound,
    /// Anything else.
    Other,
}

impl ErrorCode {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "RATE_LIMITED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::InsufficientBalance => "INSUFFICIENT_BALANCE",
            Self::QuotaExceeded => "QUOTA_EXCEEDED",
            Self::Restricted => "RESTRICTED",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Internal => "INTERNAL",
            Self::UnsupportedEncryption => "UNSUPPORTED_ENCRYPTION",
            Self::PaymentFailed => "PAYMENT_FAILED",
            Self::NotFound => "NOT_FOUND",
            Self::Other => "OTHER",
        }
    }
}
