//! What a response says about its request beside success or failure: the headers `Usher-Ignored` and `Usher-Warning`.

use std::sync::Arc;

use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use usher_engine::IgnoredMember;

/// The members of the request that no field reads: JSON Pointers, separated by commas.
pub(crate) const USHER_IGNORED: HeaderName = HeaderName::from_static("usher-ignored");

/// What is probably not meant, in words.
pub(crate) const USHER_WARNING: HeaderName = HeaderName::from_static("usher-warning");

/// `test` in development. Clients throw an error if a response with it has [`USHER_IGNORED`].
const USHER_MODE: HeaderName = HeaderName::from_static("usher-mode");

/// Remarks on a request, from its extractors to the middleware. A request extension.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remarks(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    ignored: Vec<IgnoredMember>,
    warning: Option<String>,
}

impl Remarks {
    /// Those of the request with these extensions.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    pub(crate) fn ignored(&self, members: Vec<IgnoredMember>) {
        self.0.lock().ignored.extend(members);
    }

    pub(crate) fn warn(&self, warning: Option<String>) {
        self.0.lock().warning = warning;
    }

    /// Writes the headers, and in development logs the remarks.
    pub(crate) fn write(&self, headers: &mut HeaderMap, route: &str, is_development: bool) {
        if is_development {
            headers.insert(USHER_MODE, HeaderValue::from_static("test"));
        }
        let Found { ignored, warning } = &*self.0.lock();
        if let Some(warning) = warning
            && let Ok(value) = HeaderValue::try_from(warning)
        {
            headers.insert(USHER_WARNING, value);
            if is_development {
                tracing::warn!("{route}: {warning}");
            }
        }
        for IgnoredMember { pointer, similar } in ignored {
            let hint = similar.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            if is_development {
                tracing::warn!("{route} ignored {pointer}{hint}");
            }
        }
        let pointers: Vec<_> = ignored.iter().map(|member| member.pointer.as_str()).collect();
        if !pointers.is_empty()
            && let Ok(value) = HeaderValue::try_from(pointers.join(", "))
        {
            headers.insert(USHER_IGNORED, value);
        }
    }
}
