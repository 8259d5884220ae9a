//! The types of settings: how each is parsed and shown.

mod accent_color;
mod basic;
mod choice;
mod console_operators;
mod hours;
mod lists;
mod log_filter;
mod node_address;
mod nostr;
mod notices;
mod nwc;
mod openid_clients;
mod rates;
mod secret;
mod url;

use serde_json::Value;

pub use self::url::{DatabaseUrl, WebUrl, WebhookUrl, crosses_network_in_clear, is_on_this_machine};
pub use basic::{BoundedInteger, EmailDomain, Nip05, ProfileName, RpId, Text, Unit};
pub use choice::{LnBackend, LogFormat, VerificationProvider};
pub use console_operators::ConsoleOperators;
pub use hours::Hours;
pub use lists::{LoginMethods, ProxyNetworks, PublicKeys, ReturnUrls};
pub use log_filter::{FilterError, LogFilter, parse_filter};
pub use node_address::{HostName, HostPort, NodeAddress, Port};
pub use nostr::{PrivateKey, Relays, UrlSchemes};
pub use notices::{NoticeAddress, NoticeTarget, NoticeTargets, Trigger};
pub use nwc::NwcUrl;
pub use openid_clients::OpenIdClients;
pub use rates::{Currencies, RateSources};
pub use secret::{ApiToken, Mnemonic, Secret, WebhookSecret};

/// A value from the file or the environment. It has no `Debug`, because it may be a secret.
#[derive(Clone, Hash)]
pub enum RawValue {
    /// Text; always, in the environment.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
    /// A list of whole numbers, at least one.
    Numbers(Vec<i128>),
    /// A whole number.
    Integer(i128),
    /// A list of tables, or of tables and texts, as JSON text.
    Tables(String),
    /// True or false.
    Flag(bool),
    /// A type that no key accepts: a fraction, a date, a table, a list of anything else.
    UnsupportedType,
    /// It could not be read, which is already recorded as an error.
    Unusable,
}

/// The type of a setting.
pub trait Setting: Sized {
    /// What a value must be: completes "must be …".
    fn expected() -> String;

    /// An example as TOML, for keys without default.
    const EXAMPLE: &'static str = "\"\"";
    /// Whether a value is required if there is no default.
    const REQUIRED: bool = true;
    /// Values are never shown.
    const SECRET: bool = false;

    /// Parses a value.
    ///
    /// # Errors
    /// What is wrong, as the rest of a sentence after the key's name. Never contains the value.
    fn read(given: &RawValue) -> Result<Self, String>;

    /// The value as TOML; for a secret only that it is set.
    fn show(&self) -> String;

    /// The value if none is given and there is no default; `None` if one is required.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Setting> Setting for Option<T> {
    fn expected() -> String {
        T::expected()
    }

    const EXAMPLE: &'static str = T::EXAMPLE;
    const REQUIRED: bool = false;
    const SECRET: bool = T::SECRET;

    /// An empty text counts as none: compose files and service managers write an unset variable as an empty one.
    fn read(given: &RawValue) -> Result<Self, String> {
        match given {
            RawValue::Text(text) if text.is_empty() => Ok(None),
            given => T::read(given).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| NOT_SET.to_owned(), T::show)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// The given text, if not empty.
fn text<T: Setting>(given: &RawValue) -> Result<&str, String> {
    match given {
        RawValue::Text(text) if text.is_empty() => Err(empty::<T>()),
        RawValue::Text(text) => Ok(text),
        RawValue::Integer(_) | RawValue::Flag(_) => Err(format!("must be {}, in quotes", T::expected())),
        RawValue::List(_)
        | RawValue::Numbers(_)
        | RawValue::Tables(_)
        | RawValue::UnsupportedType
        | RawValue::Unusable => Err(unfit::<T>()),
    }
}

/// The entries of a list, or of a text separated by commas. An empty text is an empty list.
fn entries<T: Setting>(given: &RawValue) -> Result<Vec<&str>, String> {
    match given {
        RawValue::Text(text) if text.trim().is_empty() => Ok(Vec::new()),
        RawValue::Text(text) => Ok(text.split(',').map(str::trim).collect()),
        RawValue::List(list) => Ok(list.iter().map(String::as_str).collect()),
        _ => Err(unfit::<T>()),
    }
}

/// The entries of a list of tables, which is JSON in a text.
fn tables<T: Setting>(given: &RawValue) -> Result<Vec<Value>, String> {
    let (RawValue::Text(json) | RawValue::Tables(json)) = given else { return Err(unfit::<T>()) };
    serde_json::from_str(json).map_err(|_| unfit::<T>())
}

/// Reads each entry of a list. `twice` says what is wrong with one that is `alike` an earlier one.
fn read_each<E>(
    given: &[Value],
    read: impl Fn(&Value) -> Result<E, String>,
    alike: impl Fn(&E, &E) -> bool,
    twice: &str,
) -> Result<Vec<E>, String> {
    let mut entries: Vec<E> = Vec::with_capacity(given.len());
    for (number, entry) in (1..).zip(given) {
        let wrong = |problem: &str| format!("has an error in its entry {number}: {problem}");
        let entry = read(entry).map_err(|problem| wrong(&problem))?;
        if entries.iter().any(|earlier| alike(earlier, &entry)) {
            return Err(wrong(twice));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn empty<T: Setting>() -> String {
    format!("is empty; it must be {}", T::expected())
}

fn unfit<T: Setting>() -> String {
    format!("must be {}", T::expected())
}

pub(crate) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// How a secret is shown.
pub(super) const SET: &str = "set";

/// How a missing value is shown.
pub(super) const NOT_SET: &str = "not set";
