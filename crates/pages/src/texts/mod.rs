//! All texts of the pages, in one file per language.

mod approvals;
mod english;
mod german;
mod link;
mod passkey;
mod refund;
mod spanish;

use std::time::Duration;

pub(crate) use self::approvals::ApprovalTexts;
pub(crate) use self::english::ENGLISH;
pub(crate) use self::german::GERMAN;
pub(crate) use self::link::LinkTexts;
use self::passkey::PasskeyTexts;
use self::refund::RefundTexts;
pub(crate) use self::spanish::SPANISH;

/// The texts of one language. In those that take values, `{…}` names where each goes.
pub(crate) struct Texts {
    pub(crate) heading: &'static str,
    pub(crate) asks: &'static str,
    pub(crate) this_service: &'static str,
    pub(crate) checked_heading: &'static str,
    pub(crate) checked: &'static str,
    pub(crate) checker_heading: &'static str,
    pub(crate) checker_staff: &'static str,
    pub(crate) checker_provider: &'static str,
    pub(crate) kept_heading: &'static str,
    pub(crate) kept: &'static str,
    pub(crate) time_left: &'static str,
    pub(crate) one_minute_left: &'static str,
    pub(crate) seconds_left: &'static str,
    /// With seconds, by the page's script.
    pub(crate) countdown: &'static str,
    /// On a page that does not reload without JavaScript.
    pub(crate) left_when_loaded: &'static str,
    /// While the page's script does not reach the service.
    pub(crate) connection_lost: &'static str,
    /// Before the scheme of another link for wallets.
    pub(crate) other_scheme: &'static str,
    pub(crate) reload: &'static str,
    pub(crate) start: &'static str,
    pub(crate) start_again: &'static str,
    pub(crate) what_the_button_does: &'static str,
    pub(crate) incomplete: &'static str,
    pub(crate) leaving_title: &'static str,
    pub(crate) leaving: &'static str,
    pub(crate) continue_link: &'static str,
    pub(crate) back: &'static str,
    pub(crate) status: StatusTexts,
    pub(crate) titles: StatusTexts,
    /// The headings of sessions that nobody need decide any more.
    pub(crate) outcomes: StatusTexts,
    pub(crate) not_found: Message,
    /// For another path.
    pub(crate) no_page: Message,
    pub(crate) unavailable: Message,
    /// It tries again by itself.
    pub(crate) unavailable_briefly: Message,
    pub(crate) nothing_to_check: Message,
    pub(crate) too_often: Message,
    pub(crate) provider_unavailable: Message,
    pub(crate) other_browser: Message,
    /// The button that leads to the app.
    pub(crate) go_on: &'static str,
    /// The same, when its name is known.
    pub(crate) go_to: &'static str,
    /// The link to `pages.help_url`.
    pub(crate) help: &'static str,
    pub(crate) login: LoginTexts,
    pub(crate) payment: PaymentTexts,
    pub(crate) link: LinkTexts,
    pub(crate) refund: RefundTexts,
    pub(crate) approvals: ApprovalTexts,
    pub(crate) handshake: HandshakeTexts,
}

/// The texts of the login page.
pub(crate) struct LoginTexts {
    /// On the page before the login's own.
    pub(crate) heading: &'static str,
    pub(crate) heading_to: &'static str,
    pub(crate) learns: &'static str,
    /// When another app asks.
    pub(crate) learns_through: &'static str,
    /// Shows the code on a phone.
    pub(crate) use_phone: &'static str,
    /// For newcomers.
    pub(crate) about_heading: &'static str,
    pub(crate) about: &'static str,
    /// Before the key of a user without a name.
    pub(crate) your_key: &'static str,
    /// When the browser has none of the ways that are offered.
    pub(crate) no_way: &'static str,
    pub(crate) enter: &'static str,
    pub(crate) status: LoginStatusTexts,
    pub(crate) titles: LoginStatusTexts,
    pub(crate) other_ways: &'static str,
    pub(crate) extension_button: &'static str,
    pub(crate) extension_asking: &'static str,
    pub(crate) extension_refused: &'static str,
    pub(crate) extension_failed: &'static str,
    pub(crate) passkey: PasskeyTexts,
    pub(crate) wallet_scan: &'static str,
    pub(crate) wallet_qr: &'static str,
    pub(crate) wallet_link: &'static str,
    pub(crate) wallet_nothing_opens: &'static str,
    /// On an Android phone.
    pub(crate) signer_app: &'static str,
    pub(crate) signer_choose: &'static str,
    pub(crate) signer_another: &'static str,
    pub(crate) signer_title: &'static str,
    pub(crate) signer_show: &'static str,
    pub(crate) signer_paste: &'static str,
    pub(crate) signer_ask: &'static str,
    pub(crate) signer_kept: &'static str,
    pub(crate) signer_scan: &'static str,
    pub(crate) signer_qr: &'static str,
    pub(crate) signer_link: &'static str,
    pub(crate) signer_confirm: &'static str,
    pub(crate) signer_status: SignerStatusTexts,
    pub(crate) signer_invalid: Message,
    pub(crate) signer_unreachable: Message,
    pub(crate) signer_too_often: Message,
    pub(crate) too_often: Message,
    /// The user has logged in in another tab of the same browser.
    pub(crate) done_elsewhere: &'static str,
    pub(crate) cancel: &'static str,
    pub(crate) start_again: &'static str,
    /// On the page of a login that was approved.
    pub(crate) new_login: &'static str,
    pub(crate) try_again: &'static str,
    pub(crate) expired_start_again: &'static str,
    pub(crate) over: Message,
    /// It has made room for others, or has been over for long.
    pub(crate) gone: Message,
    pub(crate) busy: Message,
    pub(crate) busy_network: Message,
    /// Where the browser says that it keeps none.
    pub(crate) needs_cookies: &'static str,
    pub(crate) opened_elsewhere: Message,
    pub(crate) opened_elsewhere_start_again: Message,
    pub(crate) not_found: Message,
    pub(crate) not_proven: Message,
}

