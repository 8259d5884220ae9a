//! What `usher config check` says.

use std::fmt::Write as _;

use super::layers::{Loaded, Source};

/// What is in force, one key per line with where it comes from; no secrets.
pub fn in_force(source: &Source, loaded: &Loaded) -> String {
    let file = source.file();
    let there = if file.exists() { "" } else { " (not there)" };
    let mut out = format!("# data directory: {}\n# file: {}{there}\n", source.data_dir.display(), file.display());
    let width = loaded.in_force.iter().map(|entry| entry.key.name.len() + entry.shown.len()).max().unwrap_or(0).min(60);
    for entry in &loaded.in_force {
        let left = format!("{} = {}", entry.key.name, entry.shown);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{left:<width$}  # {}", entry.origin, width = width + 3);
    }
    out
}

/// Warnings and mistakes, one per line.
pub fn problems(loaded: &Loaded) -> Vec<String> {
    let warnings = loaded.warnings.iter().map(|warning| format!("warning: {warning}"));
    warnings.chain(loaded.mistakes.iter().map(|mistake| format!("mistake: {mistake}"))).collect()
}
