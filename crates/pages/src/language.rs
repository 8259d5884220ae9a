//! The language of a page: what the browser accepts (RFC 9110 section 12.5.4), of those that there are.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::header::ACCEPT_LANGUAGE;
use http::request::Parts;

use crate::texts::{ENGLISH, GERMAN, SPANISH, Texts};

/// The texts in the language of the browser.
pub(crate) struct Language(pub(crate) &'static Texts);

impl<S: Sync> FromRequestParts<S> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let accepted = parts.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        Ok(Self(accepted.map_or(&ENGLISH, best)))
    }
}

/// The language with the highest weight, the first of several; English when there is none.
fn best(accepted: &str) -> &'static Texts {
    let mut found = (&ENGLISH, 0.0);
    for range in accepted.split(',') {
        let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
        let weight = parameters.trim().strip_prefix("q=").map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
        let language = tag.trim().split('-').next().unwrap_or_default();
        let known =
            [&ENGLISH, &GERMAN, &SPANISH].into_iter().find(|texts| texts.language.eq_ignore_ascii_case(language));
        if let Some(known) = known
            && weight > found.1
        {
            found = (known, weight);
        }
    }
    found.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_known_language_is_chosen() {
        for (accepted, expected) in [
            ("de", "de"),
            ("DE-at,en;q=0.5", "de"),
            ("fr, es-419;q=0.8, en;q=0.7", "es"),
            ("en;q=0.1, es;q=0.2, de;q=0.15", "es"),
            ("en-US,en;q=0.9,de;q=0.8", "en"),
            ("fr", "en"),
            ("*", "en"),
            ("de;q=0", "en"),
            ("de;q=nan, es;q=x,,;;", "en"),
            ("", "en"),
        ] {
            assert_eq!(best(accepted).language, expected, "{accepted}");
        }
    }
}
