//! The login methods that a page offers, and their order.
//!
//! A new method needs a variant of [`LoginMethod`], a template in `templates/ways`, and an arm in
//! `templates/ways/way.html`.

use usher_engine::operations::LoginMethod;

/// The methods, the most likely first.
const BY_LIKELIHOOD: [LoginMethod; 4] =
    [LoginMethod::Passkey, LoginMethod::Extension, LoginMethod::Wallet, LoginMethod::Signer];

/// The methods that an operator offers (`pages.login_methods`).
#[derive(Clone, Debug, Default)]
pub(crate) struct OfferedMethods {
    /// In this order; `None` offers all, the most likely first.
    chosen: Option<Vec<LoginMethod>>,
}

/// The methods as a page shows them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    /// At the top. All but the last one are shown only where the browser supports them.
    pub(crate) first: Vec<LoginMethod>,
    /// Under "Other ways to log in".
    pub(crate) others: Vec<LoginMethod>,
}

impl Ways {
    /// Whether a browser may support none of them.
    pub(crate) fn needs_browser(&self) -> bool {
        !self.first.is_empty() && self.first.iter().chain(&self.others).all(|method| depends_on_browser(*method))
    }

    /// Whether the page shows it.
    pub(crate) fn has(&self, method: LoginMethod) -> bool {
        self.first.contains(&method) || self.others.contains(&method)
    }

    /// Moves all of them under "Other ways to log in".
    pub(crate) fn put_aside(&mut self) {
        self.others.splice(..0, self.first.drain(..));
    }
}

impl OfferedMethods {
    pub(crate) const fn new(chosen: Option<Vec<LoginMethod>>) -> Self {
        Self { chosen }
    }

    pub(crate) fn has(&self, method: LoginMethod) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| chosen.contains(&method))
    }

    /// The methods of a page that shows those for which `is_possible` is true. `begun` is the method that the user has
    /// begun, and `last_used` the browser's last method, which does not change an order chosen by the operator.
    pub(crate) fn ways(
        &self,
        is_possible: impl Fn(LoginMethod) -> bool,
        begun: Option<LoginMethod>,
        last_used: Option<LoginMethod>,
    ) -> Ways {
        let mut methods = self.chosen.clone().unwrap_or_else(|| BY_LIKELIHOOD.to_vec());
        methods.retain(|method| is_possible(*method));
        let last_used = last_used.filter(|_| self.chosen.is_none());
        for preferred in [last_used, begun].into_iter().flatten() {
            // A stable sort: the others keep their order.
            methods.sort_by_key(|method| *method != preferred);
        }
        // A browser without passkeys opens the others by itself.
        let is_last = |method: &LoginMethod| {
            Some(*method) == begun || *method == LoginMethod::Passkey || !depends_on_browser(*method)
        };
        let others = methods.iter().position(is_last).map(|last| methods.split_off(last + 1)).unwrap_or_default();
        Ways { first: methods, others }
    }
}

/// Whether the page's script shows it only in browsers that support it.
const fn depends_on_browser(method: LoginMethod) -> bool {
    match method {
        LoginMethod::Extension | LoginMethod::Passkey => true,
        LoginMethod::Wallet | LoginMethod::Signer => false,
    }
}

#[cfg(test)]
mod tests {
    use usher_engine::operations::LoginMethod::{Extension, Passkey, Signer, Wallet};

    use super::*;

    fn ways(first: &[LoginMethod], others: &[LoginMethod]) -> Ways {
        Ways { first: first.to_vec(), others: others.to_vec() }
    }

    #[test]
    fn likely_way_is_first() {
        let all = OfferedMethods::default();
        let any = |_| true;
        assert_eq!(all.ways(any, None, None), ways(&[Passkey], &[Extension, Wallet, Signer]));
        assert_eq!(all.ways(any, None, Some(Signer)), ways(&[Signer], &[Passkey, Extension, Wallet]));
        assert_eq!(all.ways(any, None, Some(Extension)), ways(&[Extension, Passkey], &[Wallet, Signer]));
        assert_eq!(all.ways(any, Some(Signer), Some(Wallet)), ways(&[Signer], &[Wallet, Passkey, Extension]));
        assert_eq!(all.ways(|method| method != Passkey, None, None), ways(&[Extension, Wallet], &[Signer]));
        assert_eq!(all.ways(|_| false, None, None), Ways::default());
    }

    #[test]
    fn operator_chooses_and_orders() {
        let chosen = OfferedMethods::new(Some(vec![Signer, Extension]));
        assert_eq!(chosen.ways(|_| true, None, Some(Extension)), ways(&[Signer], &[Extension]));
        assert!(chosen.has(Signer) && !chosen.has(Wallet));
        let one = OfferedMethods::new(Some(vec![Extension]));
        assert_eq!(one.ways(|_| true, None, None), ways(&[Extension], &[]));
    }
}
