//! QR codes.

use std::fmt::Write as _;

use qrcode::{Color, EcLevel, QrCode};

/// The light border that readers need (ISO/IEC 18004), in modules.
const MARGIN: usize = 4;

// Invoices are in uppercase, which needs fewer modules; schemes are in lowercase, because cameras of phones
// open no others.

/// Largest code that phones read from a screen, in modules: 2,200 alphanumeric characters or 1,500 bytes. An invoice
/// with the longest description has about 1,400 such characters.
const MAX_WIDTH: usize = 133;

/// A QR code as parts of an SVG.
pub(crate) struct Qr {
    /// The width and height with the border, in modules.
    pub(crate) size: usize,
    /// The dark modules: lines as wide as a module.
    pub(crate) path: String,
}

impl Qr {
    /// The code of `text`; `None` if it is too long.
    pub(crate) fn of(text: &str) -> Option<Self> {
        // Level L: codes on a screen are not damaged, and fewer modules are easier to read.
        let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
        let width = code.width();
        if width > MAX_WIDTH {
            return None;
        }
        let mut path = String::new();
        for (row, modules) in code.to_colors().chunks(width).enumerate() {
            // Each row is a line through its middle, with the lengths of its dark runs and the gaps between them.
            let _ = write!(path, "M{MARGIN} {row}.5", row = row + MARGIN);
            for run in modules.chunk_by(|left, right| left == right) {
                // Writing to a string cannot fail.
                let _ = match run.first() {
                    Some(&Color::Dark) => write!(path, "h{}", run.len()),
                    _ => write!(path, "m{} 0", run.len()),
                };
            }
        }
        Some(Self { size: width + 2 * MARGIN, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dark_modules_are_runs() {
        let qr = Qr::of("lightning:LNBC1").unwrap();
        assert_eq!(qr.size, 21 + 8);
        // The first row begins with the finder pattern of seven dark modules.
        assert!(qr.path.starts_with("M4 4.5h7m"), "{}", qr.path);
        for (text, limit) in [("X", 2_200), ("x", 1_500)] {
            assert!(Qr::of(&text.repeat(limit)).is_some(), "{limit}");
            assert!(Qr::of(&text.repeat(limit + 200)).is_none(), "{limit}");
        }
    }
}
