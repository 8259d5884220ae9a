//! Migrations, and the check that a database belongs to this program.

use super::failure::PostgresFailure;
use super::open_error::PostgresOpenError;
use super::session::Session;
use crate::statement::{Query, params};

/// One step of the schema. The same number means the same change as in SQLite's folder.
pub(super) struct Migration {
    pub(super) version: u32,
    pub(super) sql: &'static str,
}

/// The schema before the first migration: the lease and the list of migrations.
const BASE: &str = include_str!("../../migrations/postgres/0000_base.sql");

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, sql: include_str!("../../migrations/postgres/0001_operations.sql") },
    Migration { version: 2, sql: include_str!("../../migrations/postgres/0002_deliveries.sql") },
    Migration { version: 3, sql: include_str!("../../migrations/postgres/0003_idempotency_records.sql") },
    Migration { version: 4, sql: include_str!("../../migrations/postgres/0004_settings.sql") },
    Migration { version: 5, sql: include_str!("../../migrations/postgres/0005_payments.sql") },
    Migration { version: 6, sql: include_str!("../../migrations/postgres/0006_clocks.sql") },
    Migration { version: 7, sql: include_str!("../../migrations/postgres/0007_kept_correlation_keys.sql") },
    Migration { version: 8, sql: include_str!("../../migrations/postgres/0008_repeated_messages.sql") },
    Migration { version: 9, sql: include_str!("../../migrations/postgres/0009_settings_are_json.sql") },
    Migration { version: 10, sql: include_str!("../../migrations/postgres/0010_delivery_queues.sql") },
    Migration { version: 11, sql: include_str!("../../migrations/postgres/0011_tickets.sql") },
    Migration { version: 12, sql: include_str!("../../migrations/postgres/0012_openid.sql") },
    Migration { version: 13, sql: include_str!("../../migrations/postgres/0013_user_signers.sql") },
    Migration { version: 14, sql: include_str!("../../migrations/postgres/0014_ticket_secrets_per_mint.sql") },
    Migration { version: 15, sql: include_str!("../../migrations/postgres/0015_openid_bounds.sql") },
    Migration { version: 16, sql: include_str!("../../migrations/postgres/0016_set_aside_tickets.sql") },
    Migration { version: 17, sql: include_str!("../../migrations/postgres/0017_eventless_operations.sql") },
    Migration { version: 18, sql: include_str!("../../migrations/postgres/0018_passkeys.sql") },
    Migration { version: 19, sql: include_str!("../../migrations/postgres/0019_payment_records.sql") },
    Migration { version: 20, sql: include_str!("../../migrations/postgres/0020_api_keys.sql") },
    Migration { version: 21, sql: include_str!("../../migrations/postgres/0021_audit_log.sql") },
    Migration { version: 22, sql: include_str!("../../migrations/postgres/0022_paid_invoices.sql") },
    Migration { version: 23, sql: include_str!("../../migrations/postgres/0023_sums_and_logins.sql") },
    Migration { version: 24, sql: include_str!("../../migrations/postgres/0024_payments_by_status.sql") },
    Migration { version: 25, sql: include_str!("../../migrations/postgres/0025_logins_without_indexes.sql") },
    Migration { version: 26, sql: include_str!("../../migrations/postgres/0026_ended_payments_by_status.sql") },
];

/// The oldest tested version of PostgreSQL.
const OLDEST: i32 = 140_000;

/// The lock under which one instance creates the base; the number is arbitrary.
const BASE_LOCK: i64 = 0x0075_7368_6572;

/// Checks the server, and creates the base if it is missing.
pub(super) async fn prepare(session: &Session) -> Result<(), PostgresOpenError> {
    const SERVER: &str = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')";
    let server = session.one(&Query::new("look at the server", SERVER, params![])).await?;
    for row in &server.rows {
        let version = row.int(0)?;
        let encoding = row.string(1)?;
        if version < OLDEST {
            return Err(PostgresOpenError::TooOld { version });
        }
        if encoding != "UTF8" {
            return Err(PostgresOpenError::Encoding { encoding });
        }
    }
    if !has_base(session).await? {
        make_base(session).await?;
    }
    Ok(())
}

pub(super) fn known_version() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Whether the base exists. Only the schema in which tables would be created is searched.
pub(super) async fn has_base(session: &Session) -> Result<bool, PostgresOpenError> {
    const TABLES: &str = "SELECT count(*) FILTER (WHERE c.relname IN ('lease', 'migrations')), count(*)
        FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";
    let tables = session.one(&Query::new("look at the schema", TABLES, params![])).await?;
    let Some(row) = tables.rows.first() else { return Ok(false) };
    match (row.int::<i64>(0)?, row.int::<i64>(1)?) {
        (2, _) => Ok(true),
        (0, 0) => Ok(false),
        _ => Err(PostgresOpenError::Foreign),
    }
}

async fn make_base(session: &Session) -> Result<(), PostgresOpenError> {
    let script = format!("BEGIN; SELECT pg_advisory_xact_lock({BASE_LOCK}); {BASE} COMMIT;");
    let made = session.script("make the first tables", &script).await;
    if made.is_err() {
        session.script("roll back", "ROLLBACK").await?;
        // Another instance may have created it.
        if has_base(session).await? {
            return Ok(());
        }
    }
    Ok(made?)
}

/// The database's schema version; 0 before the first migration.
pub(super) async fn version(session: &Session) -> Result<u32, PostgresFailure> {
    const VERSION: &str = "SELECT coalesce(max(version), 0) FROM migrations";
    let found = session.one(&Query::new("read the schema's version", VERSION, params![])).await?;
    Ok(found.first(|row| row.int(0))?.unwrap_or_default())
}

/// The migrations that the database does not have yet.
///
/// # Errors
/// [`PostgresOpenError::Newer`], and failures of the database.
pub(super) async fn missing<'m>(
    session: &Session,
    migrations: &'m [Migration],
) -> Result<impl Iterator<Item = &'m Migration>, PostgresOpenError> {
    let found = version(session).await?;
    let known = migrations.last().map_or(0, |migration| migration.version);
    if found > known {
        return Err(PostgresOpenError::Newer { found, known });
    }
    Ok(migrations.iter().filter(move |migration| migration.version > found))
}

/// Runs a migration in its own transaction, which `begin` starts with the check of the lease.
pub(super) async fn apply(session: &Session, begin: &str, migration: &Migration) -> Result<(), PostgresOpenError> {
    let Migration { version, sql } = migration;
    // Migrations of large tables may take long.
    let script = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; {begin}; {sql}
         INSERT INTO migrations VALUES ({version}, clock_timestamp()); COMMIT;"
    );
    if let Err(source) = session.script("apply a migration", &script).await {
        // An error means that the connection, and so the transaction, is lost.
        drop(session.script("roll back", "ROLLBACK").await);
        return Err(PostgresOpenError::Migration { version: *version, source });
    }
    tracing::info!(version, "database schema migrated");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn files(folder: &str) -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn migrations_have_the_numbers_of_sqlites() {
        let mut expected = files("sqlite");
        expected.remove("complete.sql");
        expected.insert("0000_base.sql".to_owned());
        assert_eq!(files("postgres"), expected);
        let versions: Vec<_> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        assert_eq!(versions, (1..=u32::try_from(expected.len() - 1).unwrap()).collect::<Vec<_>>());
    }

    #[test]
    fn every_migration_file_is_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
        for (name, migration) in files("postgres").iter().skip(1).zip(MIGRATIONS) {
            assert!(name.starts_with(&format!("{:04}_", migration.version)), "{name}");
            assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), migration.sql);
        }
    }
}
