//! The routes of a mint.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MintRoute {
    /// `GET /v1/info` (NUT-06).
    Info,
    /// `GET /v1/keys` and `/v1/keys/{id}` (NUT-01).
    Keys,
    /// `GET /v1/keysets` (NUT-02).
    Keysets,
    /// `POST /v1/mint/quote/bolt11` (NUT-04).
    CreateQuote,
    /// `GET /v1/mint/quote/bolt11/{id}` (NUT-04).
    QuoteState,
    /// `POST /v1/mint/bolt11` (NUT-04).
    Mint,
    /// `POST /v1/swap` (NUT-03).
    Swap,
    /// `POST /v1/checkstate` (NUT-07).
    CheckState,
    /// `POST /v1/restore` (NUT-09).
    Restore,
    /// Anything else.
    Other,
}

impl MintRoute {
    pub const ALL: [Self; 10] = [
        Self::Info,
        Self::Keys,
        Self::Keysets,
        Self::CreateQuote,
        Self::QuoteState,
        Self::Mint,
        Self::Swap,
        Self::CheckState,
        Self::Restore,
        Self::Other,
    ];

    pub(super) fn of(path: &str) -> Self {
        let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        match segments.as_slice() {
            ["v1", "info"] => Self::Info,
            ["v1", "keys"] | ["v1", "keys", _] => Self::Keys,
            ["v1", "keysets"] => Self::Keysets,
            ["v1", "mint", "quote", _] => Self::CreateQuote,
            ["v1", "mint", "quote", _, _] => Self::QuoteState,
            ["v1", "mint", _] => Self::Mint,
            ["v1", "swap"] => Self::Swap,
            ["v1", "checkstate"] => Self::CheckState,
            ["v1", "restore"] => Self::Restore,
            _ => Self::Other,
        }
    }
}
