//! A database as the source or target of a copy, under its lease.

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use tokio::sync::mpsc;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::config::{Config, Host};
use tokio_postgres::types::Type;

use super::failure::PostgresFailure;
use super::options::{Address, PostgresOptions};
use super::session::Session;
use super::writer::{BeginWrite, Writer};
use super::{inspect, schema};
use crate::copy::{Batch, CopyError, FoundColumn, FoundTable, Kind, Rows, Side, Source, Table, Target, quoted};
use crate::copy_mark::CopyMark;
use crate::damaged_row::StateCheck;
use crate::metrics::Metrics;
use crate::records::settings;
use crate::row::Value;
use crate::statement::{Param, Query, params};

const DURING: &str = "copy the database";

const MAX_PROBLEMS: usize = 20;

/// For long statements: tables are read in one go.
const SETTINGS: &str =
    "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET enable_seqscan = on;";

/// One snapshot for all reads.
const SNAPSHOT: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Tables that SQLite does not need or have.
const OWN_TABLES: &[&str] = &["migrations", "lease", "written"];

const TABLES: &str =
    "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attidentity <> ''
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum";

/// A connection that may write, and its location.
pub(crate) struct PostgresDatabase {
    session: Session,
    begin: BeginWrite,
    place: String,
    /// A source is read in one snapshot, until it is marked.
    in_snapshot: bool,
}

impl PostgresDatabase {
    /// Connects to a source under the lease of this epoch.
    pub(crate) async fn source(options: &PostgresOptions, epoch: u64) -> Result<Self, CopyError> {
        let database = Self::open(options, epoch, false).await?;
        let (found, known) = (schema::version(&database.session).await?, schema::known_version());
        match found {
            0 => Err(CopyError::Missing(database.place)),
            _ if found != known => Err(CopyError::Version { place: database.place, found, known }),
            _ => {
                database.session.script(DURING, SNAPSHOT).await?;
                Ok(Self { in_snapshot: true, ..database })
            }
        }
    }

    /// Connects to a target and creates the schema, under the lease of this epoch.
    pub(crate) async fn target(options: &PostgresOptions, epoch: u64) -> Result<Self, CopyError> {
        Self::open(options, epoch, true).await
    }

    async fn open(options: &PostgresOptions, epoch: u64, is_target: bool) -> Result<Self, CopyError> {
        let address = Address::new(options)?;
        let place = place(&address.config);
        let mut writer = Writer::new(address, epoch, 1, options.outcome_timeout, Metrics::default().into());
        writer.connect().await?;
        if is_target {
            writer.migrate(schema::MIGRATIONS).await?;
        }
        let (session, begin) = writer.into_connection().ok_or(PostgresFailure::NotActive)?;
        session.script(DURING, SETTINGS).await?;
        Ok(Self { session, begin, place, in_snapshot: false })
    }

    async fn put_mark(&self, mark: Option<&CopyMark>) -> Result<(), CopyError> {
        let query = settings::set(CopyMark::SETTING, mark.map(CopyMark::stored).as_deref());
        self.session.one(&query).await?;
        Ok(())
    }

    async fn begin_transaction(&mut self) -> Result<(), CopyError> {
        Ok(self.session.script(DURING, &self.begin.next()).await?)
    }

    async fn end_transaction(&self) -> Result<(), CopyError> {
        Ok(self.session.script(DURING, "COMMIT").await?)
    }

    async fn found_tables(&self) -> Result<Vec<FoundTable>, PostgresFailure> {
        let found = self.session.one(&Query::new("look at the schema", TABLES, params![])).await?;
        let mut tables: Vec<FoundTable> = Vec::new();
        for row in &found.rows {
            let name = row.string(0)?;
            if OWN_TABLES.contains(&name.as_str()) {
                continue;
            }
            let kind = match (row.text(2)?, row.is_true(3)?) {
                ("bigint", true) => Kind::RowNumber,
                ("bigint", false) => Kind::Integer,
                ("boolean", false) => Kind::Boolean,
                ("text", false) => Kind::Text,
                ("bytea", false) => Kind::Blob,
                _ => Kind::Unknown,
            };
            FoundTable::add_column(&mut tables, name, FoundColumn { name: row.string(1)?, kind });
        }
        Ok(tables)
    }

