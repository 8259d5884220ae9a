//! Statements with their parameters, as values that can be queued and grouped, the same for both engines.

use std::fmt;

use smallvec::SmallVec;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Statement {
    /// The action, for errors: "could not …".
    pub(crate) during: &'static str,
    /// The text for SQLite, with the placeholders `?1`, `?2`, …. PostgreSQL's text is derived from it, once per
    /// connection.
    pub(crate) sql: &'static str,
    /// A different text for PostgreSQL, if needed.
    pub(crate) postgres: Option<&'static str>,
    /// Whether each row of parameters must change exactly one row.
    pub(crate) is_exact: bool,
}

#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) statement: Statement,
    pub(crate) params: Params,
}

/// How often a statement runs.
#[derive(Debug)]
pub(crate) enum Params {
    Once(Vec<Param>),
    /// For each of these rows of parameters. SQLite runs it repeatedly; PostgreSQL runs it once, with a list for each
    /// parameter.
    Each(Vec<Vec<Param>>),
}

/// A parameter. `Debug` hides it: libraries log parameters, and rows hold secrets.
#[derive(Clone)]
pub(crate) enum Param {
    Int(Option<i64>),
    Bool(bool),
    /// Ids, keys and hashes without an allocation.
    Bytes(Option<SmallVec<[u8; 32]>>),
    Text(Option<String>),
}

impl Statement {
    pub(crate) const fn new(during: &'static str, sql: &'static str) -> Self {
        Self { during, sql, postgres: None, is_exact: false }
    }

    /// Sets a different text for PostgreSQL.
    pub(crate) const fn postgres(self, sql: &'static str) -> Self {
        Self { postgres: Some(sql), ..self }
    }

    /// Fails the transaction if a row of parameters changes another number of rows than one.
    pub(crate) const fn exact(self) -> Self {
        Self { is_exact: true, ..self }
    }

    pub(crate) const fn with(self, params: Vec<Param>) -> Query {
        Query { statement: self, params: Params::Once(params) }
    }

    /// For each of these rows, of which there may be none.
    pub(crate) fn each(self, rows: impl IntoIterator<Item = Vec<Param>>) -> Query {
        Query { statement: self, params: Params::Each(rows.into_iter().collect()) }
    }
}

impl Query {
    pub(crate) const fn new(during: &'static str, sql: &'static str, params: Vec<Param>) -> Self {
        Statement::new(during, sql).with(params)
    }

    /// Whether it runs for an empty list of rows.
    pub(crate) const fn is_nothing(&self) -> bool {
        matches!(&self.params, Params::Each(rows) if rows.is_empty())
    }
}

impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

macro_rules! into_param {
    ($($type:ty => $param:ident, |$value:ident| $converted:expr;)+) => {
        $(
            impl From<$type> for Param {
                fn from($value: $type) -> Self {
                    Self::$param($converted)
                }
            }
        )+
    };
}

into_param! {
    i64 => Int, |value| Some(value);
    u8 => Int, |value| Some(i64::from(value));
    u16 => Int, |value| Some(i64::from(value));
    u32 => Int, |value| Some(i64::from(value));
    Option<u16> => Int, |value| value.map(i64::from);
    Option<i64> => Int, |value| value;
    bool => Bool, |value| value;
    &[u8] => Bytes, |value| Some(SmallVec::from_slice(value));
    Vec<u8> => Bytes, |value| Some(SmallVec::from_vec(value));
    Option<Vec<u8>> => Bytes, |value| value.map(SmallVec::from_vec);
    &str => Text, |value| Some(value.to_owned());
    String => Text, |value| Some(value);
    Option<&str> => Text, |value| value.map(str::to_owned);
}

impl<const N: usize> From<[u8; N]> for Param {
    fn from(value: [u8; N]) -> Self {
        Self::from(&value)
    }
}

impl<const N: usize> From<&[u8; N]> for Param {
    fn from(value: &[u8; N]) -> Self {
        Self::from(value.as_slice())
    }
}

impl<const N: usize> From<Option<[u8; N]>> for Param {
    fn from(value: Option<[u8; N]>) -> Self {
        Self::Bytes(value.map(|bytes| SmallVec::from_slice(&bytes)))
    }
}

macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::statement::Param::from($value)),*] };
}
pub(crate) use params;
