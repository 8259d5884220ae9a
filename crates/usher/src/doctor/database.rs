//! Checks the database read-only, whether or not a service uses it.

use std::path::Path;
use std::time::Duration;

use usher_engine::operations::Operation;
use usher_store::{
    CopyMark, CopyState, DamagedRow, DatabaseInspection, Integrity, Lease, LeaseHolder, OpenError, PostgresInspection,
    PostgresOpenError,
};

use super::finding::Finding;
use super::service::{Presence, Service};
use crate::database::SharedDatabase;
use crate::failure::{Failure, chain};

const CHECK: &str = "database";

/// Time limit of the check of every page.
const MAX_CHECK_TIME: Duration = Duration::from_secs(60);

/// Free space below which the service will soon be unable to write, in bytes: 64 MiB, the largest size of the
/// write-ahead log.
const LITTLE_ROOM: u64 = 64 * 1024 * 1024;

/// Advice for a damaged file.
const RESTORE: &str = "stop the service, keep a copy of the file, and restore a backup (docs/backup.md)";

/// Advice for an unreadable PostgreSQL database.
const RESTORE_SHARED: &str = "look at the server's log; restore a backup of the database if it is damaged";

/// Opens the file for inspection; `None` if it is missing or unreadable.
pub(super) fn open(path: &Path, findings: &mut Vec<Finding>) -> Option<DatabaseInspection> {
    if !path.exists() && unreadable_folder(path).is_none() {
        findings.push(missing(path));
        return None;
    }
    match DatabaseInspection::open(path) {
        Ok(inspection) => Some(inspection),
        Err(error) => {
            findings.push(unusable(&error));
            None
        }
    }
}

/// Checks a PostgreSQL database: whether it responds, which instance is active, and its content.
pub(super) async fn shared(database: &SharedDatabase, findings: &mut Vec<Finding>) -> Option<PostgresInspection> {
    let opened = async {
        let lease = Lease::observe(&database.options).await?;
        Ok::<_, PostgresOpenError>((lease, PostgresInspection::open(&database.options).await?))
    };
    let (lease, inspection) = match opened.await {
        Ok(opened) => opened,
        Err(error) => {
            let said = format!("PostgreSQL cannot be used: {}", chain(&error));
            let advice = "check database.url, and that the server runs and lets this machine in";
            findings.push(Finding::fail(CHECK, said, advice));
            return None;
        }
    };
    let Some(inspection) = inspection else {
        let said = "PostgreSQL responds; no instance has used this database yet: the first one makes its tables";
        findings.push(Finding::ok(CHECK, said.to_owned()));
        return None;
    };
    findings.push(active_instance(&lease).await);
    let mut found = Vec::new();
    check_shared(&inspection, &mut found).await;
    add_new(found, findings);
    Some(inspection)
}

async fn check_shared(inspection: &PostgresInspection, findings: &mut Vec<Finding>) {
    let (version, known) = inspection.schema_version();
    findings.extend(old_schema(version, known));
    findings.extend(copy_mark(inspection.copy_mark().await.ok().flatten()));
    match inspection.damaged_rows(|state| Operation::from_state(state).is_ok()).await {
        Ok(found) => rows(version < known, found, findings),
        Err(error) => {
            let message = format!("its rows cannot be read: {}", chain(&error));
            findings.push(Finding::fail(CHECK, message, RESTORE_SHARED));
        }
    }
}

