//! Migrations to this version's schema, and databases that are refused.

use rusqlite::{Connection, TransactionBehavior};

use super::failure::{During as _, SqliteFailure};

/// `PRAGMA application_id` of our files: "USHR" in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x5553_4852;

/// One step of the schema; `PRAGMA user_version` is the number of the last one applied.
pub(crate) struct Migration {
    /// From 1, without gaps; the same number means the same change in every engine.
    pub(crate) version: u32,
    pub(crate) sql: &'static str,
}

/// Every migration, in order. Released ones are never edited.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, sql: include_str!("../../migrations/sqlite/0001_operations.sql") },
    Migration { version: 2, sql: include_str!("../../migrations/sqlite/0002_deliveries.sql") },
    Migration { version: 3, sql: include_str!("../../migrations/sqlite/0003_idempotency_records.sql") },
    Migration { version: 4, sql: include_str!("../../migrations/sqlite/0004_settings.sql") },
    Migration { version: 5, sql: include_str!("../../migrations/sqlite/0005_payments.sql") },
    Migration { version: 6, sql: include_str!("../../migrations/sqlite/0006_clocks.sql") },
    Migration { version: 7, sql: include_str!("../../migrations/sqlite/0007_kept_correlation_keys.sql") },
    Migration { version: 8, sql: include_str!("../../migrations/sqlite/0008_repeated_messages.sql") },
    Migration { version: 9, sql: include_str!("../../migrations/sqlite/0009_settings_are_json.sql") },
    Migration { version: 10, sql: include_str!("../../migrations/sqlite/0010_delivery_queues.sql") },
    Migration { version: 11, sql: include_str!("../../migrations/sqlite/0011_tickets.sql") },
    Migration { version: 12, sql: include_str!("../../migrations/sqlite/0012_openid.sql") },
    Migration { version: 13, sql: include_str!("../../migrations/sqlite/0013_user_signers.sql") },
    Migration { version: 14, sql: include_str!("../../migrations/sqlite/0014_ticket_secrets_per_mint.sql") },
    Migration { version: 15, sql: include_str!("../../migrations/sqlite/0015_openid_bounds.sql") },
    Migration { version: 16, sql: include_str!("../../migrations/sqlite/0016_set_aside_tickets.sql") },
    Migration { version: 17, sql: include_str!("../../migrations/sqlite/0017_eventless_operations.sql") },
    Migration { version: 18, sql: include_str!("../../migrations/sqlite/0018_passkeys.sql") },
    Migration { version: 19, sql: include_str!("../../migrations/sqlite/0019_payment_records.sql") },
    Migration { version: 20, sql: include_str!("../../migrations/sqlite/0020_api_keys.sql") },
    Migration { version: 21, sql: include_str!("../../migrations/sqlite/0021_audit_log.sql") },
    Migration { version: 22, sql: include_str!("../../migrations/sqlite/0022_paid_invoices.sql") },
    Migration { version: 23, sql: include_str!("../../migrations/sqlite/0023_sums_and_logins.sql") },
    Migration { version: 24, sql: include_str!("../../migrations/sqlite/0024_payments_by_status.sql") },
    Migration { version: 25, sql: include_str!("../../migrations/sqlite/0025_logins_without_indexes.sql") },
    Migration { version: 26, sql: include_str!("../../migrations/sqlite/0026_ended_payments_by_status.sql") },
];

/// The schema of an empty database after all migrations, as read by [`statements`]. A test compares it.
const COMPLETE: &str = include_str!("../../migrations/sqlite/complete.sql");

/// The rows after all migrations: the reserved stream `subscriptions`.
const FIRST_ROWS: &str = "INSERT INTO operations (id, kind, state, revision, next_index, outbox, correlations)
    VALUES (x'00000000000000000000000000000000', 0, '{}', 1, 0, 0, x'')";

/// The newest schema version of this program.
pub fn known_version() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Why a database was not migrated.
#[derive(Debug)]
pub(crate) enum SchemaError {
    /// It belongs to another program.
    Foreign,
    /// A newer version has migrated it.
    Newer {
        /// Its schema version.
        found: u32,
        /// The newest schema version of this program.
        known: u32,
    },
    /// A migration failed; the database is unchanged.
    Migration(u32, SqliteFailure),
    /// It cannot be read.
    Unreadable(SqliteFailure),
}

/// Checks that the database belongs to this program, and returns its version; 0 if it is empty. Read-only.
///
/// # Errors
/// [`SchemaError`] if it belongs to another program, is newer, or unreadable.
pub(crate) fn inspect(connection: &Connection, migrations: &[Migration]) -> Result<u32, SchemaError> {
    let read = || {
        let application_id = connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))?;
        let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))?;
        let objects = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u64>(0))?;
        Ok::<_, rusqlite::Error>((application_id, version, objects))
    };
    let (application_id, version, objects) = match read() {
        Ok(found) => found,
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            return Err(SchemaError::Foreign);
        }
        Err(error) => return Err(SchemaError::Unreadable(SqliteFailure::new("read the schema", error))),
    };
    let known = migrations.last().map_or(0, |migration| migration.version);
    match (application_id, u32::try_from(version)) {
        (APPLICATION_ID, Ok(found)) if found > known => Err(SchemaError::Newer { found, known }),
        (APPLICATION_ID, Ok(found @ 1..)) => Ok(found),
        (0, Ok(0)) if objects == 0 => Ok(0),
        _ => Err(SchemaError::Foreign),
    }
}

