//! QR codes.

use std::fmt::Write as _;

use qrcode::{Color, EcLevel, QrCode};

/// The light border that readers need (ISO/IEC 18004), in modules.
const MARGIN: usize = 4;

/// Longest text that phones read well from a screen, in bytes.
const MAX_BYTES: usize = 700;

/// A QR code as the parts of an SVG.
pub(crate) struct Qr {
    /// The width and height with the border, in modules.
    pub(crate) size: usize,
    /// The dark modules: one rectangle for each run in a row.
    pub(crate) path: String,
}

impl Qr {
    /// The code of `text`; `None` when it is too long to be read.
    pub(crate) fn of(text: &str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        // Level L: codes on a screen are not dirty, and fewer modules are easier to read.
        let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
        let width = code.width();
        let mut path = String::new();
        for (row, modules) in code.to_colors().chunks(width).enumerate() {
            let mut column = 0;
            for run in modules.chunk_by(|left, right| left == right) {
                if run.first() == Some(&Color::Dark) {
                    // Writing to a string cannot fail.
                    let _ = write!(path, "M{} {}h{}v1h-{}z", column + MARGIN, row + MARGIN, run.len(), run.len());
                }
                column += run.len();
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
        let qr = Qr::of("LIGHTNING:LNBC1").unwrap();
        assert_eq!(qr.size, 21 + 8);
        // The first row begins with the finder pattern of seven dark modules.
        assert!(qr.path.starts_with("M4 4h7v1h-7z"), "{}", qr.path);
        assert!(Qr::of(&"x".repeat(MAX_BYTES)).is_some());
        assert!(Qr::of(&"x".repeat(MAX_BYTES + 1)).is_none());
    }
}
