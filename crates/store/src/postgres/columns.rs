//! Values of rows, checked.

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use usher_engine::UnixMillis;

use super::failure::PostgresFailure;
use super::nul_escaping;

/// A value as the database has it.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, PostgresFailure> {
    // The statement ran; what it found has another type than we ever write.
    row.try_get(column).map_err(|_| PostgresFailure::Unreadable("a column"))
}

/// A whole number that is not negative, and fits.
pub(super) fn int<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, PostgresFailure> {
    T::try_from(get(row, column)?).map_err(|_| PostgresFailure::Unreadable("a column"))
}

/// The same, or nothing.
pub(super) fn optional_int<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<Option<T>, PostgresFailure> {
    let value: Option<i64> = get(row, column)?;
    value.map(|value| T::try_from(value).map_err(|_| PostgresFailure::Unreadable("a column"))).transpose()
}

/// A time.
pub(super) fn time(row: &Row, column: usize) -> Result<UnixMillis, PostgresFailure> {
    int(row, column).map(UnixMillis)
}

/// A time, or nothing.
pub(super) fn optional_time(row: &Row, column: usize) -> Result<Option<UnixMillis>, PostgresFailure> {
    Ok(optional_int(row, column)?.map(UnixMillis))
}

/// Bytes of this number.
pub(super) fn bytes<const N: usize>(row: &Row, column: usize) -> Result<[u8; N], PostgresFailure> {
    get::<&[u8]>(row, column)?.try_into().map_err(|_| PostgresFailure::Unreadable("a column"))
}

/// Bytes of this number, or nothing.
pub(super) fn optional_bytes<const N: usize>(row: &Row, column: usize) -> Result<Option<[u8; N]>, PostgresFailure> {
    let value: Option<&[u8]> = get(row, column)?;
    value.map(|value| value.try_into().map_err(|_| PostgresFailure::Unreadable("a column"))).transpose()
}

/// A text.
pub(super) fn text(row: &Row, column: usize) -> Result<String, PostgresFailure> {
    Ok(nul_escaping::decode(get(row, column)?)?)
}

/// A text, or nothing.
pub(super) fn optional_text(row: &Row, column: usize) -> Result<Option<String>, PostgresFailure> {
    Ok(get::<Option<String>>(row, column)?.map(nul_escaping::decode).transpose()?)
}
