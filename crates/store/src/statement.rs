//! Statements with their parameters, as values: they wait in queues, share transactions, and are the same for both engines.

use std::fmt;

use smallvec::SmallVec;

/// What a statement says and does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statement {
    /// What it does, for errors: "could not …".
    pub(crate) during: &'static str,
    /// Its text as SQLite takes it, with the placeholders `?1`, `?2`, …. PostgreSQL's is made of it, once for each connection.
    pub(crate) sql: &'static str,
    /// The text for PostgreSQL where it needs another one.
    pub(crate) postgres: Option<&'static str>,
    /// Whether each row of parameters must change one row.
    pub(crate) is_exact: bool,
}

/// A statement and its parameters.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) statement: Statement,
    pub(crate) params: Params,
}

/// How often a statement runs.
#[derive(Debug)]
pub(crate) enum Params {
    Once(Vec<Param>),
    /// For each of these rows of parameters. SQLite runs it so often; PostgreSQL gets a list for each parameter, and runs it once.
    Each(Vec<Vec<Param>>),
}

/// A parameter. `Debug` hides it: libraries write the parameters of statements into the log, and rows hold secrets.
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

    /// With another text for PostgreSQL.
    pub(crate) const fn postgres(self, sql: &'static str) -> Self {
        Self { postgres: Some(sql), ..self }
    }

    /// Fails the transaction when a row of parameters changes another number of rows than one.
    pub(crate) const fn exact(self) -> Self {
        Self { is_exact: true, ..self }
    }

    pub(crate) const fn with(self, params: Vec<Param>) -> Query {
        Query { statement: self, params: Params::Once(params) }
    }

    /// For each of these rows. As many of them as may be none.
    pub(crate) fn each(self, rows: impl IntoIterator<Item = Vec<Param>>) -> Query {
        Query { statement: self, params: Params::Each(rows.into_iter().collect()) }
    }
}

impl Query {
    pub(crate) const fn new(during: &'static str, sql: &'static str, params: Vec<Param>) -> Self {
        Statement::new(during, sql).with(params)
    }

    /// Whether it runs for each of no rows.
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

/// Parameters of a statement.
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::statement::Param::from($value)),*] };
}
pub(crate) use params;
