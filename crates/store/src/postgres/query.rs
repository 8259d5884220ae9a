//! Statements with their parameters, as values: they wait in queues, and share transactions.

use std::error::Error;
use std::fmt;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::nul_escaping;

/// A statement and its parameters.
#[derive(Debug)]
pub(super) struct Query {
    /// What it does, for errors: "could not …".
    pub(super) during: &'static str,
    /// Its text, which is prepared once for each connection.
    pub(super) sql: &'static str,
    pub(super) params: Vec<Param>,
}

impl Query {
    pub(super) const fn new(during: &'static str, sql: &'static str, params: Vec<Param>) -> Self {
        Self { during, sql, params }
    }
}

/// What became of a statement.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) rows: Vec<Row>,
    /// How many rows it has changed.
    pub(super) changed: usize,
}

/// A parameter. `Debug` hides it: the library writes the parameters of statements into the log, and rows hold secrets.
#[derive(Clone)]
pub(super) enum Param {
    Int(Option<i64>),
    Bool(bool),
    Bytes(Option<Vec<u8>>),
    Text(Option<String>),
    Ints(Vec<Option<i64>>),
    Bools(Vec<bool>),
    BytesList(Vec<Option<Vec<u8>>>),
    Texts(Vec<Option<String>>),
}

impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl ToSql for Param {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        // The checked variants: that a statement wants another type is an error, never another value.
        match self {
            Self::Int(value) => value.to_sql_checked(ty, out),
            Self::Bool(value) => value.to_sql_checked(ty, out),
            Self::Bytes(value) => value.to_sql_checked(ty, out),
            Self::Text(value) => value.to_sql_checked(ty, out),
            Self::Ints(values) => values.to_sql_checked(ty, out),
            Self::Bools(values) => values.to_sql_checked(ty, out),
            Self::BytesList(values) => values.to_sql_checked(ty, out),
            Self::Texts(values) => values.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of a column.
pub(super) trait IntoParam {
    /// As a parameter.
    fn param(self) -> Param;

    /// Many of them, as one parameter that is an array.
    fn list(values: impl Iterator<Item = Self>) -> Param;
}

macro_rules! into_param {
    ($($type:ty => $param:ident, $list:ident, |$value:ident| $converted:expr;)+) => {
        $(
            impl IntoParam for $type {
                fn param(self) -> Param {
                    let $value = self;
                    Param::$param($converted)
                }

                fn list(values: impl Iterator<Item = Self>) -> Param {
                    Param::$list(values.map(|$value| $converted).collect())
                }
            }
        )+
    };
}

into_param! {
    i64 => Int, Ints, |value| Some(value);
    u8 => Int, Ints, |value| Some(i64::from(value));
    u16 => Int, Ints, |value| Some(i64::from(value));
    u32 => Int, Ints, |value| Some(i64::from(value));
    Option<u16> => Int, Ints, |value| value.map(i64::from);
    Option<i64> => Int, Ints, |value| value;
    bool => Bool, Bools, |value| value;
    &[u8] => Bytes, BytesList, |value| Some(value.to_vec());
    Vec<u8> => Bytes, BytesList, |value| Some(value);
    Option<Vec<u8>> => Bytes, BytesList, |value| value;
    &str => Text, Texts, |value| Some(nul_escaping::encode(value).into_owned());
    Option<&str> => Text, Texts, |value| value.map(|value| nul_escaping::encode(value).into_owned());
}

impl<const N: usize> IntoParam for [u8; N] {
    fn param(self) -> Param {
        Param::Bytes(Some(self.to_vec()))
    }

    fn list(values: impl Iterator<Item = Self>) -> Param {
        Param::BytesList(values.map(|value| Some(value.to_vec())).collect())
    }
}

impl<const N: usize> IntoParam for &[u8; N] {
    fn param(self) -> Param {
        Param::Bytes(Some(self.to_vec()))
    }

    fn list(values: impl Iterator<Item = Self>) -> Param {
        Param::BytesList(values.map(|value| Some(value.to_vec())).collect())
    }
}

/// One parameter that is an array.
pub(super) fn list<T: IntoParam>(values: impl IntoIterator<Item = T>) -> Param {
    T::list(values.into_iter())
}

impl IntoParam for Param {
    fn param(self) -> Param {
        self
    }

    /// There are no arrays of arrays.
    fn list(mut values: impl Iterator<Item = Self>) -> Param {
        values.next().unwrap_or(Param::Int(None))
    }
}

/// Parameters of a statement.
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::postgres::query::IntoParam::param($value)),*] };
}
pub(super) use params;