/// The texts of the payment page.
pub(crate) struct PaymentTexts {
    pub(crate) amount: &'static str,
    pub(crate) price: &'static str,
    /// What is between the whole of a number and its decimal places.
    pub(crate) decimal_mark: &'static str,
    pub(crate) status: PaymentStatusTexts,
    /// The headings of payments that are over.
    pub(crate) headings: PaymentStatusTexts,
    pub(crate) titles: PaymentStatusTexts,
    pub(crate) webln: &'static str,
    pub(crate) webln_refused: &'static str,
    pub(crate) scan: &'static str,
    pub(crate) qr: &'static str,
    pub(crate) link: &'static str,
    pub(crate) invoice: &'static str,
    pub(crate) copy: &'static str,
    pub(crate) copied: &'static str,
    pub(crate) nothing_opens: &'static str,
    pub(crate) receipt_amount: &'static str,
    pub(crate) receipt_for: &'static str,
    pub(crate) receipt_to: &'static str,
    pub(crate) receipt_date: &'static str,
    pub(crate) receipt_number: &'static str,
    pub(crate) not_found: Message,
}

/// One text for each status of a payment.
pub(crate) struct PaymentStatusTexts {
    pub(crate) making: &'static str,
    pub(crate) waiting: &'static str,
    pub(crate) approved: &'static str,
    pub(crate) closing: &'static str,
    pub(crate) paid: &'static str,
    pub(crate) rejected: &'static str,
    pub(crate) expired: &'static str,
    pub(crate) failed: &'static str,
}

/// The texts of the page of a key handshake.
pub(crate) struct HandshakeTexts {
    pub(crate) heading: &'static str,
    pub(crate) asks: &'static str,
    pub(crate) waiting: &'static str,
    pub(crate) completed: &'static str,
    pub(crate) completed_heading: &'static str,
    pub(crate) over: &'static str,
    pub(crate) over_heading: &'static str,
    pub(crate) scan: &'static str,
    pub(crate) qr: &'static str,
    pub(crate) not_found: Message,
}

/// One text for each state of a login.
pub(crate) struct LoginStatusTexts {
    pub(crate) waiting: &'static str,
    pub(crate) asking: &'static str,
    pub(crate) proven: &'static str,
    pub(crate) approved: &'static str,
    pub(crate) declined: &'static str,
    pub(crate) expired: &'static str,
}

/// One text for each state of a request to a remote signer.
pub(crate) struct SignerStatusTexts {
    pub(crate) starting: &'static str,
    pub(crate) listening: &'static str,
    pub(crate) connected: &'static str,
    pub(crate) confirming: &'static str,
    pub(crate) silent: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) invalid: &'static str,
    pub(crate) unreachable: &'static str,
    pub(crate) busy: &'static str,
}

/// One text for each state of a session.
pub(crate) struct StatusTexts {
    /// Open, decided by staff.
    pub(crate) waiting: &'static str,
    /// Open, decided by a provider: the user begins the check.
    pub(crate) open: &'static str,
    /// The user is at the provider, or has just returned.
    pub(crate) checking: &'static str,
    /// Passed; the proof is being issued.
    pub(crate) issuing: &'static str,
    /// Passed, and the proof was issued.
    pub(crate) passed: &'static str,
    /// Not passed.
    pub(crate) rejected: &'static str,
    /// Passed, but no proof could be issued.
    pub(crate) not_issued: &'static str,
    /// Nobody decided in time.
    pub(crate) expired: &'static str,
}

/// A page that only says something.
pub(crate) struct Message {
    pub(crate) heading: &'static str,
    pub(crate) message: &'static str,
}

/// `text` with each `{name}` replaced by its value.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

impl Texts {
    /// How long something is still possible.
    pub(crate) fn time_left(&self, left: Duration) -> String {
        match left.as_secs() / 60 {
            0 => self.seconds_left.to_owned(),
            1 => self.one_minute_left.to_owned(),
            minutes => fill(self.time_left, &[("minutes", &minutes.to_string())]),
        }
    }

    /// How long something was still possible when the page was loaded: true for as long as the page is shown.
    pub(crate) fn time_left_when_loaded(&self, left: Duration) -> String {
        let seconds = left.as_secs();
        fill(self.left_when_loaded, &[("time", &format!("{}:{:02}", seconds / 60, seconds % 60))])
    }
}
