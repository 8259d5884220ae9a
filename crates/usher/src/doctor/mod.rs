//! `usher doctor`: checks everything that the service depends on, and gives advice.
//!
//! It changes nothing. Some data come from a running service over its own interface; the rest, and all of it if none
//! runs, is checked directly: it reads the database, connects to relays, queries the wallet's information, and connects
//! to the webhook's receiver without a request.

mod clock;
mod configuration;
mod database;
mod embedded_lightning;
mod finding;
mod lightning;
mod mints;
mod open_files;
mod pages;
mod rates;
mod relays;
mod service;
mod verification;
mod webhook;

use std::path::{Path, PathBuf};

use usher_engine::ports::{Clock as _, SystemClock};
use usher_relays::{RelayAddress, ServiceRelays};
use usher_store::Inspection;

use self::finding::{Finding, State};
use self::service::Service;
use crate::cli::DoctorCommand;
use crate::command::environment::{load_in_time, source};
use crate::config::setting::LogFormat;
use crate::config::{Config, Source};
use crate::database::SharedDatabase;
use crate::failure::Failure;
use crate::logging::{self, Output};
use crate::output::write;

/// Checks everything and prints the findings.
///
/// # Errors
/// [`Failure::Reported`] with exit code 78 if the configuration has errors, and with 1 if something else requires
/// action.
pub fn run(command: &DoctorCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let source = source(data_dir)?;
    // Standard output is for the findings, which logs of libraries would only repeat.
    logging::start(LogFormat::Text, Output::Stderr, "off", None)?;
    let (loaded, source) = match load_in_time(source) {
        Ok(loaded) => loaded,
        Err(failure) => {
            let finding = configuration::unreadable(&failure);
            write(&report(&[finding], command.json)?)?;
            return Err(Failure::reported());
        }
    };
    let mut findings = configuration::check(&source, &loaded);
    let complete = match &loaded.config {
        Some(config) => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(examine(config, &source, &mut findings));
            runtime.shutdown_background();
            true
        }
        None => false,
    };
    write(&report(&findings, command.json)?)?;
    if !complete {
        return Err(Failure::reported_configuration());
    }
    if findings.iter().any(|finding| finding.state == State::Fail) {
        return Err(Failure::reported());
    }
    Ok(())
}

/// Checks everything except the configuration itself.
async fn examine(config: &Config, source: &Source, findings: &mut Vec<Finding>) {
    let presence = Service::find(config, &source.data_dir, findings).await;
    let service = presence.service();

    let path = source.data_dir.join(config.database.path.as_str());
    if let Some(service) = service {
        database::ask(service, findings).await;
    }
    let database = match SharedDatabase::of_command(config) {
        Ok(None) => {
            findings.extend(database::owner(&path, &presence));
            inspect(&path, findings).await
        }
        Ok(Some(shared)) => {
            let found = database::shared(&shared, findings).await;
            found.map(|database| Box::new(database) as Box<dyn Inspection>)
        }
        Err(failure) => {
            findings.push(database::misconfigured(&failure));
            None
        }
    };

    let asked = match service {
        Some(service) => relays::service_view(service).await,
        None => None,
    };
    // The running service knows its relays: they can be changed at run time, and `usher dev` has its own.
    let addresses = match &asked {
        Some(asked) => asked.keys().filter_map(|address| RelayAddress::parse(address).ok()).collect(),
        None => relays_of_service(config, database.as_deref()).await,
    };
    let probed = relays::probe_all(addresses, config.nostr.private_key.public()).await;
    let now = SystemClock.now();
    relays::check(&probed, asked.as_ref(), config.nostr.relays.addresses().len(), findings);
    let dates = probed.iter().filter_map(|relay| relay.outcome.as_ref().ok()?.date.as_deref());
    findings.push(clock::check(dates, now));

    pages::check(config, service, findings).await;
    lightning::check(config, service, findings).await;
    webhook::check(config, findings).await;
    webhook::deliveries(service, database.as_deref(), findings).await;
    mints::check(config, database.as_deref(), findings).await;
    findings.push(verification::check(config).await);
    rates::check(config, findings).await;
    findings.push(open_files::check(config, service).await);
}

/// Checks the database on a separate thread, because it may be large.
async fn inspect(path: &Path, findings: &mut Vec<Finding>) -> Option<Box<dyn Inspection>> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let mut findings = Vec::new();
        let database = database::open(&path, &mut findings);
        if let Some(database) = &database {
            database::check(&path, database, &mut findings);
        }
        (database, findings)
    });
    let (database, found) = read.await.unwrap_or_default();
    database::add_new(found, findings);
    database.map(|database| Box::new(database) as Box<dyn Inspection>)
}

/// The configured relays with changes made at run time, or only the configured ones if those cannot be read.
async fn relays_of_service(config: &Config, database: Option<&dyn Inspection>) -> Vec<RelayAddress> {
    let configured = config.nostr.relays.addresses();
    match database {
        Some(database) => {
            let roster = ServiceRelays::load(database, configured).await;
            roster.map_or_else(|_| configured.to_vec(), |roster| roster.relays())
        }
        None => configured.to_vec(),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Prints the findings, one per line, and a summary for people.
fn report(findings: &[Finding], json: bool) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for finding in findings {
        let line = if json { serde_json::to_string(finding)? } else { finding.to_string() };
        text.push_str(&line);
        text.push('\n');
    }
    if !json {
        let count = |state| findings.iter().filter(|finding| finding.state == state).count();
        text.push_str(&match (count(State::Fail), count(State::Warn)) {
            (0, 0) => "\nNo problems found.\n".to_owned(),
            (0, warnings) => format!("\nNothing needs action; {}.\n", counted(warnings, "warning")),
            (failures, warnings) => {
                format!("\n{}, {}.\n", counted(failures, "failure"), counted(warnings, "warning"))
            }
        });
    }
    Ok(text)
}
