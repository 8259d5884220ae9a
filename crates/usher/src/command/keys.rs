//! `usher keys …`: API keys, managed through the running service.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::service_client::{self, ServiceClient};
use crate::cli::{KeysCommand, NewKey};
use crate::failure::Failure;
use crate::output::tell;

pub(crate) fn run(command: &KeysCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    service_client::print(data_dir, async |service| match command {
        KeysCommand::Create(new) => secret(service, "/keys", &request(new)).await,
        KeysCommand::List => Ok(listed(&service.get("/keys").await?)),
        KeysCommand::Rotate { id, overlap_seconds } => {
            let path = format!("/keys/{id}/rotate");
            secret(service, &path, &json!({ "overlap_seconds": overlap_seconds })).await
        }
        KeysCommand::Revoke { id } => {
            service.delete(&format!("/keys/{id}"), &json!({})).await?;
            tell(&format!("usher: revoked {id}"));
            Ok(String::new())
        }
    })
}

fn request(new: &NewKey) -> Value {
    let NewKey { name, scopes, expires_at, networks, own_streams_only, daily_budget_millisats, requests_per_second } =
        new;
    let mut body = Map::new();
    body.insert("name".to_owned(), json!(name));
    body.insert("scopes".to_owned(), json!(scopes));
    body.insert("networks".to_owned(), json!(networks));
    body.insert("own_streams_only".to_owned(), json!(own_streams_only));
    for (field, number) in [
        ("expires_at", *expires_at),
        ("daily_budget_millisats", *daily_budget_millisats),
        ("requests_per_second", *requests_per_second),
    ] {
        body.extend(number.map(|number| (field.to_owned(), json!(number))));
    }
    Value::Object(body)
}

/// Prints the new secret on a line of its own. Not retried: a repeated response does not contain the secret.
async fn secret(service: &ServiceClient, path: &str, body: &Value) -> Result<String, Failure> {
    let response = service.post(path, body, None).await?;
    let id: Uuid = response["key"]["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
    let secret = response["secret"].as_str().ok_or_else(|| Failure::said("the service has shown no secret"))?;
    tell(&format!("usher: the secret of the key {id}; it is shown this once"));
    Ok(format!("{secret}\n"))
}

/// Id, name, scopes and last use, one key per line; then the secrets of the configuration.
fn listed(response: &Value) -> String {
    let mut text = String::new();
    let last_use = |entry: &Value| entry["last_used_at"].as_u64().map_or_else(|| "-".to_owned(), |at| at.to_string());
    for key in response["keys"].as_array().into_iter().flatten() {
        let scopes: Vec<&str> = key["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let word = |name: &str| key[name].as_str().unwrap_or("-");
        let state = if key["expired"] == true { "expired" } else { "valid" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}\t{state}\t{}\t{}\t{}", word("id"), last_use(key), scopes.join(","), word("name"));
    }
    for secret in response["configured"].as_array().into_iter().flatten() {
        let setting = secret["setting"].as_str().unwrap_or("-");
        let scopes = if setting.starts_with("auth.") { "*" } else { "-" };
        let _ = writeln!(text, "-\tvalid\t{}\t{scopes}\t{setting}", last_use(secret));
    }
    text
}
