//! `usher console …`: who may use the console, managed through the running service.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::service_client;
use crate::cli::ConsoleCommand;
use crate::failure::Failure;
use crate::output::tell;

pub(crate) fn run(command: &ConsoleCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    service_client::print(data_dir, async |service| {
        match command {
            ConsoleCommand::Invite { name, role } => {
                let body = json!({ "name": name, "role": role });
                // Not retried: a repeated response does not contain the link.
                let response = service.post("/operators/invitations", &body, None).await?;
                let url =
                    response["page_url"].as_str().ok_or_else(|| Failure::said("the service has shown no link"))?;
                tell("usher: whoever opens this link first and logs in there is the operator; it is good for an hour");
                Ok(format!("{url}\n"))
            }
            ConsoleCommand::List => Ok(listed(&service.get("/operators").await?)),
            ConsoleCommand::Remove { key } => {
                // A key is hex: nothing else belongs into the path.
                let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
                service.delete(&format!("/operators/{key}"), &json!({})).await?;
                tell(&format!("usher: removed {key}"));
                Ok(String::new())
            }
        }
    })
}

fn listed(response: &Value) -> String {
    let mut text = String::new();
    for operator in response["operators"].as_array().into_iter().flatten() {
        let word = |name: &str| operator[name].as_str().unwrap_or("-");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}\t{}\t{}\t{}", word("key"), word("role"), word("source"), word("name"));
    }
    text
}
