//! `usher users …`: users' stored data, managed through the running service.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use usher_protocol::keys::parse_public_key;

use super::service_client::{self, ServiceClient};
use crate::cli::UsersCommand;
use crate::failure::Failure;
use crate::output::tell;

pub(crate) fn run(command: &UsersCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let UsersCommand::Erase { user } = command;
    let user = parse_public_key(user).map_err(|error| Failure::usage(format!("the user's key: {error}")))?;
    service_client::print(data_dir, async |service| erase(service, &user.to_hex()).await)
}

/// Prints what was kept: reason, kind, stream and until when, one per line.
async fn erase(service: &ServiceClient, user: &str) -> Result<String, Failure> {
    let mut erased = [
        ("streams", 0),
        ("passkeys", 0),
        ("logins", 0),
        ("remote_signers", 0),
        ("relays", 0),
        ("oidc_consents", 0),
        ("oidc_records", 0),
    ];
    let (mut kept, mut after) = (String::new(), String::new());
    loop {
        let response = service.delete(&format!("/users/{user}{after}"), &json!({})).await?;
        for (name, count) in &mut erased {
            *count += response["erased"][*name].as_u64().unwrap_or_default();
        }
        for entry in response["kept"].as_array().into_iter().flatten() {
            let word = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
            let until = entry["until"].as_u64().map_or_else(|| "-".to_owned(), |until| until.to_string());
            // Writing to a string cannot fail.
            let _ = writeln!(kept, "{} {} {} {until}", word("reason"), word("kind"), word("stream_id"));
        }
        match &response["next"] {
            Value::String(next) => after = format!("?after={next}"),
            _ => break,
        }
    }
    let counts: Vec<_> = erased.iter().map(|(name, count)| format!("{name} {count}")).collect();
    tell(&format!("usher: erased: {}", counts.join(", ")));
    if !kept.is_empty() {
        tell("usher: kept, with the reason and until when (docs/limits.md, Erase a user):");
    }
    Ok(kept)
}
