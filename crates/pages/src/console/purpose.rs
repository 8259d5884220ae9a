//! Why an operator logs in.

use crate::page;

/// Longest address to which a login returns, in bytes.
const MAX_NEXT: usize = 1_000;

/// Why an operator logs in.
#[derive(Clone, Debug, Default)]
pub(super) struct Purpose {
    /// The path that follows; empty for the console's own.
    next: String,
    /// The secret of the invitation that the operator accepts; empty for none.
    pub(super) invitation: String,
    /// There is a session, and a change needs a fresh one.
    pub(super) is_again: bool,
}

impl Purpose {
    /// To return to this path.
    pub(super) fn next(path: impl Into<String>) -> Self {
        Self { next: path.into(), ..Self::default() }
    }

    /// To prove again who it is, and return to this path.
    pub(super) fn again(path: impl Into<String>) -> Self {
        Self { is_again: true, ..Self::next(path) }
    }

    /// To accept the invitation with this secret.
    pub(super) fn accept(invitation: String) -> Self {
        Self { invitation, ..Self::default() }
    }

    pub(super) fn of_form(form: &str) -> Self {
        let text = |name| page::field(form, name).unwrap_or_default();
        Self { next: text("next"), invitation: text("invitation"), is_again: text("again") == "1" }
    }

    /// The path that follows, if it is below this one: otherwise a link could lead a browser elsewhere.
    pub(super) fn path_in(&self, console: &str) -> String {
        let rest = self.next.strip_prefix(console).filter(|rest| {
            let is_below = rest.is_empty() || rest.starts_with(['/', '?']);
            is_below && self.next.len() <= MAX_NEXT && rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        });
        if rest.is_some() { self.next.clone() } else { console.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_returns_only_into_the_console() {
        let next = |path: &str| Purpose::next(path).path_in("/usher/console");
        for own in ["/usher/console", "/usher/console/payments/1?q=%20", "/usher/console?x"] {
            assert_eq!(next(own), own);
        }
        let long = format!("/usher/console/{}", "x".repeat(1_000));
        for other in [
            "",
            "/",
            "/console",
            "//evil.example",
            "https://evil.example/",
            "/usher/consoles",
            "/usher/console/\n",
            &long,
        ] {
            assert_eq!(next(other), "/usher/console", "{other}");
        }
    }
}
