use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// Most parameters of a request: far more than any client sends.
const MAX_PARAMETERS: usize = 64;

/// Names and values. A parameter without a value is treated as absent, and a repeated one is refused (RFC 6749 section
/// 3.1).
pub(crate) struct Parameters(Vec<(String, String)>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated(pub(crate) &'static str);

impl Parameters {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(encoded).into_owned().filter(|(_, value)| !value.is_empty());
        Self(pairs.take(MAX_PARAMETERS).collect())
    }

    /// Reads the body of a POST; `None` if it is not a form.
    pub(crate) fn form(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let media_type = headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim();
        media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded").then(|| Self::parse(body))
    }

    pub(crate) fn get(&self, name: &'static str) -> Result<Option<&str>, Repeated> {
        let mut values = self.0.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(Repeated(name)),
        }
    }

    /// The first value, even if repeated.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn to_query(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_values_are_missing_and_repeated_ones_refused() {
        let parameters = Parameters::parse(b"a=1&b=&c=x&c=y&d=%20&d=");
        assert_eq!(parameters.get("a").unwrap(), Some("1"));
        assert_eq!(parameters.get("b").unwrap(), None);
        assert!(parameters.get("c").is_err());
        assert_eq!(parameters.get("d").unwrap(), Some(" "));
        assert_eq!(parameters.get("e").unwrap(), None);
    }
}
