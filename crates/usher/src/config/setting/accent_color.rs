//! The colour of pages.

use usher_page_layout::{AccentColor, AccentError};

use super::{RawValue, Setting, quoted, text, unfit};

impl Setting for AccentColor {
    fn expected() -> String {
        "a colour such as #1d4fa8".to_owned()
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        text::<Self>(given)?.parse().map_err(|error| match error {
            AccentError::Syntax => unfit::<Self>(),
            error => error.to_string(),
        })
    }

    fn show(&self) -> String {
        quoted(self.light())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_that_nobody_can_read_are_refused() {
        let read = |text: &str| AccentColor::read(&RawValue::Text(text.to_owned()));
        assert_eq!(read("#0A6B3B").unwrap().show(), "\"#0a6b3b\"");
        assert_eq!(read("green").unwrap_err(), "must be a colour such as #1d4fa8");
        assert!(read("#ffe600").unwrap_err().starts_with("has a contrast of 1.3 to 1 with white; WCAG 2.2 asks for"));
    }
}
