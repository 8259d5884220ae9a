//! Rows and their values, the same for both engines, checked when read.

use std::fmt;

use usher_engine::UnixMillis;

use crate::codec::Unreadable;

const COLUMN: Unreadable = Unreadable("a column");

/// A value of a column. `Debug` hides it: rows hold secrets.
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    /// Also a boolean, as 0 or 1.
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
    /// A value that the program never writes: bytes that are not valid text; empty for a value of another type.
    Damaged(Vec<u8>),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

/// The result of a statement.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    pub(crate) changed: usize,
}

impl Answer {
    pub(crate) fn first<T>(&self, read: impl FnOnce(&Row) -> Result<T, Unreadable>) -> Result<Option<T>, Unreadable> {
        self.rows.first().map(read).transpose()
    }

    pub(crate) fn all<T, C: FromIterator<T>>(
        &self,
        read: impl FnMut(&Row) -> Result<T, Unreadable>,
    ) -> Result<C, Unreadable> {
        self.rows.iter().map(read).collect()
    }
}

impl Row {
    /// The value; NULL for a missing column.
    pub(crate) fn value(&self, column: usize) -> &Value {
        self.0.get(column).unwrap_or(&Value::Null)
    }

    /// An integer in range.
    pub(crate) fn int<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Unreadable> {
        self.optional_int(column)?.ok_or(COLUMN)
    }

    /// The same, or NULL.
    pub(crate) fn optional_int<T: TryFrom<i64>>(&self, column: usize) -> Result<Option<T>, Unreadable> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Integer(number) => T::try_from(*number).map(Some).map_err(|_| COLUMN),
            Value::Text(_) | Value::Blob(_) | Value::Damaged(_) => Err(COLUMN),
        }
    }

    pub(crate) fn is_true(&self, column: usize) -> Result<bool, Unreadable> {
        Ok(self.int::<i64>(column)? != 0)
    }

    pub(crate) fn time(&self, column: usize) -> Result<UnixMillis, Unreadable> {
        self.int(column).map(UnixMillis)
    }

    pub(crate) fn optional_time(&self, column: usize) -> Result<Option<UnixMillis>, Unreadable> {
        Ok(self.optional_int(column)?.map(UnixMillis))
    }

    pub(crate) fn optional_blob(&self, column: usize) -> Result<Option<&[u8]>, Unreadable> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Blob(bytes) => Ok(Some(bytes)),
            Value::Integer(_) | Value::Text(_) | Value::Damaged(_) => Err(COLUMN),
        }
    }

    pub(crate) fn blob(&self, column: usize) -> Result<&[u8], Unreadable> {
        self.optional_blob(column)?.ok_or(COLUMN)
    }

    pub(crate) fn bytes<const N: usize>(&self, column: usize) -> Result<[u8; N], Unreadable> {
        self.optional_bytes(column)?.ok_or(COLUMN)
    }

    /// The same, or NULL.
    pub(crate) fn optional_bytes<const N: usize>(&self, column: usize) -> Result<Option<[u8; N]>, Unreadable> {
        self.optional_blob(column)?.map(|bytes| bytes.try_into().map_err(|_| COLUMN)).transpose()
    }

    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<&str>, Unreadable> {
        match self.value(column) {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            Value::Integer(_) | Value::Blob(_) | Value::Damaged(_) => Err(COLUMN),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, Unreadable> {
        self.optional_text(column)?.ok_or(COLUMN)
    }

    pub(crate) fn string(&self, column: usize) -> Result<String, Unreadable> {
        self.text(column).map(str::to_owned)
    }

    pub(crate) fn optional_string(&self, column: usize) -> Result<Option<String>, Unreadable> {
        Ok(self.optional_text(column)?.map(str::to_owned))
    }
}
