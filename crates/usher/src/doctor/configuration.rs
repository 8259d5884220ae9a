//! Checks the configuration and its files.

use super::finding::Finding;
use crate::config::{Loaded, Source, report};
use crate::failure::Failure;

const CHECK: &str = "configuration";

/// Its errors and warnings, or that all is well.
pub(super) fn check(source: &Source, loaded: &Loaded) -> Vec<Finding> {
    let file = source.file();
    let first_step = report::first_step(source, loaded);
    let advice = first_step.as_deref().unwrap_or("the service does not start until this is corrected");
    let mut findings: Vec<Finding> = loaded
        .errors
        .iter()
        .map(|error| Finding::fail(CHECK, error.to_string(), advice))
        .chain(loaded.warnings.iter().map(|warning| split(warning)))
        .collect();
    if findings.is_empty() {
        let from = if file.exists() { file.display().to_string() } else { format!("no {}", file.display()) };
        findings.push(Finding::ok(CHECK, format!("valid ({from})")));
    }
    findings
}

/// The finding if it could not be loaded at all.
pub(super) fn unreadable(failure: &Failure) -> Finding {
    Finding::fail(CHECK, failure.to_string(), "mount its file system again, or name other files")
}

/// A warning's advice follows its semicolon.
fn split(warning: &str) -> Finding {
    match warning.split_once("; ") {
        Some((message, advice)) => Finding::warn(CHECK, message, advice),
        None => Finding::warn(CHECK, warning, "see docs/configuration.md"),
    }
}
