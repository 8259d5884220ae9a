//! `usher store …`: moves the store between SQLite and PostgreSQL.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use usher_engine::operations::Operation;
use usher_engine::ports::{Clock as _, SystemClock};
use usher_store::{
    CopiedTable, CopyMark, CopyOutcome, CopyPart, CopySource, CopyState, CopyTarget, PostgresInspection,
    PostgresOptions,
};
use uuid::Uuid;

use super::environment::{config_of, load_in_time, source};
use crate::cli::{CopyDirection, StoreCommand};
use crate::config::setting::LogFormat;
use crate::config::{Config, Source};
use crate::confirmation::confirm;
use crate::database::{SharedDatabase, hold};
use crate::failure::Failure;
use crate::logging::{self, Output};
use crate::output::{tell, write};
use crate::service_lifecycle::make_data_dir;

/// How often progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// How much longer than its duration the end of a lease is waited for.
const LEASE_SLACK: Duration = Duration::from_secs(1);

pub(crate) fn run(command: &StoreCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let config = config_of(&loaded)?;
    logging::start(LogFormat::Text, Output::Stderr, "warn", None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match command {
        StoreCommand::Copy { to } => Ok(write(&runtime.block_on(copy(config, &source, *to))?)?),
        StoreCommand::Reopen { yes } => runtime.block_on(reopen(config, &source, *yes)),
    }
}

async fn copy(config: &Config, source: &Source, to: CopyDirection) -> Result<String, Failure> {
    make_data_dir(&source.data_dir)?;
    let file = source.data_dir.join(config.database.path.as_str());
    let Some(shared) = SharedDatabase::of_command(config)? else {
        let what = "database.url is not set: set it, or SERVICE__DATABASE__URL_FILE, for this command as well as for the service; \
                    the file is that of database.path";
        return Err(Failure::Configuration(vec![what.to_owned()]));
    };
    if to == CopyDirection::Postgres {
        refuse_lightning_node(&source.data_dir, &file).await?;
    }
    if to == CopyDirection::Sqlite && PostgresInspection::open(&shared.options).await?.is_none() {
        return Err(Failure::said("database.url is a database that no service has used: there is nothing to copy"));
    }
    let lease = hold(&shared, patience(&shared)).await?;
    let copied = match to {
        CopyDirection::Postgres => to_postgres(&file, &shared.options, lease.epoch()).await,
        CopyDirection::Sqlite => to_sqlite(&file, &shared.options, lease.epoch()).await,
    };
    lease.hand_over().await;
    let (outcome, advice) = (copied?, advice(to));
    let text = match outcome {
        CopyOutcome::Copied(tables) => table(&tables),
        CopyOutcome::Finished => {
            tell("usher: an earlier run had copied and compared everything; it is finished now");
            String::new()
        }
    };
    tell(&format!("usher: moved. {advice}"));
    Ok(text)
}

/// A killed earlier run leaves its lease behind.
fn patience(shared: &SharedDatabase) -> Duration {
    shared.request.lasts + LEASE_SLACK
}

async fn to_postgres(file: &Path, options: &PostgresOptions, epoch: u64) -> Result<CopyOutcome, Failure> {
    let source = CopySource::sqlite(file).await?;
    run_copy(source, CopyTarget::postgres(options, epoch).await?).await
}

async fn to_sqlite(file: &Path, options: &PostgresOptions, epoch: u64) -> Result<CopyOutcome, Failure> {
    let source = CopySource::postgres(options, epoch).await?;
    run_copy(source, CopyTarget::sqlite(file).await?).await
}

async fn run_copy(source: CopySource, target: CopyTarget) -> Result<CopyOutcome, Failure> {
    let at = httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_millis(SystemClock.now().0));
    let told = Mutex::new(Instant::now());
    let progress = |part, table: &str, rows| {
        let mut told = told.lock();
        if told.elapsed() >= PROGRESS_INTERVAL {
            *told = Instant::now();
            let doing = match part {
                CopyPart::Copying => "copying",
                CopyPart::Comparing => "comparing",
            };
            tell(&format!("usher: {doing} {table}: {rows} rows"));
        }
    };
    let readable = |state: &_| Operation::from_state(state).is_ok();
    Ok(usher_store::copy(source, target, &Uuid::now_v7().to_string(), &at, readable, &progress).await?)
}