    /// Checks that a table has no rows other than that of the reserved stream, which always exists.
    async fn check_empty(&self, table: &str) -> Result<(), CopyError> {
        let but_the_stream = if table == "operations" { " WHERE NOT (kind = 0 AND next_index = 0)" } else { "" };
        let sql = format!("SELECT FROM {}{but_the_stream} LIMIT 1", quoted(table));
        let mut rows = std::pin::pin!(self.session.stream(DURING, &sql).await?);
        match rows.try_next().await? {
            None => Ok(()),
            Some(_) => {
                let what = format!("the table {table} has rows");
                Err(CopyError::NotEmpty { place: self.place.clone(), what })
            }
        }
    }
}

#[async_trait]
impl Side for PostgresDatabase {
    fn place(&self) -> String {
        self.place.clone()
    }

    async fn mark(&self) -> Result<Option<CopyMark>, CopyError> {
        Ok(inspect::copy_mark(&self.session).await?)
    }

    /// In its own transaction.
    async fn set_mark(&mut self, mark: Option<&CopyMark>) -> Result<(), CopyError> {
        if std::mem::take(&mut self.in_snapshot) {
            self.end_transaction().await?;
        }
        self.begin_transaction().await?;
        self.put_mark(mark).await?;
        self.end_transaction().await
    }

    async fn tables(&self) -> Result<Vec<FoundTable>, CopyError> {
        Ok(self.found_tables().await?)
    }

    async fn read(&self, table: &Table, rows: mpsc::Sender<Rows>) -> Result<(), CopyError> {
        let but_the_note = CopyMark::without(&table.name);
        let sql = format!("SELECT {} FROM {}{but_the_note}", column_names(table), quoted(&table.name));
        let mut found = std::pin::pin!(self.session.stream(DURING, &sql).await?);
        let mut batch = Batch::default();
        while let Some(row) = found.try_next().await? {
            if let Some(full) = batch.add(row).map_err(PostgresFailure::from)?
                && rows.send(full).await.is_err()
            {
                return Ok(());
            }
        }
        // The receiver may have ended.
        let _ = rows.send(batch.rest()).await;
        Ok(())
    }
}

#[async_trait]
impl Source for PostgresDatabase {
    async fn check(&self, readable: StateCheck) -> Result<(), CopyError> {
        let (_, rows) = inspect::damaged_rows(&self.session, MAX_PROBLEMS, readable).await?;
        if rows.is_empty() { Ok(()) } else { Err(CopyError::DamagedRows { rows }) }
    }
}

#[async_trait]
impl Target for PostgresDatabase {
    async fn begin(&mut self, mark: &CopyMark, replaces: bool) -> Result<(), CopyError> {
        let tables: Vec<_> = self.found_tables().await?.into_iter().map(|table| table.name).collect();
        self.begin_transaction().await?;
        if !replaces {
            for table in &tables {
                self.check_empty(table).await?;
            }
        }
        let names: Vec<_> = tables.iter().map(|table| quoted(table)).collect();
        self.session.script(DURING, &format!("TRUNCATE {}", names.join(", "))).await?;
        // The values that triggers maintain are copied.
        self.session.script(DURING, &of_each(&names, "DISABLE")).await?;
        self.put_mark(Some(mark)).await
    }

