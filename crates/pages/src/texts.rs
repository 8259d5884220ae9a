//! All texts of the pages. Another language is another constant of this type.

/// The texts of one language. In those that take values, `{…}` names where each goes.
pub(crate) struct Texts {
    /// The language's tag (BCP 47).
    pub(crate) language: &'static str,
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
    pub(crate) not_found: Message,
    pub(crate) unavailable: Message,
    pub(crate) nothing_to_check: Message,
    pub(crate) too_often: Message,
    pub(crate) provider_unavailable: Message,
    pub(crate) other_browser: Message,
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

/// English.
pub(crate) const ENGLISH: Texts = Texts {
    language: "en",
    heading: "Age check",
    asks: "{service} asks for a proof that you are at least {age} years old.",
    this_service: "This service",
    checked_heading: "What is checked",
    checked: "Only whether you are at least {age} years old.",
    checker_heading: "Who checks it",
    checker_staff: "The staff of the service.",
    checker_provider: "{provider}. You prove your age there, not here.",
    kept_heading: "What is kept",
    kept: "Only the result: passed or not passed. Your name, your date of birth and your documents are not stored, and the \
           service that asks does not receive them.",
    time_left: "You have {minutes} minutes left.",
    one_minute_left: "You have one minute left.",
    seconds_left: "You have less than a minute left.",
    reload: "Check again",
    start: "Start the check",
    start_again: "Start the check again",
    what_the_button_does: "You go to {provider}, and come back here afterwards.",
    incomplete: "The check was not completed. You can start it again.",
    leaving_title: "Starting the check",
    leaving: "You are being sent to {provider}.",
    continue_link: "Continue",
    back: "Back",
    status: StatusTexts {
        waiting: "Waiting for the staff to decide.",
        open: "The check has not started yet.",
        checking: "The check is under way.",
        issuing: "You passed the check. Your proof is being issued.",
        passed: "You passed the check. You can close this page and return to the app.",
        rejected: "You did not pass the check. You can close this page and return to the app.",
        not_issued: "You passed the check, but your proof could not be issued. Return to the app and try again later.",
        expired: "The time for this check is over. Return to the app to start a new one.",
    },
    titles: StatusTexts {
        waiting: "Waiting – Age check",
        open: "Age check",
        checking: "Under way – Age check",
        issuing: "Passed, please wait – Age check",
        passed: "Passed – Age check",
        rejected: "Not passed – Age check",
        not_issued: "No proof issued – Age check",
        expired: "Time is over – Age check",
    },
    not_found: Message {
        heading: "This link is not valid",
        message: "It is incomplete, or it has expired. Return to the app to start a new check.",
    },
    unavailable: Message { heading: "The service is not available", message: "Please try again in a moment." },
    nothing_to_check: Message { heading: "There is nothing to check", message: "This check is over." },
    too_often: Message {
        heading: "Too many attempts",
        message: "The check was started too often. Return to the app to start a new one.",
    },
    provider_unavailable: Message {
        heading: "The check cannot start now",
        message: "The service that checks your age does not respond. Please try again in a moment.",
    },
    other_browser: Message {
        heading: "This check was started elsewhere",
        message: "Finish the check in the browser in which you started it, or start it again there.",
    },
};

/// `text` with each `{name}` replaced by its value.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_places_of_their_names() {
        assert_eq!(fill("{a} and {b}, {a}", &[("a", "1"), ("b", "2")]), "1 and 2, 1");
    }
}