fn advice(to: CopyDirection) -> &'static str {
    match to {
        CopyDirection::Postgres => {
            "Keep database.url in the configuration and start the service; remove the old file when you \
                                    have a backup of the new database"
        }
        CopyDirection::Sqlite => {
            "Remove database.url from the configuration and start the service; drop the old database when \
                                  you have a backup of the file"
        }
    }
}

fn table(tables: &[CopiedTable]) -> String {
    let mut text = format!("{:<20} {:>12}  {}\n", "table", "rows", "digest");
    for CopiedTable { name, rows, digest } in tables {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<20} {rows:>12}  {digest}");
    }
    let rows: u64 = tables.iter().map(|table| table.rows).sum();
    let _ = writeln!(text, "{:<20} {rows:>12}", "all");
    text
}

/// The node's data cannot be moved, because the node has no store in PostgreSQL.
async fn refuse_lightning_node(data_dir: &Path, file: &Path) -> Result<(), Failure> {
    let folder = data_dir.join("lightning");
    let has_node = if file.exists() { has_lightning_node(&folder, file).await? } else { false };
    if !has_node {
        return Ok(());
    }
    Err(Failure::said(format!(
        "the service has a Lightning node of its own, with its data in {}. The node cannot work with PostgreSQL: an old copy \
         of a channel's state loses money, and its own store does not write under the lease of the active instance. Close its \
         channels, move the money away, stop the service, move the folder away and run `usher lightning abandon` first",
        folder.display()
    )))
}

#[cfg(feature = "embedded-lightning")]
async fn has_lightning_node(folder: &Path, file: &Path) -> Result<bool, Failure> {
    let database = usher_store::DatabaseInspection::open(file)?;
    let state = usher_embedded_lightning::data_state(folder, &database).await?;
    Ok(state != usher_embedded_lightning::DataState::None)
}

/// Programs without the node have none.
#[cfg(not(feature = "embedded-lightning"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
async fn has_lightning_node(folder: &Path, _file: &Path) -> Result<bool, Failure> {
    Ok(folder.exists())
}

async fn reopen(config: &Config, source: &Source, yes: bool) -> Result<(), Failure> {
    let Some(shared) = SharedDatabase::of_command(config)? else {
        let file = source.data_dir.join(config.database.path.as_str());
        return reopen_this(CopySource::sqlite(&file).await?, yes).await;
    };
    let lease = hold(&shared, patience(&shared)).await?;
    let reopened = match CopySource::postgres(&shared.options, lease.epoch()).await {
        Ok(database) => reopen_this(database, yes).await,
        Err(error) => Err(error.into()),
    };
    lease.hand_over().await;
    reopened
}

async fn reopen_this(database: CopySource, yes: bool) -> Result<(), Failure> {
    let Some(CopyMark { state, other, at, .. }) = database.mark().await? else {
        tell("usher: the configured database was not moved, and is not an unfinished copy: it can be used");
        return Ok(());
    };
    tell(&match state {
        CopyState::Moved => format!("usher: the configured database was moved to {other} at {at}"),
        CopyState::Unfinished => {
            format!("usher: the configured database is an unfinished copy of {other}, begun at {at}")
        }
    });
    tell(
        "usher: use it only if nothing has used the other one since and nothing ever will, or if the other one is lost: with \
         both in use payments are made twice and tickets are lost; what happened in the other one is not in this one",
    );
    confirm(yes)?;
    database.reopen().await?;
    tell("usher: the configured database can be used again");
    Ok(())
}