/// Skips what is listed: a running service may have reported the same damaged row.
pub(super) fn add_new(found: Vec<Finding>, findings: &mut Vec<Finding>) {
    for finding in found {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
}

async fn active_instance(lease: &Lease) -> Finding {
    match lease.holder().await {
        Ok(Some(LeaseHolder { owner, address, .. })) => {
            Finding::ok(CHECK, format!("PostgreSQL responds; the active instance is {owner}, at {address}"))
        }
        Ok(None) => Finding::ok(CHECK, "PostgreSQL responds; no instance is active".to_owned()),
        Err(error) => {
            let said =
                format!("PostgreSQL responds, but it cannot be read which instance is active: {}", chain(&error));
            Finding::warn(CHECK, said, "look at the server's log")
        }
    }
}

pub(super) fn misconfigured(failure: &Failure) -> Finding {
    Finding::fail(CHECK, failure.to_string(), "change the setting")
}

/// Whether the process that uses the database is the service that was found.
pub(super) fn owner(path: &Path, presence: &Presence) -> Option<Finding> {
    let shown = path.display();
    match (presence, DatabaseInspection::is_in_use(path)?) {
        (Presence::Absent, true) => Some(Finding::fail(
            CHECK,
            format!("{shown} is in use by another process, but no service answers at the configured address"),
            format!(
                "a service with another configuration uses it, and a second one does not start; `fuser {shown}.lock` names the process"
            ),
        )),
        (Presence::Running(_), false) => Some(Finding::fail(
            CHECK,
            format!("the service that answers at the configured address does not use {shown}"),
            "it runs on another data directory or database.path: name its data directory with --data-dir, or give the two services different ports",
        )),
        _ => None,
    }
}

/// Checks the content. Blocks for a minute at most.
pub(super) fn check(path: &Path, inspection: &DatabaseInspection, findings: &mut Vec<Finding>) {
    let shown = path.display();
    findings.push(match inspection.integrity(MAX_CHECK_TIME) {
        Ok(Integrity::Whole) => Finding::ok(CHECK, format!("{shown} is whole")),
        Ok(Integrity::Damaged(problems)) => {
            let first = problems.first().map(String::as_str).unwrap_or_default();
            Finding::fail(CHECK, format!("{shown} is damaged ({} problems; {first})", problems.len()), RESTORE)
        }
        Ok(Integrity::NotFinished) => Finding::warn(
            CHECK,
            format!("{shown} is too large to check within {} s", MAX_CHECK_TIME.as_secs()),
            format!("run `sqlite3 {shown} 'PRAGMA quick_check'`"),
        ),
        Err(error) => Finding::fail(CHECK, format!("{shown} cannot be checked: {}", chain(&error)), RESTORE),
    });
    let (version, known) = inspection.schema_version();
    findings.extend(old_schema(version, known));
    findings.extend(copy_mark(inspection.copy_mark().ok().flatten()));
    match inspection.missing() {
        Ok(missing) if missing.is_empty() => {}
        Ok(missing) => {
            let missing = missing.join(", ");
            findings.push(Finding::fail(CHECK, format!("it is incomplete, missing: {missing}"), RESTORE));
            return;
        }
        Err(error) => {
            findings.push(Finding::fail(CHECK, format!("its schema cannot be read: {}", chain(&error)), RESTORE));
            return;
        }
    }
    match inspection.damaged_rows(|state| Operation::from_state(state).is_ok()) {
        Ok(found) => rows(version < known, found, findings),
        Err(error) => {
            let message = format!("its rows cannot be read: {}", chain(&error));
            findings.push(Finding::fail(CHECK, message, RESTORE));
        }
    }
    findings.extend(room(path));
}

fn old_schema(version: u32, known: u32) -> Option<Finding> {
    let message = format!("its schema has version {version}; the next start migrates it to {known}");
    let advice = "make a backup first: older versions refuse the new schema";
    (version < known).then(|| Finding::warn(CHECK, message, advice))
}

/// A service refuses it.
fn copy_mark(mark: Option<CopyMark>) -> Option<Finding> {
    let mark = mark?;
    let advice = match mark.state {
        CopyState::Moved => "configure the database that it was moved to (docs/instances.md)",
        CopyState::Unfinished => "run `usher store copy` again",
    };
    Some(Finding::fail(CHECK, format!("the database {mark}"), advice))
}

fn rows(is_old: bool, (open, damaged): (u64, Vec<DamagedRow>), findings: &mut Vec<Finding>) {
    // Rows of an older schema are not checked.
    if is_old {
        return;
    }
    if damaged.is_empty() {
        findings.push(Finding::ok(CHECK, format!("every row is readable; {open} operations are open")));
    }
    findings.extend(damaged.into_iter().map(|row| damaged_row(row.table, &row.id)));
}

/// A damaged row. The text is always the same, so that the row is listed once.
fn damaged_row(table: &str, id: &str) -> Finding {
    let message = format!("the row {id} of the table {table} is damaged and is set aside; everything else goes on");
    Finding::fail(CHECK, message, "restore it from a backup while the service is stopped (docs/backup.md, Damage)")
}

/// Whether the running service can read and write it.
pub(super) async fn ask(service: &Service, findings: &mut Vec<Finding>) {
    let Ok(response) = service.get("/health/ready").await else { return };
    // The rows that the service has set aside.
    for row in response.body["store"]["damaged"].as_array().into_iter().flatten() {
        if let (Some(table), Some(id)) = (row["table"].as_str(), row["id"].as_str()) {
            findings.push(damaged_row(table, id));
        }
    }
    findings.push(if response.body["store"]["ready"] == true {
        Finding::ok(CHECK, "the service reads and writes it")
    } else {
        Finding::fail(
            CHECK,
            "the service cannot read or write it",
            "is the disk full or read-only? Acknowledged operations are safe; the service continues by itself",
        )
    });
}

fn missing(path: &Path) -> Finding {
    let folder = path.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(path);
    if writable(folder) {
        return Finding::ok(CHECK, format!("{} does not exist yet; the first start creates it", path.display()));
    }
    Finding::fail(
        CHECK,
        format!("{} does not exist, and {} is not writable", path.display(), folder.display()),
        format!("make the data directory writable for the service's user (chown), or use --data-dir{}", who()),
    )
}

/// Why the folder is not readable, if it is not.
fn unreadable_folder(path: &Path) -> Option<std::io::Error> {
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Some(error),
        _ => None,
    }
}

