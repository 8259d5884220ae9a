//! The invalid fields of a request, collected for one response.

use std::fmt::Display;

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

/// Collects the invalid fields of a request, whether their form or their value is invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// Adds an invalid field.
    pub fn add(&mut self, pointer: impl Into<String>, detail: impl Display) {
        self.0.push(FieldError { pointer: pointer.into(), detail: detail.to_string() });
    }

    /// As [`add`](Self::add); returns `None`, for parsers without a value.
    pub fn reject<T>(&mut self, pointer: impl Into<String>, detail: impl Display) -> Option<T> {
        self.add(pointer, detail);
        None
    }

    /// Whether this field is already known to be invalid.
    pub(crate) fn names(&self, pointer: &str) -> bool {
        self.0.iter().any(|error| error.pointer == pointer)
    }

    /// Whether all fields are valid so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value, if all fields are valid.
    ///
    /// # Errors
    /// All invalid fields.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Vec<FieldError>> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self.0),
        }
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}
