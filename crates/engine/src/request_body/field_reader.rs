//! Reads a JSON object field by field, strictly, and reports all errors at once.

use std::fmt::Display;

use serde_json::{Map, Value};
use usher_protocol::PublicKey;
use usher_protocol::keys::parse_public_key;

use crate::FieldErrors;

/// The largest amount: all bitcoin there will ever be, in millisats.
pub const MAX_MILLISATS: u64 = 21_000_000 * 100_000_000 * 1_000;

/// The largest amount of tickets: the largest integer that every JSON reader represents exactly (RFC 8259 section 6).
pub const MAX_TICKETS: u64 = (1 << 53) - 1;

/// The end of the year 9999, in Unix seconds.
pub const MAX_UNIX_SECONDS: u64 = 253_402_300_799;

/// Longest identifier, in bytes.
pub const MAX_IDENTIFIER_BYTES: usize = 256;

/// Parses the value at a pointer; `None` after adding an error.
///
/// Errors never contain the value, which may be a secret in the wrong field.
pub type Read<T> = fn(&str, &Value, &mut FieldErrors) -> Option<T>;

/// The fields of the body's object.
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    /// JSON Pointer to the object.
    at: String,
    /// The names that were asked for.
    known: Vec<&'static str>,
    errors: &'a mut FieldErrors,
}

impl<'a> Fields<'a> {
    /// The fields of `object`.
    pub fn new(object: &'a Map<String, Value>, errors: &'a mut FieldErrors) -> Self {
        Self { object, at: String::new(), known: Vec::new(), errors }
    }

    /// The fields of the object at `pointer`.
    pub fn within(pointer: &str, value: &'a Value, errors: &'a mut FieldErrors) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self { object, at: pointer.to_owned(), known: Vec::new(), errors }),
            other => errors.reject(pointer, wrong_type("an object", other)),
        }
    }

    /// A required field.
    pub fn required<T>(&mut self, name: &'static str, read: Read<T>) -> Option<T> {
        self.known.push(name);
        let pointer = format!("{}/{name}", self.at);
        match self.object.get(name) {
            Some(value) => read(&pointer, value, self.errors),
            None => self.errors.reject(pointer, "is required"),
        }
    }

    /// Whether a field has a value other than `null`.
    pub fn has(&self, name: &str) -> bool {
        self.object.get(name).is_some_and(|value| !value.is_null())
    }

    /// Adds an error if two names of one field have different values. Values of the wrong type are not compared,
    /// because parsing them adds the error.
    pub fn compare_aliases<T: PartialEq>(&mut self, name: &str, alias: &str, read: Read<T>) {
        let quiet = |name: &str| read("", self.object.get(name)?, &mut FieldErrors::default());
        if let (Some(value), Some(other)) = (quiet(name), quiet(alias))
            && value != other
        {
            self.errors.add(format!("{}/{alias}", self.at), format_args!("must be the same as {name}"));
        }
    }

    /// An optional field; `null` counts as missing, as client libraries write it.
    pub fn optional<T>(&mut self, name: &'static str, read: Read<T>) -> Option<T> {
        self.known.push(name);
        match self.object.get(name) {
            None | Some(Value::Null) => None,
            Some(value) => read(&format!("{}/{name}", self.at), value, self.errors),
        }
    }

    /// Notes the members that were not asked for. Called after the last field.
    pub fn ignore_others(&mut self) {
        for name in self.object.keys().filter(|name| !self.known.contains(&name.as_str())) {
            self.errors.ignore(&self.at, name, &self.known);
        }
    }
}

/// A boolean.
pub fn boolean(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        other => errors.reject(pointer, wrong_type("true or false", other)),
    }
}

/// An integer from `MIN` to `MAX`.
pub fn integer<const MIN: u64, const MAX: u64>(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<u64> {
    if !value.is_number() {
        return errors.reject(pointer, wrong_type("an integer", value));
    }
    let number = value.as_u64().or_else(|| whole(value.as_f64()?)).filter(|number| (MIN..=MAX).contains(number));
    number.or_else(|| errors.reject(pointer, format_args!("must be an integer from {MIN} to {MAX}")))
}

/// An integer written with a zero fraction (`300.0`), which JSON Schema and some languages do not distinguish. Up to
/// 2^53, beyond which such a number is not exact.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a whole number in range"
    )]
    let integer = number as u64;
    let exact = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    exact.then_some(integer)
}

