//! A file as the source or target of a copy.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use tokio::sync::mpsc;

use super::failure::{During as _, SqliteFailure};
use super::file::{self, DatabaseFile, beside};
use super::inspect::damaged_rows;
use super::open_error::OpenError;
use super::{execute, open, schema};
use crate::copy::{Batch, CopyError, FoundColumn, FoundTable, Kind, Rows, Side, Source, Table, Target, quoted};
use crate::copy_mark::CopyMark;
use crate::damaged_row::StateCheck;
use crate::records::settings;
use crate::row::Value;

const DURING: &str = "copy the database";

const MAX_PROBLEMS: usize = 20;

/// Memory for pages of the copy, in KiB.
const CACHE_KIB: u32 = 64 * 1024;

type Shared = Arc<Mutex<Connection>>;

pub(crate) struct SqliteSource {
    file: DatabaseFile,
    connection: Shared,
}

impl SqliteSource {
    /// Takes the file for this process.
    pub(crate) async fn open(path: &Path) -> Result<Self, CopyError> {
        let path = path.to_owned();
        blocking(move || {
            if !path.exists() {
                return Err(CopyError::Missing(path.display().to_string()));
            }
            let file = DatabaseFile::claim(&path)?;
            let connection = open::existing(&file)?;
            let of_schema = |error| OpenError::of_schema(file.path(), error);
            let found = schema::inspect(&connection, schema::MIGRATIONS).map_err(of_schema)?;
            let known = schema::known_version();
            if found == 0 {
                return Err(CopyError::Missing(path.display().to_string()));
            }
            if found != known {
                return Err(CopyError::Version { place: place(file.path()), found, known });
            }
            Ok(Self { file, connection: Arc::new(Mutex::new(connection)) })
        })
        .await
    }
}

#[async_trait]
impl Side for SqliteSource {
    fn place(&self) -> String {
        place(self.file.path())
    }

    async fn mark(&self) -> Result<Option<CopyMark>, CopyError> {
        with(&self.connection, |connection| Ok(execute::copy_mark(connection)?)).await
    }

    async fn set_mark(&mut self, mark: Option<&CopyMark>) -> Result<(), CopyError> {
        set_mark(&self.connection, mark).await
    }

    async fn tables(&self) -> Result<Vec<FoundTable>, CopyError> {
        with(&self.connection, |connection| Ok(tables(connection).during(DURING)?)).await
    }

    async fn read(&self, table: &Table, rows: mpsc::Sender<Rows>) -> Result<(), CopyError> {
        let table = table.clone();
        with(&self.connection, move |connection| Ok(read(connection, &table, &rows)?)).await
    }
}

#[async_trait]
impl Source for SqliteSource {
    async fn check(&self, readable: StateCheck) -> Result<(), CopyError> {
        let path = self.file.path().to_owned();
        with(&self.connection, move |connection| {
            let missing = schema::missing(connection)?;
            if !missing.is_empty() {
                return Err(OpenError::Incomplete { path, missing }.into());
            }
            let checked = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
            let problem = checked.during("check the database")?;
            if problem != "ok" {
                return Err(CopyError::DamagedFile { path, problem });
            }
            let (_, rows) = damaged_rows(connection, MAX_PROBLEMS, readable)?;
            if rows.is_empty() { Ok(()) } else { Err(CopyError::DamagedRows { rows }) }
        })
        .await
    }
}

/// The target of a copy. It is written under a temporary name, then renamed.
pub(crate) struct SqliteTarget {
    file: DatabaseFile,
    /// An existing file that the copy would replace.
    others: Option<String>,
    /// The file under its final name, from this or an earlier run.
    finished: Option<Shared>,
    /// The file being written.
    connection: Option<Shared>,
}

