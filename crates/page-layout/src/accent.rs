//! The colour of buttons and links, with the contrast that WCAG 2.2 requires.

use std::fmt;
use std::str::FromStr;

/// Contrast of text with its background (WCAG 2.2, 1.4.3).
const MIN_CONTRAST: f64 = 4.5;

/// Contrast of the tint for dark pages with their card.
const DARK_CONTRAST: f64 = 7.0;

/// The card of light pages, as in `page.css`.
const LIGHT_CARD: Rgb = Rgb(255, 255, 255);

/// The card of dark pages, as in `page.css`.
const DARK_CARD: Rgb = Rgb(0x1d, 0x1f, 0x23);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rgb(u8, u8, u8);

impl Rgb {
    /// Relative luminance (WCAG 2.2).
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// The contrast ratio (WCAG 2.2), from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// The colour mixed with white, in hundredths.
    fn with_white(self, hundredths: u16) -> Self {
        let mix = |channel: u8| {
            let mixed = (u16::from(channel) * (100 - hundredths) + 255 * hundredths) / 100;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        };
        Self(mix(self.0), mix(self.1), mix(self.2))
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// A colour for buttons and links. White text on it and text in it on white are readable; dark pages use a lighter
/// tint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccentColor {
    light: String,
    dark: String,
}

/// Why a colour is not usable.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum AccentError {
    /// Not `#rrggbb`.
    #[error("not a colour")]
    Syntax,
    /// White text on it could not be read.
    #[error(
        "has a contrast of {0:.1} to 1 with white; WCAG 2.2 asks for at least 4.5 to 1, so that everybody can read buttons and \
         links: choose a darker colour"
    )]
    Contrast(f64),
}

impl AccentColor {
    /// The colour on light pages, as `#rrggbb`.
    pub fn light(&self) -> &str {
        &self.light
    }

    pub(crate) fn style(&self) -> String {
        let Self { light, dark } = self;
        format!(
            ":root{{--accent:{light};--on-accent:#fff}}@media (prefers-color-scheme:dark){{:root{{--accent:{dark};\
             --on-accent:#111316}}}}"
        )
    }
}

impl Default for AccentColor {
    fn default() -> Self {
        Self { light: "#1d4fa8".to_owned(), dark: "#92aad5".to_owned() }
    }
}

impl FromStr for AccentColor {
    type Err = AccentError;

    fn from_str(text: &str) -> Result<Self, AccentError> {
        let digits = text
            .strip_prefix('#')
            .filter(|digits| digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let digits = digits.ok_or(AccentError::Syntax)?;
        let value = u32::from_str_radix(digits, 16).map_err(|_| AccentError::Syntax)?;
        let [_, red, green, blue] = value.to_be_bytes();
        let color = Rgb(red, green, blue);
        let contrast = color.contrast(LIGHT_CARD);
        if contrast < MIN_CONTRAST {
            return Err(AccentError::Contrast(contrast));
        }
        let tints = (0..=100).map(|hundredths| color.with_white(hundredths));
        let dark = tints.into_iter().find(|tint| tint.contrast(DARK_CARD) >= DARK_CONTRAST).unwrap_or(LIGHT_CARD);
        Ok(Self { light: color.to_string(), dark: dark.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_that_can_be_read_are_accents() {
        for color in ["#1d4fa8", "#000000", "#B00020", "#767676"] {
            let accent: AccentColor = color.parse().unwrap();
            assert_eq!(accent.light(), color.to_lowercase());
            assert!(accent.style().contains(&accent.dark));
        }
        let yellow = "#ffe600".parse::<AccentColor>().unwrap_err().to_string();
        assert!(yellow.starts_with("has a contrast of 1.3 to 1 with white;"), "{yellow}");
        assert!(matches!("#777777".parse::<AccentColor>(), Err(AccentError::Contrast(_))));
        for wrong in ["", "1d4fa8", "#1d4fa", "#1d4fa81", "#gggggg", "#+1d4fa", "red", "#€€"] {
            assert_eq!(wrong.parse::<AccentColor>(), Err(AccentError::Syntax), "{wrong}");
        }
    }

    #[test]
    fn default_has_the_contrast_too() {
        let default = AccentColor::default();
        let read: AccentColor = default.light().parse().unwrap();
        assert_eq!(read, default);
    }
}
