//! The output of `usher config check`.

use std::fmt::Write as _;

use super::load::{Loaded, Source};

/// The values in force, one key per line with its origin; no secrets.
pub fn in_force(source: &Source, loaded: &Loaded) -> String {
    let file = source.file();
    let there = if file.exists() { "" } else { " (missing)" };
    let mut out = format!("# data directory: {}\n# file: {}{there}\n", source.data_dir.display(), file.display());
    let width = loaded.in_force.iter().map(|entry| entry.key.name.len() + entry.shown.len()).max().unwrap_or(0).min(60);
    for entry in &loaded.in_force {
        let left = format!("{} = {}", entry.key.name, entry.shown);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{left:<width$}  # {}", entry.origin, width = width + 3);
    }
    out
}

/// Warnings and errors, one per line.
pub fn problems(loaded: &Loaded) -> Vec<String> {
    let warnings = loaded.warnings.iter().map(|warning| format!("warning: {warning}"));
    warnings.chain(loaded.errors.iter().map(|error| format!("error: {error}"))).collect()
}

/// The next step if nothing is configured yet.
pub fn first_step(source: &Source, loaded: &Loaded) -> Option<String> {
    let nothing = !source.file().exists() && loaded.errors.iter().any(|error| error.origin.is_none());
    nothing.then(|| format!("run `usher init` to make a configuration in {}", source.data_dir.display()))
}
