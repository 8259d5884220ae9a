//! The fields of a posted form.

use url::form_urlencoded;

pub(super) struct Form(String);

impl Form {
    pub(super) const fn new(body: String) -> Self {
        Self(body)
    }

    /// The value of a field; empty if it is missing.
    pub(super) fn field(&self, name: &str) -> String {
        let mut fields = form_urlencoded::parse(self.0.as_bytes());
        fields.find(|(known, _)| known == name).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    }
}