    async fn write(&mut self, table: &Table, mut rows: mpsc::Receiver<Rows>) -> Result<(), CopyError> {
        let into = format!("{} ({})", quoted(&table.name), column_names(table));
        let sink = self.session.copy_in(DURING, &format!("COPY {into} FROM STDIN (FORMAT binary)")).await?;
        let types: Vec<_> = table.columns.iter().map(|column| column_type(column.kind)).collect();
        let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, &types));
        let failed = |error| PostgresFailure::new(DURING, &error);
        while let Some(batch) = rows.recv().await {
            for row in batch {
                let params = row.into_iter().zip(&table.columns).map(|(value, column)| param(value, column.kind));
                let params = params.collect::<Result<Vec<_>, _>>()?;
                writer.as_mut().write_raw(&params).await.map_err(failed)?;
            }
        }
        writer.finish().await.map_err(failed)?;
        Ok(())
    }

    async fn written(&mut self, tables: &[Table]) -> Result<(), CopyError> {
        let names: Vec<_> = tables.iter().map(|table| quoted(&table.name)).collect();
        self.session.script(DURING, &of_each(&names, "ENABLE")).await?;
        for table in tables {
            let Some(column) = table.row_number().map(quoted) else { continue };
            let table = quoted(&table.name);
            let last = format!("SELECT coalesce(max({column}), 0) FROM {table}");
            let mut rows = std::pin::pin!(self.session.stream(DURING, &last).await?);
            let row = rows.try_next().await?;
            let last = row.map_or(Ok(0), |row| row.int::<i64>(0)).map_err(PostgresFailure::from)?;
            let next = last.saturating_add(1);
            let restart = format!("ALTER TABLE {table} ALTER COLUMN {column} RESTART WITH {next}");
            self.session.script(DURING, &restart).await?;
        }
        let analyze = names.iter().map(|table| format!("ANALYZE {table};")).collect::<String>();
        Ok(self.session.script(DURING, &analyze).await?)
    }

    async fn commit(&mut self) -> Result<(), CopyError> {
        self.end_transaction().await
    }
}

/// The address for messages, without user and password.
fn place(config: &Config) -> String {
    let host = |(index, host): (usize, &Host)| match host {
        Host::Tcp(host) => {
            let port = config.get_ports().get(index).or(config.get_ports().first()).copied().unwrap_or(5432);
            format!("{host}:{port}")
        }
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    };
    let hosts: Vec<_> = config.get_hosts().iter().enumerate().map(host).collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("the PostgreSQL database {database} at {}", hosts.join(","))
}

/// The statements that turn the triggers of each table on or off.
fn of_each(tables: &[String], change: &str) -> String {
    tables.iter().map(|table| format!("ALTER TABLE {table} {change} TRIGGER USER;")).collect()
}

fn column_names(table: &Table) -> String {
    table.columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
}

const fn column_type(kind: Kind) -> Type {
    match kind {
        Kind::Integer | Kind::RowNumber | Kind::Unknown => Type::INT8,
        Kind::Boolean => Type::BOOL,
        Kind::Text => Type::TEXT,
        Kind::Blob => Type::BYTEA,
    }
}

fn param(value: Value, kind: Kind) -> Result<Param, PostgresFailure> {
    Ok(match (value, kind) {
        (Value::Integer(number), Kind::Integer | Kind::RowNumber) => Param::Int(Some(number)),
        (Value::Integer(0), Kind::Boolean) => Param::Bool(false),
        (Value::Integer(1), Kind::Boolean) => Param::Bool(true),
        (Value::Text(text), Kind::Text) => Param::Text(Some(text)),
        (Value::Blob(bytes), Kind::Blob) => Param::from(bytes),
        (Value::Null, Kind::Integer | Kind::RowNumber) => Param::Int(None),
        (Value::Null, Kind::Text) => Param::Text(None),
        (Value::Null, Kind::Blob) => Param::Bytes(None),
        _ => return Err(PostgresFailure::Unreadable("a column")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_name_no_password() {
        let place = |url: &str| {
            let options = PostgresOptions::new(url.to_owned().into());
            place(&Address::new(&options).unwrap().config)
        };
        assert_eq!(
            place("postgres://u:geheim@db.internal,b:5433/usher"),
            "the PostgreSQL database usher at db.internal:5432,b:5433"
        );
        assert_eq!(place("postgres://u:geheim@[::1]/"), "the PostgreSQL database u at ::1:5432");
        assert_eq!(place("postgres:///usher?host=/run/p"), "the PostgreSQL database usher at /run/p");
    }
}
