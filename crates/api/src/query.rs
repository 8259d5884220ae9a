//! Reading query parameters.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::RangeInclusive;

use axum::extract::FromRequestParts;
use http::request::Parts;
use usher_engine::FieldErrors;

use crate::problem::Problem;
use crate::remarks::Remarks;

/// The largest time in Unix seconds: the end of the year 9999.
pub(crate) const LATEST: u64 = 253_402_300_799;

/// What is read from a query.
pub(crate) trait ReadQuery {
    /// Reads its parameters, and adds what is wrong.
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self;
}

impl<A: ReadQuery, B: ReadQuery> ReadQuery for (A, B) {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        (A::read(query, errors), B::read(query, errors))
    }
}

/// Extracts the parameters of a query.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: ReadQuery, S: Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut errors = FieldErrors::default();
        let query = Query::new(parts.uri.query());
        let read = T::read(&query, &mut errors);
        query.note_ignored(&Remarks::of(&parts.extensions));
        errors.finish(Some(Self(read))).map_err(Problem::invalid)
    }
}

/// The parameters of a query.
pub(crate) struct Query<'a> {
    text: &'a str,
    /// The names that were asked for.
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(query: Option<&'a str>) -> Self {
        Self { text: query.unwrap_or_default(), known: RefCell::default() }
    }

    /// Remarks that nothing reads the other parameters. Called when all are read.
    pub(crate) fn note_ignored(&self, remarks: &Remarks) {
        let known = self.known.borrow();
        let mut found = FieldErrors::default();
        for (name, _) in self.pairs().filter(|(name, _)| !known.contains(&name.as_ref())) {
            found.ignore("", &name, &known);
        }
        remarks.ignored(found.take_ignored());
    }

    fn pairs(&self) -> form_urlencoded::Parse<'a> {
        form_urlencoded::parse(self.text.as_bytes())
    }

    /// An integer parameter. `None` if it is missing, or invalid (with an error at `/` and its name).
    pub(crate) fn integer(
        &self,
        name: &'static str,
        range: RangeInclusive<u64>,
        errors: &mut FieldErrors,
    ) -> Option<u64> {
        let value = self.text(name, errors)?;
        integer(&value, &range).or_else(|| errors.reject(format!("/{name}"), must_be(&range)))
    }

    /// A parameter. `None` if it is missing, or repeated (with an error).
    pub(crate) fn text(&self, name: &'static str, errors: &mut FieldErrors) -> Option<Cow<'a, str>> {
        self.known.borrow_mut().push(name);
        let mut values = self.pairs().filter(|(key, _)| key == name).map(|(_, value)| value);
        let value = values.next()?;
        if values.next().is_some() {
            return errors.reject(format!("/{name}"), "is given more than once");
        }
        Some(value)
    }
}

pub(crate) fn integer(text: &str, range: &RangeInclusive<u64>) -> Option<u64> {
    // `parse` also accepts a leading `+`.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { text.parse().ok()? } else { return None };
    range.contains(&value).then_some(value)
}

/// The error for a value that [`integer`] rejects.
pub(crate) fn must_be(range: &RangeInclusive<u64>) -> Cow<'static, str> {
    format!("must be an integer from {} to {}", range.start(), range.end()).into()
}
