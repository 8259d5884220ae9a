//! `usher oidc …`: users' consents and signing keys, managed through the running service.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use usher_protocol::keys::parse_public_key;
use uuid::Uuid;

use super::service_client::{self, ServiceClient};
use crate::cli::OidcCommand;
use crate::failure::Failure;
use crate::output::tell;

pub(crate) fn run(command: &OidcCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    service_client::print(data_dir, async |service| match command {
        OidcCommand::Consents => consents(service).await,
        OidcCommand::Revoke { client, user } => revoke(service, client, user).await,
        OidcCommand::Keys => Ok(keys(&service.get("/oidc/keys").await?)),
        OidcCommand::RotateKeys => {
            Ok(keys(&service.post("/oidc/keys", &json!({}), Some(&Uuid::now_v7().to_string())).await?))
        }
        OidcCommand::RevokeKey { key } => revoke_key(service, key).await,
    })
}

/// Client, user's key and scopes, one per line.
async fn consents(service: &ServiceClient) -> Result<String, Failure> {
    let (mut text, mut after) = (String::new(), String::new());
    loop {
        let page = service.get(&format!("/oidc/consents?limit=1000{after}")).await?;
        for consent in page["consents"].as_array().into_iter().flatten() {
            let scopes: Vec<&str> =
                consent["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let (client, user) = (word(&consent["client_id"]), word(&consent["main_key"]));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{client} {user} {}", scopes.join(" "));
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    if text.is_empty() {
        tell("usher: no user has agreed to anything");
    }
    Ok(text)
}

async fn revoke(service: &ServiceClient, client: &str, user: &str) -> Result<String, Failure> {
    let user = parse_public_key(user).map_err(|error| Failure::usage(format!("the user's key: {error}")))?;
    service.delete("/oidc/consents", &json!({ "client_id": client, "main_key": user.to_hex() })).await?;
    Ok(String::new())
}

async fn revoke_key(service: &ServiceClient, id: &str) -> Result<String, Failure> {
    let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    Ok(keys(&service.delete(&format!("/oidc/keys/{id}"), &Value::Null).await?))
}

/// Algorithm, key id and state, one per line.
fn keys(response: &Value) -> String {
    let mut text = String::new();
    for key in response["keys"].as_array().into_iter().flatten() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {} {}", word(&key["algorithm"]), word(&key["kid"]), word(&key["status"]));
    }
    text
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