/// Any string.
pub fn text(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        other => errors.reject(pointer, wrong_type("a string", other)),
    }
}

/// A string that `read` can parse; `detail` is the error for any other.
pub fn parsed<T>(
    pointer: &str,
    value: &Value,
    errors: &mut FieldErrors,
    read: impl FnOnce(&str) -> Option<T>,
    detail: impl Display,
) -> Option<T> {
    let text = text(pointer, value, errors)?;
    read(&text).or_else(|| errors.reject(pointer, detail))
}

/// A list of at most `most` words, each parsed with `read`.
pub fn list<T>(
    pointer: &str,
    value: &Value,
    errors: &mut FieldErrors,
    most: usize,
    read: impl Fn(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let Value::Array(values) = value else { return errors.reject(pointer, "must be an array of strings") };
    if values.len() > most {
        return errors.reject(pointer, format_args!("must have at most {most} entries"));
    }
    let mut read_values = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let pointer = format!("{pointer}/{index}");
        let word = text(&pointer, value, errors);
        read_values.extend(word.and_then(|word| match read(&word) {
            Ok(value) => Some(value),
            Err(detail) => errors.reject(&*pointer, detail),
        }));
    }
    (read_values.len() == values.len()).then_some(read_values)
}

/// A string of 1 to `N` visible ASCII characters.
pub fn visible_ascii<const N: usize>(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<String> {
    let Value::String(text) = value else {
        return errors.reject(pointer, wrong_type("a string", value));
    };
    if !(1..=N).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return errors.reject(pointer, format_args!("must be 1 to {N} visible ASCII characters"));
    }
    Some(text.clone())
}

/// A string of at most `N` bytes without control characters except line breaks and tabs.
pub fn words<const N: usize>(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<String> {
    let text = text(pointer, value, errors)?;
    if text.len() > N {
        return errors.reject(pointer, format_args!("must be at most {N} bytes of UTF-8"));
    }
    if text.chars().any(|char| char.is_control() && !matches!(char, '\n' | '\r' | '\t')) {
        return errors.reject(pointer, "must not contain control characters");
    }
    Some(text)
}

/// An identifier: 1 to 256 bytes without control characters.
pub fn identifier(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<String> {
    let text = text(pointer, value, errors)?;
    if text.is_empty() || text.len() > MAX_IDENTIFIER_BYTES || text.chars().any(char::is_control) {
        return errors.reject(pointer, "must be 1 to 256 bytes of UTF-8 without control characters");
    }
    Some(text)
}

/// An amount in millisats: more than zero, and at most 21 million bitcoin.
pub fn millisats(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<u64> {
    integer::<1, MAX_MILLISATS>(pointer, value, errors)
}

/// A time in Unix seconds, up to the end of the year 9999.
pub fn unix_seconds(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<u64> {
    integer::<0, MAX_UNIX_SECONDS>(pointer, value, errors)
}

/// A public key: 64 hex characters.
pub fn public_key(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<PublicKey> {
    let Value::String(text) = value else {
        return errors.reject(pointer, wrong_type("a string of 64 hex characters", value));
    };
    match parse_public_key(text) {
        Ok(key) => Some(key),
        Err(error) => errors.reject(pointer, error),
    }
}

/// An array of at most `N` different public keys; a repeated one counts once.
pub fn public_keys<const N: usize>(pointer: &str, value: &Value, errors: &mut FieldErrors) -> Option<Vec<PublicKey>> {
    let Value::Array(items) = value else {
        return errors.reject(pointer, wrong_type("an array of keys", value));
    };
    let mut keys = Vec::new();
    let mut wrong = 0;
    for (index, item) in items.iter().enumerate() {
        match public_key(&format!("{pointer}/{index}"), item, errors) {
            Some(key) if keys.contains(&key) => {}
            Some(key) => keys.push(key),
            None => wrong += 1,
        }
        // Already too many, so the rest is not computed.
        if keys.len() + wrong > N {
            return errors.reject(pointer, format_args!("must hold at most {N} different keys"));
        }
    }
    (wrong == 0).then_some(keys)
}

fn wrong_type(wanted: &str, got: &Value) -> String {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("must be {wanted}, is {got}")
}
