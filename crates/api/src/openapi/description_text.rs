//! Descriptions, as CommonMark: paragraphs on one line, and links to the operations that they name.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

/// Where the documentation page shows each operation, by `METHOD /path`.
#[derive(Debug, Default)]
pub(super) struct OperationLinks(BTreeMap<String, String>);

impl OperationLinks {
    /// Adds an operation. The address is that of Swagger UI (`#/tag/operationId`).
    pub(super) fn add(&mut self, method: &str, path: &str, tag: &str, operation_id: &str) {
        self.0.insert(format!("{method} {path}"), format!("#/{tag}/{operation_id}"));
    }

    /// The text with each paragraph on one line, and a link wherever it names an operation in backticks.
    pub(super) fn complete(&self, text: &mut String) {
        let paragraphs: Vec<_> = text.split("\n\n").map(unwrap).collect();
        let joined = paragraphs.join("\n\n");
        let mut out = String::with_capacity(joined.len());
        for (index, part) in joined.split('`').enumerate() {
            match self.0.get(part) {
                Some(address) if index % 2 == 1 => out.push_str(&format!("[`{part}`]({address})")),
                _ if index % 2 == 1 => out.push_str(&format!("`{part}`")),
                _ => out.push_str(part),
            }
        }
        *text = out;
    }

    /// The same for every description in a schema.
    pub(super) fn complete_schema(&self, schema: &mut RefOr<Schema>) {
        let Ok(mut value) = serde_json::to_value(&*schema) else { return };
        self.complete_value(&mut value);
        if let Ok(completed) = serde_json::from_value(value) {
            *schema = completed;
        }
    }

    fn complete_value(&self, value: &mut Value) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    match value {
                        Value::String(text) if name == "description" => self.complete(text),
                        value => self.complete_value(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.complete_value(item)),
            _ => {}
        }
    }
}

/// A paragraph on one line; the lines of a list stay apart.
fn unwrap(paragraph: &str) -> String {
    let mut out = String::with_capacity(paragraph.len());
    for line in paragraph.lines() {
        if !out.is_empty() {
            out.push(if line.trim_start().starts_with("- ") { '\n' } else { ' ' });
        }
        out.push_str(line.trim());
    }
    out
}
