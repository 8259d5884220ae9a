//! Values of rows, the same for both engines.

use sha2::{Digest as _, Sha256};

use crate::codec::Unreadable;
use crate::row::{Row, Value};

/// A batch of rows in transit, of about [`BATCH_BYTES`] at most.
pub(crate) type Rows = Vec<Vec<Value>>;

/// Bytes of values per batch. A few batches are in transit at a time.
const BATCH_BYTES: usize = 256 * 1024;

/// Most rows per batch.
const BATCH_ROWS: usize = 1024;

/// Collects rows into batches.
#[derive(Default)]
pub(crate) struct Batch {
    rows: Rows,
    bytes: usize,
}

impl Batch {
    /// Adds a row; returns the batch when it is full.
    ///
    /// # Errors
    /// The row is damaged.
    pub(crate) fn add(&mut self, Row(row): Row) -> Result<Option<Rows>, Unreadable> {
        if row.iter().any(|value| matches!(value, Value::Damaged(_))) {
            return Err(Unreadable("a column"));
        }
        self.bytes = self.bytes.saturating_add(row.iter().map(size).sum());
        self.rows.push(row);
        let is_full = self.bytes >= BATCH_BYTES || self.rows.len() >= BATCH_ROWS;
        Ok(is_full.then(|| std::mem::take(self).rows))
    }

    pub(crate) fn rest(self) -> Rows {
        self.rows
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Integer(_) => 8,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) | Value::Damaged(bytes) => bytes.len(),
    }
}

fn hash(value: &Value, hash: &mut Sha256) {
    let (tag, number, bytes): (u8, i64, &[u8]) = match value {
        Value::Null => (0, 0, &[]),
        Value::Integer(number) => (1, *number, &[]),
        Value::Text(text) => (2, i64::try_from(text.len()).unwrap_or(i64::MAX), text.as_bytes()),
        Value::Blob(bytes) | Value::Damaged(bytes) => (3, i64::try_from(bytes.len()).unwrap_or(i64::MAX), bytes),
    };
    hash.update([tag]);
    hash.update(number.to_be_bytes());
    hash.update(bytes);
}

/// The number of rows, and the sum of their SHA-256 modulo 2^256, which does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowsDigest {
    pub(crate) rows: u64,
    sum: [u8; 32],
}

impl RowsDigest {
    pub(crate) fn add(&mut self, row: &[Value]) {
        let mut hash = Sha256::new();
        row.iter().for_each(|value| self::hash(value, &mut hash));
        let mut carry = 0_u16;
        for (digit, added) in self.sum.iter_mut().zip(hash.finalize()).rev() {
            let [high, low] = (u16::from(*digit) + u16::from(added) + carry).to_be_bytes();
            (carry, *digit) = (u16::from(high), low);
        }
        self.rows += 1;
    }

    pub(crate) fn hex(&self) -> String {
        self.sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[&[Value]]) -> RowsDigest {
        let mut digest = RowsDigest::default();
        rows.iter().for_each(|row| digest.add(row));
        digest
    }

    #[test]
    fn digests_tell_rows_apart_and_not_their_order() {
        let text = |text: &str| Value::Text(text.to_owned());
        let (a, b) = ([text("a"), Value::Null], [text("b"), Value::Integer(0)]);
        assert_eq!(digest(&[&a, &b]), digest(&[&b, &a]));
        let others: [&[&[Value]]; 7] = [
            &[&a],
            &[&a, &a],
            &[&b, &b],
            &[&a, &[text("b"), Value::Integer(1)]],
            &[&a, &[text("b"), Value::Null]],
            &[&a, &[text("b"), text("")]],
            &[&a, &[text("b"), Value::Blob(Vec::new())]],
        ];
        for other in others {
            assert_ne!(digest(&[&a, &b]), digest(other));
        }
        assert_ne!(digest(&[&[text("ab"), text("c")]]), digest(&[&[text("a"), text("bc")]]));
    }

    #[test]
    fn sums_carry() {
        let mut digest = RowsDigest { rows: 0, sum: [0xff; 32] };
        digest.add(&[]);
        let mut expected: [u8; 32] = Sha256::digest([]).into();
        expected[31] -= 1;
        assert_eq!(digest.sum, expected, "2^256 - 1 is -1");
    }
}