impl SqliteTarget {
    /// Takes the file for this process.
    pub(crate) async fn open(path: &Path) -> Result<Self, CopyError> {
        let path = path.to_owned();
        blocking(move || {
            let file = DatabaseFile::lock(&path)?;
            let path = file.path();
            let length = match path.metadata() {
                Ok(metadata) => metadata.len(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
                Err(source) => return Err(OpenError::File { path: path.to_owned(), source }.into()),
            };
            let (mut finished, mut others) = (None, None);
            if length > 0 {
                if !file::is_database(path).map_err(|source| OpenError::File { path: path.to_owned(), source })? {
                    return Err(OpenError::Foreign { path: path.to_owned() }.into());
                }
                let connection = open::existing(&file)?;
                let of_schema = |error| OpenError::of_schema(path, error);
                schema::inspect(&connection, schema::MIGRATIONS).map_err(of_schema)?;
                if execute::copy_mark(&connection)?.is_some() {
                    finished = Some(Arc::new(Mutex::new(connection)));
                } else {
                    others = Some("the file exists".to_owned());
                }
            } else {
                // SQLite would attach them to the copy.
                for suffix in ["-wal", "-shm", "-journal"] {
                    let rest = beside(path, suffix);
                    if rest.exists() {
                        others = Some(format!("{} of another database is there", rest.display()));
                    }
                }
            }
            Ok(Self { file, others, finished, connection: None })
        })
        .await
    }

    fn temporary(&self) -> PathBuf {
        beside(self.file.path(), ".copying")
    }

    fn connection(&self) -> Result<&Shared, CopyError> {
        self.connection.as_ref().or(self.finished.as_ref()).ok_or(CopyError::Task)
    }
}

impl Drop for SqliteTarget {
    fn drop(&mut self) {
        if self.connection.take().is_some() {
            // An unfinished copy; the next run would remove it.
            let _ = remove(&self.temporary());
        }
    }
}

#[async_trait]
impl Side for SqliteTarget {
    fn place(&self) -> String {
        place(self.file.path())
    }

    async fn mark(&self) -> Result<Option<CopyMark>, CopyError> {
        match &self.finished {
            Some(connection) => with(connection, |connection| Ok(execute::copy_mark(connection)?)).await,
            None => Ok(None),
        }
    }

    async fn set_mark(&mut self, mark: Option<&CopyMark>) -> Result<(), CopyError> {
        set_mark(self.connection()?, mark).await
    }

    async fn tables(&self) -> Result<Vec<FoundTable>, CopyError> {
        with(self.connection()?, |connection| Ok(tables(connection).during(DURING)?)).await
    }

    async fn read(&self, table: &Table, rows: mpsc::Sender<Rows>) -> Result<(), CopyError> {
        let table = table.clone();
        with(self.connection()?, move |connection| Ok(read(connection, &table, &rows)?)).await
    }
}

#[async_trait]
impl Target for SqliteTarget {
    async fn begin(&mut self, mark: &CopyMark, _replaces: bool) -> Result<(), CopyError> {
        if let Some(what) = self.others.clone() {
            return Err(CopyError::NotEmpty { place: self.place(), what });
        }
        let (path, mark) = (self.temporary(), mark.clone());
        let connection = blocking(move || {
            let failed = |source| CopyError::File { path: path.clone(), source };
            remove(&path).map_err(failed)?;
            file::create(&path).map_err(failed)?;
            let mut connection = Connection::open(&path).during(DURING)?;
            schema::update(&mut connection, 0).map_err(|error| OpenError::of_schema(&path, error))?;
            begin(&connection, &mark).during(DURING)?;
            Ok(connection)
        })
        .await?;
        self.connection = Some(Arc::new(Mutex::new(connection)));
        Ok(())
    }