/// Descriptions of the tables, columns and indexes that the database lacks.
pub(crate) fn missing(connection: &Connection) -> Result<Vec<String>, SqliteFailure> {
    const DURING: &str = "compare the schema";
    if statements(connection).during(DURING)? == COMPLETE {
        return Ok(Vec::new());
    }
    let complete = Connection::open_in_memory().during(DURING)?;
    complete.execute_batch(COMPLETE).during(DURING)?;
    let (expected, found) = (objects(&complete).during(DURING)?, objects(connection).during(DURING)?);
    let has = |table: &str| found.iter().any(|(of, _)| of == table);
    let missing = expected.iter().filter(|object| !found.contains(object));
    // A missing table is reported without its parts.
    let missing = missing.filter(|(table, object)| has(table) || object.starts_with("the table "));
    Ok(missing.map(|(_, object)| object.clone()).collect())
}

fn statements(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row(
        "SELECT group_concat(sql || ';' || char(10), char(10) ORDER BY type != 'table', name)
         FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
        [],
        |row| Ok(row.get::<_, Option<String>>(0)?.unwrap_or_default()),
    )
}

/// The tables, columns and indexes, each with its table.
fn objects(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    connection
        .prepare(
            "SELECT tbl_name, 'the ' || type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'
             UNION ALL
             SELECT t.name, 'the column ' || c.name || ' of the table ' || t.name
             FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table'",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// The version the database is at.
pub(crate) fn read_version(connection: &Connection) -> Result<i32, SqliteFailure> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).during("read the schema's version")
}

/// Writes the same version again: the smallest possible write, of the file's first page.
pub(crate) fn rewrite_version(connection: &Connection) -> Result<(), SqliteFailure> {
    let version = read_version(connection)?;
    connection.pragma_update(None, "user_version", version).during("write the schema's version")
}

/// Brings the database from the [inspected](inspect) version to this one's schema.
///
/// # Errors
/// [`SchemaError::Migration`].
pub(crate) fn update(connection: &mut Connection, from: u32) -> Result<(), SchemaError> {
    if from > 0 {
        return migrate(connection, from, MIGRATIONS);
    }
    let version = known_version();
    apply(connection, version, &[COMPLETE, FIRST_ROWS])
        .during("create the schema")
        .map_err(|failure| SchemaError::Migration(version, failure))?;
    tracing::info!(version, "database schema created");
    Ok(())
}

/// Applies the missing migrations, each in its own transaction.
fn migrate(connection: &mut Connection, from: u32, migrations: &[Migration]) -> Result<(), SchemaError> {
    for migration in migrations.iter().filter(|migration| migration.version > from) {
        apply(connection, migration.version, &[migration.sql])
            .during("apply a migration")
            .map_err(|failure| SchemaError::Migration(migration.version, failure))?;
        tracing::info!(version = migration.version, "database schema migrated");
    }
    Ok(())
}

