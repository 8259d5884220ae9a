//! Parses each key's given value, or its default, as its type.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;
use usher_api::Setting as ShownSetting;

use super::error::{ConfigError, Origin};
use super::given_values::Layer;
use super::key::Key;
use super::setting::{NOT_SET, RawValue, SET, Setting};
use super::toml_value::{default_value, shown_value};

/// The value in force for one key.
#[derive(Debug)]
pub struct InForce {
    /// The key.
    pub key: &'static Key,
    /// The printable value; for a secret only whether it is set.
    pub shown: String,
    /// Where it was given.
    pub origin: Origin,
    /// Detects changes of the value, also of a secret.
    pub fingerprint: Fingerprint,
}

impl InForce {
    /// What the API shows of it.
    pub fn setting(&self) -> ShownSetting {
        let is_set = self.shown != NOT_SET;
        ShownSetting {
            key: self.key.name,
            value: match (self.key.secret, is_set) {
                (true, is_set) => if is_set { SET } else { NOT_SET }.into(),
                (false, true) => shown_value(&self.shown),
                (false, false) => Value::Null,
            },
            source: match self.origin {
                Origin::Default => "default",
                Origin::Line(..) | Origin::File(_) => "file",
                Origin::Variable(_) => "environment",
                Origin::SecretFile(..) => "secret_file",
            },
        }
    }
}

/// A hash of a given value. Never shown, because it would reveal a short secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    fn of(given: Option<&RawValue>) -> Self {
        let mut hasher = DefaultHasher::new();
        given.hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint")
    }
}

type FindKey = fn(&str) -> Option<&'static Key>;

/// Parses given values into settings, and records errors and the values in force.
pub struct Reader<'a> {
    find: FindKey,
    given: &'a Layer,
    /// Whether parts of the file could not be parsed, so that a missing key may be there.
    incomplete: bool,
    /// The errors.
    pub errors: Vec<ConfigError>,
    /// The valid values.
    pub in_force: Vec<InForce>,
}

impl<'a> Reader<'a> {
    /// A reader of these values; `incomplete` if some could not be parsed.
    pub fn new(find: FindKey, given: &'a Layer, incomplete: bool) -> Self {
        Self { find, given, incomplete, errors: Vec::new(), in_force: Vec::new() }
    }

    /// The key's value; `None` if it is invalid or missing, which is recorded.
    pub fn read<T: Setting>(&mut self, name: &'static str) -> Option<T> {
        let key = (self.find)(name)?;
        let (value, origin) = match self.value(key) {
            // Recorded when it was found.
            None if matches!(self.given.get(name), Some((RawValue::Unusable, _))) => return None,
            Some(found) => found,
            None => match T::absent() {
                Some(value) => (Ok(value), Origin::Default),
                None => {
                    if !self.incomplete {
                        self.errors.push(missing(key));
                    }
                    return None;
                }
            },
        };
        match value {
            Ok(value) => {
                let fingerprint = Fingerprint::of(self.given.get(name).map(|(given, _)| given));
                self.in_force.push(InForce { key, shown: value.show(), origin, fingerprint });
                Some(value)
            }
            Err(problem) => {
                self.errors.push(ConfigError::at(origin, format!("{name} {problem}")));
                None
            }
        }
    }

    /// The key's value if it is valid, without recording errors, for checks of several keys.
    pub fn peek<T: Setting>(&self, name: &'static str) -> Option<T> {
        let key = (self.find)(name)?;
        match (self.value(key), self.given.get(name)) {
            (Some((value, _)), _) => value.ok(),
            (None, Some(_)) => None,
            (None, None) => T::absent(),
        }
    }

    /// The value of an optional key, if it is set and valid.
    pub fn peek_set<T: Setting>(&self, name: &'static str) -> Option<T> {
        self.peek::<Option<T>>(name).flatten()
    }

    /// The name of an optional key that is not set. An invalid value is reported where it is read.
    pub fn unset<T: Setting>(&self, name: &'static str) -> Option<&'static str> {
        self.peek::<Option<T>>(name).filter(Option::is_none).map(|_| name)
    }

    /// The given or default value of a key, if it can be parsed.
    fn value<T: Setting>(&self, key: &'static Key) -> Option<(Result<T, String>, Origin)> {
        let default = || key.default.map(|default| (T::read(&default_value(default)), Origin::Default));
        let Some((given, origin)) = self.given.get(key.name) else { return default() };
        let text = match given {
            RawValue::Unusable => return None,
            RawValue::Text(text) => text.trim(),
            _ => "-",
        };
        if key.secret && is_quoted(text) {
            return Some((Err("is in quotes, which would be a part of it; remove them".to_owned()), origin.clone()));
        }
        let value = T::read(given);
        if value.is_err() && text.is_empty() && matches!(origin, Origin::Variable(_)) {
            // Compose files and service managers write an unset variable as an empty one.
            return default().or(Some((value, origin.clone())));
        }
        Some((value, origin.clone()))
    }

    /// Where a key was given.
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        self.given.get(name).map(|(_, origin)| origin)
    }
}

/// Whether a text has quotes that a shell would remove, as in files of variables.
fn is_quoted(text: &str) -> bool {
    let is_quote = |letter: char| matches!(letter, '"' | '\'' | '`' | '\u{2018}'..='\u{201f}' | '«' | '»');
    text.chars().count() > 1 && text.starts_with(is_quote) && text.ends_with(is_quote)
}

fn missing(key: &Key) -> ConfigError {
    let file = key.file_variable().map(|name| format!(", or put its file in {name}")).unwrap_or_default();
    ConfigError::missing(format!(
        "{} is required; set it in config.toml or with {}{file}; it must be {}",
        key.name,
        key.variable(),
        (key.expected)()
    ))
}
