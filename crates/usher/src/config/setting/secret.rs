//! Secrets that are plain text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use secrecy::ExposeSecret as _;

use super::{Setting, unfit};

/// Defines a type for secret texts. `$check` says what is wrong with one.
macro_rules! secret_setting {
    ($(#[doc = $doc:literal])* $Type:ident, $expected:literal, $example:literal, $check:expr) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub struct $Type(secrecy::SecretString);

        impl $Type {
            /// The secret.
            pub const fn secret(&self) -> &secrecy::SecretString {
                &self.0
            }
        }

        impl $crate::config::setting::Setting for $Type {
            const EXAMPLE: &'static str = $example;
            const SECRET: bool = true;

            fn expected() -> String {
                $expected.to_owned()
            }

            fn read(given: &$crate::config::setting::RawValue) -> Result<Self, String> {
                let check: fn(&str) -> Result<(), String> = $check;
                let text = $crate::config::setting::text::<Self>(given)?;
                check(text).map(|()| Self(text.into()))
            }

            fn show(&self) -> String {
                $crate::config::setting::SET.to_owned()
            }
        }
    };
}
pub(super) use secret_setting;

secret_setting!(
    /// Any secret text of one line.
    Secret, "text of at most 1000 bytes in one line", "\"\"", |text| fit::<Secret>(is_line(text))
);
secret_setting!(
    /// The bearer token of the HTTP interface, restricted to what a header can contain.
    ApiToken, "1 to 1000 visible ASCII characters without spaces", "\"\"",
    |text| fit::<ApiToken>(text.len() <= 1000 && text.bytes().all(|byte| byte.is_ascii_graphic()))
);
secret_setting!(
    /// A secret that signs webhook deliveries.
    WebhookSecret, "text of at most 1000 bytes in one line; after whsec_, base64 of 24 to 64 bytes", "\"\"",
    |text| fit::<WebhookSecret>(is_line(text) && whsec_fits(text))
);
secret_setting!(
    /// The seed of the embedded wallet.
    Mnemonic, "an English BIP-39 mnemonic of 12, 15, 18, 21 or 24 words with a valid checksum", "\"\"",
    |text| fit::<Mnemonic>(bip39::Mnemonic::parse_in_normalized(bip39::Language::English, text).is_ok())
);

fn fit<T: Setting>(fits: bool) -> Result<(), String> {
    if fits { Ok(()) } else { Err(unfit::<T>()) }
}

fn is_line(text: &str) -> bool {
    text.len() <= 1000 && !text.chars().any(char::is_control)
}

fn whsec_fits(text: &str) -> bool {
    text.strip_prefix("whsec_")
        .is_none_or(|encoded| BASE64.decode(encoded).is_ok_and(|key| (24..=64).contains(&key.len())))
}

impl ApiToken {
    /// Why the token may be guessable, if it is.
    ///
    /// 32 characters are 128 random bits in hex, which cannot be guessed.
    pub fn weakness(&self) -> Option<&'static str> {
        let token = self.0.expose_secret().to_ascii_lowercase();
        let placeholder = PLACEHOLDERS.iter().any(|word| token.contains(word))
            || WORDS.contains(&token.as_str())
            || token.bytes().all(|byte| Some(byte) == token.bytes().next());
        if placeholder {
            Some("is a placeholder that anybody can guess")
        } else if token.len() < 32 {
            Some("is short: use at least 32 characters (128 random bits in hex)")
        } else {
            None
        }
    }
}

/// Parts of tokens copied from an example.
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "change-me",
    "change_me",
    "your-token",
    "your_token",
    "yourtoken",
    "your-secret",
    "your_secret",
    "replace-me",
    "replace_me",
    "replaceme",
    "auth_token",
    "auth-token",
    "example",
    "placeholder",
    "password",
];

/// Common tokens.
const WORDS: &[&str] = &[
    "secret",
    "token",
    "test",
    "testing",
    "admin",
    "usher",
    "dev",
    "development",
    "letmein",
    "supersecret",
    "mytoken",
    "my-token",
];
