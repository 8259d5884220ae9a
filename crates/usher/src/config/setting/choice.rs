//! Settings that are one of a few words.

use usher_protocol::bolt11::Network;

use super::{RawValue, Setting, quoted, text, unfit};

/// Defines an enum whose variants are words.
macro_rules! choice {
    ($(#[doc = $doc:literal])* $Type:ident, $expected:literal, { $( $(#[doc = $variant_doc:literal])* $Variant:ident = $word:literal, )* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Type {
            $( $(#[doc = $variant_doc])* $Variant, )*
        }

        impl Setting for $Type {
            fn expected() -> String {
        $expected.to_owned()
    }

            fn read(given: &RawValue) -> Result<Self, String> {
                match text::<Self>(given)? {
                    $( $word => Ok(Self::$Variant), )*
                    _ => Err(unfit::<Self>()),
                }
            }

            fn show(&self) -> String {
                match self {
                    $( Self::$Variant => quoted($word), )*
                }
            }
        }
    };
}

choice!(
    /// The verifier of users' ages.
    VerificationProvider, "one of manual, oidc, remote",
    {
        /// The operator's own staff.
        Manual = "manual",
        /// An OpenID Connect provider.
        Oidc = "oidc",
        /// An external verification service.
        Remote = "remote",
    }
);
choice!(
    /// The form of the log.
    LogFormat, "one of text, json",
    {
        /// For people.
        Text = "text",
        /// For machines: one JSON object per line.
        Json = "json",
    }
);

/// Whether this program includes a Lightning node.
const HAS_EMBEDDED: bool = cfg!(feature = "embedded-lightning");

/// The Lightning backend that creates and pays invoices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LnBackend {
    /// None: requests that need one are refused.
    None,
    /// A wallet that speaks Nostr Wallet Connect.
    Nwc,
    /// A Lightning node inside this program.
    Embedded,
}

impl Setting for LnBackend {
    fn expected() -> String {
        if HAS_EMBEDDED { "one of none, nwc, embedded" } else { "one of none, nwc" }.to_owned()
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        match text::<Self>(given)? {
            "none" => Ok(Self::None),
            "nwc" => Ok(Self::Nwc),
            "embedded" if HAS_EMBEDDED => Ok(Self::Embedded),
            "embedded" => Err(format!(
                "is embedded, and this program was built without the Cargo feature embedded-lightning; it must be {}",
                Self::expected()
            )),
            _ => Err(unfit::<Self>()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::None => quoted("none"),
            Self::Nwc => quoted("nwc"),
            Self::Embedded => quoted("embedded"),
        }
    }
}

impl Setting for Network {
    fn expected() -> String {
        let names = Self::ALL.map(Self::as_str);
        format!("one of {}", names.join(", "))
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        let text = text::<Self>(given)?;
        Self::ALL.into_iter().find(|network| network.as_str() == text).ok_or_else(unfit::<Self>)
    }

    fn show(&self) -> String {
        quoted(self.as_str())
    }
}
