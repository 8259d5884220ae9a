//! `usher tickets …`

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use usher_engine::ports::{TicketBalance, TicketStore as _};
use usher_store::{OpenError, SqliteOptions, SqliteStore};

use super::environment::{load_in_time, source};
use crate::cli::TicketsCommand;
use crate::config::setting::LogFormat;
use crate::config::{Config, Source, report};
use crate::failure::Failure;
use crate::logging::{self, Output};
use crate::output::{tell, write};

/// Runs it.
///
/// # Errors
/// When the configuration has errors, another process uses the database, or the mint does not do its part.
pub fn run(command: &TicketsCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let Some(config) = &loaded.config else {
        return Err(Failure::Configuration(report::problems(&loaded)));
    };
    logging::start(LogFormat::Text, Output::Stderr, "warn", None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let text = runtime.block_on(async {
        match command {
            TicketsCommand::Balances => balances(config, &source).await,
        }
    })?;
    Ok(write(&text)?)
}

async fn balances(config: &Config, source: &Source) -> Result<String, Failure> {
    let path = source.data_dir.join(config.database.path.as_str());
    if !path.exists() {
        return Err(Failure::said(format!("there is no database at {}", path.display())));
    }
    let store = open_store(config, source)?;
    let balances = store.ticket_balances().await;
    store.close().await;
    let balances = balances?;
    if balances.is_empty() {
        tell("usher: the ticket wallet is empty");
    }
    Ok(lines(&balances))
}

/// The database, for this process alone.
fn open_store(config: &Config, source: &Source) -> Result<Arc<SqliteStore>, Failure> {
    let path = source.data_dir.join(config.database.path.as_str());
    match SqliteStore::open(&path, SqliteOptions::default()) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error @ OpenError::InUse { .. }) => Err(Failure::said(format!(
            "{error}; stop the service first (while it runs, GET /cashu/balances shows the balances)"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Amount, unit and mint.
fn lines(balances: &[TicketBalance]) -> String {
    let mut text = String::new();
    for TicketBalance { mint_url, unit, amount } in balances {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{amount} {unit} {mint_url}");
    }
    text
}
