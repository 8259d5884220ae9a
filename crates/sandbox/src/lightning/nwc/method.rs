use std::fmt;

usher_protocol::words! {
    /// What an app may ask.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Method {
        MakeInvoice = "make_invoice",
        /// How an invoice or payment stands.
        LookupInvoice = "lookup_invoice",
        PayInvoice = "pay_invoice",
        GetBalance = "get_balance",
        GetInfo = "get_info",
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

usher_protocol::words! {
    /// Why a wallet refuses.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ErrorCode {
        /// Too many calls.
        RateLimited = "RATE_LIMITED",
        NotImplemented = "NOT_IMPLEMENTED",
        InsufficientBalance = "INSUFFICIENT_BALANCE",
        /// The app is not known.
        Unauthorized = "UNAUTHORIZED",
        /// Something broke.
        Internal = "INTERNAL",
        /// It cannot read messages encrypted so.
        UnsupportedEncryption = "UNSUPPORTED_ENCRYPTION",
        /// The payment came to nothing.
        PaymentFailed = "PAYMENT_FAILED",
        /// It knows no such invoice.
        NotFound = "NOT_FOUND",
        /// Anything else.
        Other = "OTHER",
    }
}
