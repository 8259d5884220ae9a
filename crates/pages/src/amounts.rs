//! Amounts of money as the pages write them.

use usher_engine::Price;

use crate::texts::Texts;

/// A price in its currency; `None` for sats.
pub(crate) fn shown_price(price: &Price, texts: &Texts) -> Option<String> {
    let (currency, amount) = price.major()?;
    Some(texts.payment.price(grouped(&amount.to_string(), texts.payment.decimal_mark), currency.as_str()))
}

/// About how much sats are in a currency.
pub(crate) fn about_text(about: &Price, texts: &Texts) -> Option<String> {
    Some(format!("≈ {}", shown_price(about, texts)?))
}

/// Millisats as sats.
pub(crate) fn sats(millisats: u64, decimal_mark: &str) -> String {
    let (whole, rest) = (millisats / 1000, millisats % 1000);
    let number = format!("{whole}.{rest:03}");
    grouped(if rest == 0 { number.trim_end_matches(".000") } else { number.trim_end_matches('0') }, decimal_mark)
}

/// A number in groups of three digits, separated by narrow spaces.
pub(crate) fn grouped(number: &str, decimal_mark: &str) -> String {
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let mut grouped = String::new();
    for (position, digit) in whole.char_indices() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    if places.is_empty() { grouped } else { format!("{grouped}{decimal_mark}{places}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_in_sats() {
        for (millisats, expected) in [
            (1, "0.001"),
            (10_000, "10"),
            (10_500, "10.5"),
            (999_999, "999.999"),
            (1_000_000, "1\u{202f}000"),
            (2_100_000_000_000_000_000, "2\u{202f}100\u{202f}000\u{202f}000\u{202f}000\u{202f}000"),
        ] {
            assert_eq!(sats(millisats, "."), expected);
        }
        assert_eq!(sats(10_500, ","), "10,5");
    }

    #[test]
    fn prices_have_the_marks_of_the_language() {
        assert_eq!(grouped("1250.50", ","), "1\u{202f}250,50");
        assert_eq!(grouped("0.05", "."), "0.05");
        assert_eq!(grouped("700", "."), "700");
    }
}
