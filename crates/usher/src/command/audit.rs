//! `usher audit …`: reads the audit log from the running service, and verifies it in the database.

use std::path::{Path, PathBuf};

use chrono::DateTime;
use serde_json::Value;
use usher_engine::audit::{AuditHead, verify};
use usher_engine::ports::AuditReader;
use usher_store::{DatabaseInspection, PostgresInspection};

use super::environment::{config_of, load_in_time, source};
use super::service_client::ServiceClient;
use crate::cli::AuditCommand;
use crate::config::Config;
use crate::database::SharedDatabase;
use crate::failure::{Failure, chain};
use crate::identity::identity;
use crate::output::{tell, write};
use crate::service_options::audit_key;

pub(crate) fn run(command: &AuditCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match command {
        AuditCommand::List { after } => runtime.block_on(list(&ServiceClient::new(&loaded, &source.data_dir)?, *after)),
        AuditCommand::Verify { head } => {
            let config = config_of(&loaded)?;
            runtime.block_on(verify_database(config, &source.data_dir, *head))
        }
    }
}

async fn list(service: &ServiceClient, after: u64) -> Result<(), Failure> {
    let mut after = after.to_string();
    loop {
        let page = service.get(&format!("/audit?limit=1000&after={after}")).await?;
        let entries = page["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
        write(&entries.iter().map(line).collect::<String>())?;
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => return Ok(()),
        }
    }
}

fn line(entry: &Value) -> String {
    let at = DateTime::from_timestamp(entry["at"].as_i64().unwrap_or_default(), 0);
    let at = at.map(|at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default();
    let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
    let fields = [
        entry["sequence"].to_string(),
        at,
        text("actor"),
        text("address"),
        text("action"),
        text("outcome"),
        entry["details"].to_string(),
        text("request_id"),
    ];
    fields.join("\t") + "\n"
}

async fn verify_database(config: &Config, data_dir: &Path, noted: Option<AuditHead>) -> Result<(), Failure> {
    let log = open(config, data_dir).await?;
    let found = verify(&*log, &audit_key(&identity(config)), noted).await?;
    if found.removed > 0 {
        tell(&format!("usher: entries up to {} were removed after their retention", found.removed));
    }
    if let Some(head) = found.head {
        write(&format!("{head}\n"))?;
    }
    match found.fault {
        Some(fault) => Err(Failure::said(format!("the audit log was tampered with or is damaged: {fault}"))),
        None if found.head.is_none() => {
            tell("usher: the audit log is empty");
            Ok(())
        }
        None => {
            tell("usher: every entry is as it was written; above is the newest one");
            Ok(())
        }
    }
}

async fn open(config: &Config, data_dir: &Path) -> Result<Box<dyn AuditReader>, Failure> {
    let older = || Failure::said("the database is of an older version, which had no audit log");
    match SharedDatabase::of_command(config)? {
        None => {
            let path = data_dir.join(config.database.path.as_str());
            let database = DatabaseInspection::open(&path)?;
            let (version, known) = database.schema_version();
            if version == known { Ok(Box::new(database)) } else { Err(older()) }
        }
        Some(shared) => {
            let opened = PostgresInspection::open(&shared.options).await;
            let database = opened.map_err(|error| Failure::said(chain(&error)))?.ok_or_else(older)?;
            let (version, known) = database.schema_version();
            if version == known { Ok(Box::new(database)) } else { Err(older()) }
        }
    }
}
