//! Lists of hours.

use super::{RawValue, Setting, unfit};

/// The most entries of a list.
const MAX_ENTRIES: usize = 10;
/// The largest entry: thirty days.
const MAX_HOURS: u64 = 30 * 24;

/// At most ten spans of 1 to 720 hours, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hours(Vec<u64>);

impl Hours {
    /// The spans, in hours.
    pub fn get(&self) -> &[u64] {
        &self.0
    }
}

impl Setting for Hours {
    fn expected() -> String {
        format!("a list of at most {MAX_ENTRIES} whole numbers from 1 to {MAX_HOURS}, separated by commas")
    }

    /// An empty list is valid: it means "never".
    fn read(given: &RawValue) -> Result<Self, String> {
        let numbers: Option<Vec<u64>> = match given {
            RawValue::Text(text) if text.trim().is_empty() => Some(Vec::new()),
            RawValue::Text(text) => text.split(',').map(|entry| number(entry.trim())).collect(),
            RawValue::List(list) if list.is_empty() => Some(Vec::new()),
            RawValue::Numbers(list) => list.iter().map(|entry| u64::try_from(*entry).ok()).collect(),
            _ => None,
        };
        numbers
            .filter(|list| list.len() <= MAX_ENTRIES && list.iter().all(|hours| (1..=MAX_HOURS).contains(hours)))
            .map(Self)
            .ok_or_else(unfit::<Self>)
    }

    fn show(&self) -> String {
        let entries: Vec<String> = self.0.iter().map(u64::to_string).collect();
        format!("[{}]", entries.join(", "))
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