fn apply(connection: &mut Connection, version: u32, statements: &[&str]) -> Result<(), rusqlite::Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for statements in statements {
        transaction.execute_batch(statements)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// A released line never changes: existing databases were made by exactly these bytes.
    const PINNED: &[&str] = &[
        "4074f79b8e6fb0c0f9ab000c846e673c7c995b2f22a8251998082fa9490d3a0e",
        "7fe8f2c1279b1ac156f3de67dc3caee82a4f65b41bef4d72a2f50da2c50686ac",
        "a9609fde332455fe413735c41d0ff0f7529cdb8024f7ef1be92a657bafec676f",
        "37c5c933d085c882199ba91a565e247ae996fca6cdd2762ef8da53e93e5aa666",
        "0ff6f19cf686c0740ad7d3c01a59913d742ef7b53210ef474d9e19fde130f862",
        "dd23ab38a9361d803ddaa4b7c97819f5fdaff16140b5da933ca2f853e57d443d",
        "1e3a427cc3fa10f13091100498cd237001fde4eedf8b5478bb72027e0373dc55",
        "37a7adcbd3bed313b5a92f113206ddc1540810ee885f7e3a302f0d65866fd5e6",
        "6ab30d2b2200ecb753054fe97d4d4daac85fc34685b3cb481f2b8d5d05444bd4",
        "b02169d4d6635ba83a33fc7892475483153385a6e64ae2ba322bb5840b8db088",
        "9b99b776771bdeb51837a92e6c6b29bacf8b61ce7cc9337b91903c3f8ea3a9ae",
        "bf3d1cbf28ca112151d9edbf9969cdf9c2d1c66d83087e45b629b9fdb6459839",
        "05dec09f302db7eac8f8e91916dc4281a2fc62dc32f30fa371d9996bbda2cd9a",
        "e4fa40bff5bf2cb3496fbb4198affc5e63f57b1f7c653ace348bbb309abe22e0",
        "d639e3478a7401e90748d5b9e707b9d00d61dcdb4b8363cd0fa7a8fa7d0d84b2",
        "0af8b376fa02215d677dca3013c3057975f5dda6626a27a4c1002a357ccf682a",
        "13a42907e22c298266a3cdace5f2d0f3f2ef925e65cacac1cd1e075aebc96602",
        "0c6d9da4f8d1d41cdf56b598636100f5bcce5e444d72573c7151cfc0b49471fc",
        "818fcbc428af16fbc6015fe1c3b3d86220c033ed1dfb9dd9db673bbd7af066ef",
        "41e3ff5b66de9952e8e68c33b6fec8e97d45cc3bd673e1d75519f9f7802390c4",
        "7f12306e71ebf564af6cb684d865ccdc2a3f6c2f416e81ae6fd52bcac8b77e92",
        "e5509ab0e134634d5a639e4e0a1d353584e4d8ff361b1813df1e81b67d024f80",
        "f6e73c1c8efb1f08e9065f2c57269112c7566bb0df6cbfc1f942abbc1beca6fc",
        "3c01bc551c1e75fe50ab428bcc5443a0a7d9e259356c47e1550660a98d3f7a94",
        "24023b01e29909d452fc7f70cbae1634e40449921d1eaedfe4cc5e6a050af28b",
        "8fa680c14e5a36eaeaa45f19faa2e46ae1104bfba4e66cdbafaf21f6976091ee",
    ];

    #[test]
    fn released_migrations_are_unchanged() {
        let actual: Vec<_> = MIGRATIONS.iter().map(|migration| hex::encode(Sha256::digest(migration.sql))).collect();
        assert_eq!(actual, PINNED);
    }

    #[test]
    fn every_migration_file_is_listed() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files
            .filter(|path| !path.ends_with("complete.sql"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        files.sort();
        let mut listed: Vec<_> = MIGRATIONS.iter().map(|migration| migration.sql.to_owned()).collect();
        listed.sort();
        assert!(files == listed, "migrations/sqlite and MIGRATIONS differ");
    }

    /// `UPDATE_SCHEMA=1` writes `complete.sql`.
    #[test]
    fn migration_from_any_version_gives_the_same_schema() {
        let from = |version: usize| {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate(&mut connection, 0, &MIGRATIONS[..version]).unwrap();
            let version = inspect(&connection, MIGRATIONS).unwrap();
            update(&mut connection, version).unwrap();
            connection
        };
        let migrated = statements(&from(1)).unwrap();
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite/complete.sql");
            std::fs::write(file, &migrated).unwrap();
        }
        assert!(migrated == COMPLETE, "migrations/sqlite/complete.sql: write it with UPDATE_SCHEMA=1");
        let rows = |connection: &Connection| {
            let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
            let tables = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            let count = |table| format!("SELECT '{table}', count(*) FROM {table}");
            let counts: Vec<_> = tables.map(|table| count(table.unwrap())).collect();
            let mut statement = connection.prepare(&(counts.join(" UNION ALL ") + " ORDER BY 1")).unwrap();
            let counts = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            counts.collect::<Result<Vec<(String, u64)>, _>>().unwrap()
        };
        let first = |connection: &Connection| {
            let columns =
                "SELECT json_array(hex(id), kind, state, revision, next_index, outbox, hex(correlations), version)
                FROM (SELECT *, (SELECT user_version FROM pragma_user_version) AS version FROM operations)";
            connection.query_row(columns, [], |row| row.get::<_, String>(0)).unwrap()
        };
        let fresh = from(0);
        for version in 0..MIGRATIONS.len() {
            let other = from(version);
            assert_eq!(statements(&other).unwrap(), COMPLETE, "from {version}");
            assert_eq!((rows(&other), first(&other)), (rows(&fresh), first(&fresh)), "from {version}");
        }
    }

    #[test]
    fn failed_migration_is_rolled_back() {
        let good = || Migration { version: 1, sql: "CREATE TABLE kept (x); INSERT INTO kept VALUES (1);" };
        let bad =
            Migration { version: 2, sql: "CREATE TABLE half (x); DELETE FROM kept; INSERT INTO absent VALUES (1);" };
        let better = Migration { version: 2, sql: "CREATE TABLE half (x);" };
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, 0, &[good()]).unwrap();

        assert!(matches!(migrate(&mut connection, 1, &[good(), bad]), Err(SchemaError::Migration(2, _))));
        assert_eq!(inspect(&connection, MIGRATIONS).unwrap(), 1);
        let kept: u64 = connection.query_row("SELECT count(*) FROM kept", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 1);

        migrate(&mut connection, 1, &[good(), better]).unwrap();
        assert!(matches!(inspect(&connection, &[good()]), Err(SchemaError::Newer { found: 2, known: 1 })));
    }
}
