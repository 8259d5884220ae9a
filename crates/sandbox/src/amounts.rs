//! Amounts for people.

use usher_protocol::message::Currency;
use usher_protocol::text::clean;

/// Longest name of a currency that is shown, in characters: services choose it.
const MAX_CURRENCY: usize = 200;

/// An amount with its unit: `10,000 msat`, `5 usd`.
pub fn amount(amount: u64, currency: &Currency) -> String {
    match currency {
        Currency::Millisats => millisats(amount),
        other => format!("{} {}", grouped(amount), clean(&other.to_string().to_lowercase(), MAX_CURRENCY)),
    }
}

/// An amount of millisats: `10,000 msat`.
pub fn millisats(amount: u64) -> String {
    format!("{} msat", grouped(amount))
}

/// Millisats as sats: `1,000 sats`, `0.5 sats`.
pub fn sats(millisats: u64) -> String {
    let whole = grouped(millisats / 1000);
    match millisats % 1000 {
        0 => format!("{whole} sats"),
        rest => format!("{whole}.{} sats", format!("{rest:03}").trim_end_matches('0')),
    }
}

/// An amount of tickets, with unit and mint: `5 multi of https://mint.example`.
pub fn tickets(amount: u64, unit: &str, mint_url: &str) -> String {
    format!("{} {} of {}", grouped(amount), clean(unit, MAX_CURRENCY), clean(mint_url, MAX_CURRENCY))
}

/// With commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