    async fn write(&mut self, table: &Table, mut rows: mpsc::Receiver<Rows>) -> Result<(), CopyError> {
        let sql = insert(table);
        with(self.connection()?, move |connection| {
            let mut statement = connection.prepare(&sql).during(DURING)?;
            while let Some(batch) = rows.blocking_recv() {
                for row in batch {
                    statement.execute(params_from_iter(row)).during(DURING)?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn written(&mut self, _tables: &[Table]) -> Result<(), CopyError> {
        let path = self.temporary();
        let connection = self.connection.take().and_then(Arc::into_inner).ok_or(CopyError::Task)?.into_inner();
        let connection = blocking(move || {
            connection.execute_batch("COMMIT").during(DURING)?;
            connection.close().map_err(|(_, error)| error).during(DURING)?;
            let failed = |source| CopyError::File { path: path.clone(), source };
            File::open(&path).and_then(|file| file.sync_all()).map_err(failed)?;
            // Reopened, so that the comparison reads from the file.
            Ok(Connection::open(&path).during(DURING)?)
        })
        .await?;
        self.connection = Some(Arc::new(Mutex::new(connection)));
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), CopyError> {
        let (from, to) = (self.temporary(), self.file.path().to_owned());
        let written = self.connection.take().and_then(Arc::into_inner).ok_or(CopyError::Task)?.into_inner();
        // A replaced file must leave no side files.
        let replaced = self.finished.take().and_then(Arc::into_inner).map(Mutex::into_inner);
        let connection = blocking(move || {
            for connection in std::iter::once(written).chain(replaced) {
                connection.close().map_err(|(_, error)| error).during(DURING)?;
            }
            let failed = |source| CopyError::File { path: to.clone(), source };
            std::fs::rename(&from, &to).map_err(failed)?;
            sync_folder(&to).map_err(failed)?;
            let connection = Connection::open(&to).during(DURING)?;
            make_durable(&connection).during(DURING)?;
            Ok(connection)
        })
        .await?;
        self.finished = Some(Arc::new(Mutex::new(connection)));
        Ok(())
    }
}

fn place(path: &Path) -> String {
    format!("the SQLite file {}", path.display())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| CopyError::Task)?
}

async fn with<T: Send + 'static>(
    connection: &Shared,
    work: impl FnOnce(&Connection) -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    let connection = Arc::clone(connection);
    blocking(move || work(&connection.lock())).await
}

async fn set_mark(connection: &Shared, mark: Option<&CopyMark>) -> Result<(), CopyError> {
    let stored = mark.map(CopyMark::stored);
    with(connection, move |connection| {
        make_durable(connection).during(DURING)?;
        execute::run(connection, &settings::set(CopyMark::SETTING, stored.as_deref()))?;
        Ok(())
    })
    .await
}

fn make_durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "fullfsync", true)
}

/// Prepares an empty copy. It needs no durability until it is complete.
fn begin(connection: &Connection, mark: &CopyMark) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "off")?;
    connection.pragma_update_and_check(None, "journal_mode", "off", |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
    // The values that triggers maintain are copied.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.execute_batch("BEGIN")?;
    for table in tables(connection)? {
        connection.execute(&format!("DELETE FROM {}", quoted(&table.name)), [])?;
    }
    let insert = "INSERT INTO settings (name, value) VALUES (?1, ?2)";
    connection.execute(insert, [CopyMark::SETTING, &mark.stored()]).map(drop)
}

pub(super) fn tables(connection: &Connection) -> rusqlite::Result<Vec<FoundTable>> {
    let mut tables: Vec<FoundTable> = Vec::new();
    let mut statement = connection.prepare(
        "SELECT t.name, c.name, c.type FROM sqlite_schema AS t JOIN pragma_table_xinfo(t.name) AS c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.cid",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let kind = match row.get_ref(2)?.as_str().unwrap_or_default() {
            "INTEGER" => Kind::Integer,
            "TEXT" => Kind::Text,
            "BLOB" => Kind::Blob,
            _ => Kind::Unknown,
        };
        FoundTable::add_column(&mut tables, name, FoundColumn { name: row.get(1)?, kind });
    }
    Ok(tables)
}

fn read(connection: &Connection, table: &Table, rows: &mpsc::Sender<Rows>) -> Result<(), SqliteFailure> {
    let sql = format!("SELECT {} FROM {}{}", columns(table), quoted(&table.name), CopyMark::without(&table.name));
    let mut batch = Batch::default();
    let mut is_received = true;
    execute::stream(connection, DURING, &sql, |row| {
        if let Some(full) = batch.add(row)? {
            is_received = rows.blocking_send(full).is_ok();
        }
        Ok(is_received)
    })?;
    // The receiver may have ended.
    let _ = rows.blocking_send(batch.rest());
    Ok(())
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) | Self::Damaged(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn insert(table: &Table) -> String {
    let places = vec!["?"; table.columns.len()].join(", ");
    format!("INSERT INTO {} ({}) VALUES ({places})", quoted(&table.name), columns(table))
}

fn columns(table: &Table) -> String {
    let name = |column: &FoundColumn| match column.kind {
        Kind::RowNumber => "rowid".to_owned(),
        _ => quoted(&column.name),
    };
    table.columns.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn remove(path: &Path) -> std::io::Result<()> {
    for path in [path.to_owned(), beside(path, "-journal")] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Makes a file's name durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        #[cfg(unix)]
        Some(folder) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
