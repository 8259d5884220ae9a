//! The invalid fields of a request, collected for one response.

use std::fmt::Display;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

/// An invalid field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// JSON Pointer (RFC 6901) to the field; for a query parameter or a header, `/` and its name.
    pub pointer: String,
    /// The error. It never contains the value, which may be a secret in the wrong field.
    pub detail: String,
}

impl FieldError {
    /// The pointer without the first slash: the name of a top-level field.
    pub fn name(&self) -> &str {
        self.pointer.trim_start_matches('/')
    }
}

/// A member of a request that no field reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredMember {
    /// JSON Pointer of at most 64 characters, safe in a header and in the log: commas, quotation marks, and all that is not
    /// visible ASCII are percent-encoded.
    pub pointer: String,
    /// The known field with the most similar name.
    pub similar: Option<&'static str>,
}

/// Most members that are noted of one request.
const MAX_IGNORED: usize = 8;

/// Most characters of a noted pointer, before they are encoded.
const MAX_POINTER: usize = 64;

const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%').add(b',');

/// From this similarity (Jaro-Winkler) of names on, one is probably meant for the other.
const SIMILAR: f64 = 0.85;

/// Collects the invalid fields of a request, whether their form or their value is invalid, and the ignored ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldErrors {
    errors: Vec<FieldError>,
    ignored: Vec<IgnoredMember>,
}

impl FieldErrors {
    /// Adds an invalid field.
    pub fn add(&mut self, pointer: impl Into<String>, detail: impl Display) {
        self.errors.push(FieldError { pointer: pointer.into(), detail: detail.to_string() });
    }

    /// As [`add`](Self::add); returns `None`, for parsers without a value.
    pub fn reject<T>(&mut self, pointer: impl Into<String>, detail: impl Display) -> Option<T> {
        self.add(pointer, detail);
        None
    }

    /// Whether this field is already known to be invalid.
    pub(crate) fn names(&self, pointer: &str) -> bool {
        self.errors.iter().any(|error| error.pointer == pointer)
    }

    /// Whether all fields are valid so far.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Notes a member of the object at a pointer, whose fields have these names.
    pub fn ignore(&mut self, at: &str, name: &str, known: &[&'static str]) {
        if self.ignored.len() == MAX_IGNORED {
            return;
        }
        let name: String = name.chars().take(MAX_POINTER).collect();
        let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
        let similar = known
            .iter()
            .map(|known| (strsim::jaro_winkler(&plain(&name), &plain(known)), *known))
            .filter(|(similarity, _)| *similarity >= SIMILAR)
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        let pointer: String = pointer.chars().take(MAX_POINTER).collect();
        self.ignored.push(IgnoredMember {
            pointer: utf8_percent_encode(&pointer, ENCODED).to_string(),
            similar: similar.map(|(_, known)| known),
        });
    }

    /// Takes out what was ignored: at most eight members.
    pub fn take_ignored(&mut self) -> Vec<IgnoredMember> {
        std::mem::take(&mut self.ignored)
    }

    /// The value, if all fields are valid.
    ///
    /// # Errors
    /// All invalid fields.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Vec<FieldError>> {
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => Err(self.errors),
        }
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        self.errors.extend(errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_members_are_few_short_and_safe_in_a_header() {
        let known = ["main_key", "return_url", "subkeys"];
        let long = "ä".repeat(100_000);
        for (name, pointer, similar) in [
            ("returnUrl", "/content/returnUrl", Some("return_url")),
            ("Return-URL", "/content/Return-URL", Some("return_url")),
            ("mainkey", "/content/mainkey", Some("main_key")),
            ("colour", "/content/colour", None),
            ("", "/content/", None),
            ("a~b/c", "/content/a~0b~1c", None),
            ("x\r\nSet-Cookie: a=\"b\", c%", "/content/x%0D%0ASet-Cookie:%20a=%22b%22%2C%20c%25", None),
            (&*long, &*format!("/content/{}", "%C3%A4".repeat(55)), None),
        ] {
            let mut errors = FieldErrors::default();
            errors.ignore("/content", name, &known);
            let expected = IgnoredMember { pointer: pointer.to_owned(), similar };
            assert_eq!(errors.take_ignored(), [expected]);
            (0..20).for_each(|_| errors.ignore("", name, &known));
            assert_eq!(errors.take_ignored().len(), 8);
        }
    }
}