fn unusable(error: &OpenError) -> Finding {
    let advice = match error {
        OpenError::File { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            format!("run `usher doctor` as the service's user (sudo -u usher usher doctor){}", who())
        }
        OpenError::File { source, .. } if source.kind() == std::io::ErrorKind::InvalidInput => {
            "name a file in database.path, or move away what stands in its place".to_owned()
        }
        OpenError::Foreign { .. } => "set another file in database.path; this one is left unchanged".to_owned(),
        OpenError::Newer { .. } => {
            "install the newer version again, or restore the backup made before the upgrade".to_owned()
        }
        _ => RESTORE.to_owned(),
    };
    let message = match error {
        // The damaged part may be the one that is read first.
        OpenError::Unusable { path, source } if source.is_corruption() => {
            format!("{} is damaged: {}", path.display(), chain(source))
        }
        _ => chain(error),
    };
    Finding::fail(CHECK, message, advice)
}

#[cfg(unix)]
fn writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn writable(_folder: &Path) -> bool {
    true
}

/// The current user, for advice about permissions.
#[cfg(unix)]
fn who() -> String {
    format!("; this runs as uid {}", rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn who() -> String {
    String::new()
}

#[cfg(unix)]
fn room(path: &Path) -> Option<Finding> {
    let free = rustix::fs::statvfs(path).ok().map(|system| system.f_bavail.saturating_mul(system.f_frsize))?;
    (free < LITTLE_ROOM).then(|| {
        let message = format!("only {} MiB are free on its disk", free / (1024 * 1024));
        Finding::fail(CHECK, message, "free disk space: on a full disk the service accepts nothing")
    })
}

#[cfg(not(unix))]
fn room(_path: &Path) -> Option<Finding> {
    None
}
