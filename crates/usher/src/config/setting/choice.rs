//! Settings that are one of a few words.

use super::{Given, Setting, quoted, text, unfit};

/// Makes an enum of which each variant is a word.
macro_rules! choice {
    ($(#[doc = $doc:literal])* $Type:ident, $shape:literal, { $( $(#[doc = $variant_doc:literal])* $Variant:ident = $word:literal, )* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Type {
            $( $(#[doc = $variant_doc])* $Variant, )*
        }

        impl Setting for $Type {
            fn shape() -> String {
        $shape.to_owned()
    }

            fn read(given: &Given) -> Result<Self, String> {
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
    /// Which Lightning wallet makes and pays invoices.
    LnBackend, "one of none, nwc, embedded",
    {
        /// None: calls that need one are refused.
        None = "none",
        /// A wallet that speaks Nostr Wallet Connect.
        Nwc = "nwc",
        /// A wallet within this program.
        Embedded = "embedded",
    }
);
choice!(
    /// Who verifies a user's age.
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
