use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// How a mint is set up. [`MintOptions::new`] is a mint in memory on a free port, with the units `sat` and `multi`, no
/// fee, no token, and quotes that are paid by themselves.
#[derive(Clone)]
pub struct MintOptions {
    pub(crate) listen: SocketAddr,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) units: Vec<String>,
    pub(crate) input_fee_ppk: u64,
    pub(crate) auth_token: Option<String>,
    pub(crate) auth_only_for_minting: bool,
    pub(crate) quotes: QuotePayment,
    pub(crate) keysets: KeysetVersion,
}

impl Default for MintOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MintOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MintOptions")
            .field("listen", &self.listen)
            .field("folder", &self.folder)
            .field("units", &self.units)
            .field("input_fee_ppk", &self.input_fee_ppk)
            .field("quotes", &self.quotes)
            .field("keysets", &self.keysets)
            .finish_non_exhaustive()
    }
}

impl MintOptions {
    /// A mint in memory; see [`MintOptions`].
    pub fn new() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            folder: None,
            units: vec!["sat".to_owned(), "multi".to_owned()],
            input_fee_ppk: 0,
            auth_token: None,
            auth_only_for_minting: false,
            quotes: QuotePayment::Automatic,
            keysets: KeysetVersion::V2,
        }
    }

    /// Listens here; on a free port of 127.0.0.1 by default. Another mint that ran here before can be replaced at once.
    #[must_use]
    pub const fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Keeps keys, quotes and proofs in this folder (made if missing): a mint started on it again is the same mint.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The units, instead of `sat` and `multi`. Any name is a unit.
    #[must_use]
    pub fn units<U: Into<String>>(mut self, units: impl IntoIterator<Item = U>) -> Self {
        self.units = units.into_iter().map(Into::into).collect();
        self
    }

    /// The fee for each input of a swap, in thousandths of the unit (NUT-02).
    #[must_use]
    pub const fn input_fee_ppk(mut self, fee: u64) -> Self {
        self.input_fee_ppk = fee;
        self
    }

    /// Requires `Clear-auth: <token>` for everything but `/v1/info`, `/v1/keys` and `/v1/keysets`.
    #[must_use]
    pub fn auth_token(mut self, token: impl Into<String>) -> Self {
        self.auth_token = Some(token.into());
        self
    }

    /// Requires the token only of whoever mints. Users, who do not know it, can swap and check what they hold.
    #[must_use]
    pub const fn auth_only_for_minting(mut self) -> Self {
        self.auth_only_for_minting = true;
        self
    }

    #[must_use]
    pub const fn quotes(mut self, quotes: QuotePayment) -> Self {
        self.quotes = quotes;
        self
    }

    /// The version of the keysets' ids; 2 by default.
    #[must_use]
    pub const fn keysets(mut self, version: KeysetVersion) -> Self {
        self.keysets = version;
        self
    }
}

/// Who pays the quotes of a mint (NUT-04). Every quote's request is a real BOLT11 invoice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotePayment {
    /// Nobody: a quote is paid as soon as somebody looks. Its invoice belongs to no node.
    Automatic,
    /// The owner of the [`Mint`](crate::Mint), with [`pay_quote`](crate::Mint::pay_quote). Its invoice belongs to no node.
    Manual,
}

/// The version of a keyset's id (NUT-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysetVersion {
    /// 8 bytes, beginning with `00`.
    V1,
    /// 33 bytes, beginning with `01`; tokens carry the first 8.
    V2,
}

/// A new keyset that takes the place of a unit's active one.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    /// The fee for each input, in thousandths of the unit.
    pub input_fee_ppk: u64,
    pub version: KeysetVersion,
    /// When the mint may forget it, in Unix seconds.
    pub final_expiry: Option<u64>,
}

impl Default for Rotation {
    /// No fee, version 2, no expiry.
    fn default() -> Self {
        Self { input_fee_ppk: 0, version: KeysetVersion::V2, final_expiry: None }
    }
}
