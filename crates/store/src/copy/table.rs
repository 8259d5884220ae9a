//! Matches the tables and columns of both engines, as the databases report them.

use std::collections::BTreeMap;

/// A table as reported by a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundTable {
    pub(crate) name: String,
    pub(crate) columns: Vec<FoundColumn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundColumn {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    /// An integer in SQLite.
    Boolean,
    Text,
    Blob,
    /// The insertion order: a column in PostgreSQL where it matters, the rowid in SQLite.
    RowNumber,
    /// A type that this program does not use.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<FoundColumn>,
}

impl Table {
    pub(crate) fn row_number(&self) -> Option<&str> {
        self.columns.iter().find(|column| column.kind == Kind::RowNumber).map(|column| column.name.as_str())
    }
}

impl FoundTable {
    pub(crate) fn add_column(tables: &mut Vec<Self>, name: String, column: FoundColumn) {
        match tables.last_mut().filter(|table| table.name == name) {
            Some(table) => table.columns.push(column),
            None => tables.push(Self { name, columns: vec![column] }),
        }
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The tables to copy; tables and columns are sorted by name.
///
/// # Errors
/// A description of the differences between the databases.
pub(crate) fn matched(source: Vec<FoundTable>, target: Vec<FoundTable>) -> Result<Vec<Table>, String> {
    let mut targets: BTreeMap<_, _> = target.into_iter().map(|table| (table.name, table.columns)).collect();
    let mut tables = Vec::new();
    for FoundTable { name, columns } in source {
        let others = targets.remove(&name).ok_or_else(|| format!("only the source has the table {name}"))?;
        let columns = matched_columns(columns, others).map_err(|what| format!("{what} of the table {name}"))?;
        tables.push(Table { name, columns });
    }
    tables.sort_by(|one, other| one.name.cmp(&other.name));
    match targets.into_keys().next() {
        Some(name) => Err(format!("only the target has the table {name}")),
        None => Ok(tables),
    }
}

fn matched_columns(source: Vec<FoundColumn>, target: Vec<FoundColumn>) -> Result<Vec<FoundColumn>, String> {
    let mut targets: BTreeMap<_, _> = target.into_iter().map(|column| (column.name, column.kind)).collect();
    let mut columns = Vec::new();
    for FoundColumn { name, kind } in source {
        let kind = match (kind, targets.remove(&name)) {
            (Kind::RowNumber, None) => Kind::RowNumber,
            (_, None) => return Err(format!("only the source has the column {name}")),
            (Kind::Boolean, Some(Kind::Integer)) | (Kind::Integer, Some(Kind::Boolean)) => Kind::Boolean,
            (Kind::Integer, Some(Kind::Integer)) => Kind::Integer,
            (Kind::Text, Some(Kind::Text)) => Kind::Text,
            (Kind::Blob, Some(Kind::Blob)) => Kind::Blob,
            (_, Some(_)) => return Err(format!("different types has the column {name}")),
        };
        columns.push(FoundColumn { name, kind });
    }
    for (name, kind) in targets {
        if kind != Kind::RowNumber {
            return Err(format!("only the target has the column {name}"));
        }
        columns.push(FoundColumn { name, kind });
    }
    // The digest does not depend on the direction.
    columns.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, columns: &[(&str, Kind)]) -> FoundTable {
        let columns = columns.iter().map(|(name, kind)| FoundColumn { name: (*name).to_owned(), kind: *kind });
        FoundTable { name: name.to_owned(), columns: columns.collect() }
    }

    #[test]
    fn what_only_one_database_has_is_an_error() {
        let one = || vec![table("a", &[("x", Kind::Integer), ("y", Kind::Text)])];
        assert_eq!(matched(one(), one()).map(|tables| tables.len()), Ok(1));
        let others = [
            vec![],
            vec![table("b", &[("x", Kind::Integer), ("y", Kind::Text)])],
            vec![table("a", &[("x", Kind::Integer)])],
            vec![table("a", &[("x", Kind::Integer), ("y", Kind::Blob)])],
            vec![table("a", &[("x", Kind::Integer), ("y", Kind::Text), ("z", Kind::Text)])],
            [one(), vec![table("b", &[])]].concat(),
        ];
        for other in others {
            assert!(matched(one(), other.clone()).is_err(), "{other:?}");
            assert!(matched(other.clone(), one()).is_err(), "{other:?}");
        }
        let unknown = vec![table("a", &[("x", Kind::Unknown)])];
        assert!(matched(unknown.clone(), unknown).is_err());
    }

    #[test]
    fn row_numbers_and_truth_values_have_two_forms() {
        let sqlite = || vec![table("a", &[("x", Kind::Integer)])];
        let postgres = || vec![table("a", &[("x", Kind::Boolean), ("seq", Kind::RowNumber)])];
        let expected = matched(sqlite(), postgres()).unwrap();
        assert_eq!(matched(postgres(), sqlite()).unwrap(), expected);
        assert_eq!(expected[0].row_number(), Some("seq"));
    }
}
