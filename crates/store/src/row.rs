//! Rows as both engines give them, and their values, checked.

use std::fmt;

use usher_engine::UnixMillis;

use crate::codec::Unreadable;

const COLUMN: Unreadable = Unreadable("a column");

/// A value of a column. `Debug` hides it: rows hold secrets.
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    /// Also a truth value, as 0 or 1.
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
    /// What the program never writes: the bytes of a text that is none, or nothing for a value of another type.
    Damaged(Vec<u8>),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The columns of a row.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

/// What became of a statement.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    /// How many rows it has changed.
    pub(crate) changed: usize,
}

impl Answer {
    /// What its first row says, if there is one.
    pub(crate) fn first<T>(&self, read: impl FnOnce(&Row) -> Result<T, Unreadable>) -> Result<Option<T>, Unreadable> {
        self.rows.first().map(read).transpose()
    }

    /// What all rows say.
    pub(crate) fn all<T, C: FromIterator<T>>(
        &self,
        read: impl FnMut(&Row) -> Result<T, Unreadable>,
    ) -> Result<C, Unreadable> {
        self.rows.iter().map(read).collect()
    }
}

impl Row {
    /// The value; nothing where there is no such column.
    pub(crate) fn value(&self, column: usize) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }

    /// A whole number that fits.
    pub(crate) fn int<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Unreadable> {
        self.optional_int(column)?.ok_or(COLUMN)
    }

    /// The same, or nothing.
    pub(crate) fn optional_int<T: TryFrom<i64>>(&self, column: usize) -> Result<Option<T>, Unreadable> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Integer(number) => T::try_from(*number).map(Some).map_err(|_| COLUMN),
            Value::Text(_) | Value::Blob(_) | Value::Damaged(_) => Err(COLUMN),
        }
    }

    /// A truth value.
    pub(crate) fn is_true(&self, column: usize) -> Result<bool, Unreadable> {
        Ok(self.int::<i64>(column)? != 0)
    }

    /// A time.
    pub(crate) fn time(&self, column: usize) -> Result<UnixMillis, Unreadable> {
        self.int(column).map(UnixMillis)
    }

    /// A time, or nothing.
    pub(crate) fn optional_time(&self, column: usize) -> Result<Option<UnixMillis>, Unreadable> {
        Ok(self.optional_int(column)?.map(UnixMillis))
    }

    /// Bytes, or nothing.
    pub(crate) fn optional_blob(&self, column: usize) -> Result<Option<&[u8]>, Unreadable> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Blob(bytes) => Ok(Some(bytes)),
            Value::Integer(_) | Value::Text(_) | Value::Damaged(_) => Err(COLUMN),
        }
    }

    /// Bytes.
    pub(crate) fn blob(&self, column: usize) -> Result<&[u8], Unreadable> {
        self.optional_blob(column)?.ok_or(COLUMN)
    }

    /// Bytes of this number.
    pub(crate) fn bytes<const N: usize>(&self, column: usize) -> Result<[u8; N], Unreadable> {
        self.optional_bytes(column)?.ok_or(COLUMN)
    }

    /// Bytes of this number, or nothing.
    pub(crate) fn optional_bytes<const N: usize>(&self, column: usize) -> Result<Option<[u8; N]>, Unreadable> {
        self.optional_blob(column)?.map(|bytes| bytes.try_into().map_err(|_| COLUMN)).transpose()
    }

    /// A text, or nothing.
    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<&str>, Unreadable> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            Value::Integer(_) | Value::Blob(_) | Value::Damaged(_) => Err(COLUMN),
        }
    }

    /// A text.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Unreadable> {
        self.optional_text(column)?.ok_or(COLUMN)
    }

    /// A text of its own.
    pub(crate) fn string(&self, column: usize) -> Result<String, Unreadable> {
        self.text(column).map(str::to_owned)
    }

    /// The same, or nothing.
    pub(crate) fn optional_string(&self, column: usize) -> Result<Option<String>, Unreadable> {
        Ok(self.optional_text(column)?.map(str::to_owned))
    }
}
