//! The commented reference: every key with its description, default and environment variable.

use std::fmt::Write as _;

use super::key::Key;
use super::keys::SECTIONS;

const INTRODUCTION: &str = "\
# Configuration of Usher: all keys.
#
# Save this as `config.toml` in the data directory (`--data-dir`, else `SERVICE_DATA_DIR`, else `~/.usher`) and uncomment
# the settings you change. A line with a `#` shows the default, or an example if there is no default.
# The environment variable below a key overrides the file. A secret may also be in a file of its own: its path goes into
# the variable that ends with `_FILE`, or the key that ends with `_file`. Relative paths start at the data directory. Lists
# in variables are separated by commas. `usher config check` shows the settings in force and all errors.
";

/// A setting for a configuration file.
#[derive(Clone)]
pub struct Assignment {
    /// The full name of the key, such as `wallet.nwc.url`.
    pub key: &'static str,
    /// Whether the value is the path of a file with the actual value.
    pub is_file: bool,
    /// The value as TOML.
    pub value: String,
}

/// The reference as text, which is itself a configuration file with all defaults.
pub fn text() -> String {
    with_settings(INTRODUCTION, &[])
}

/// A configuration file with an introduction and the whole reference, with these settings and defaults for all others.
pub fn with_settings(introduction: &str, settings: &[Assignment]) -> String {
    let mut out = introduction.to_owned();
    for section in SECTIONS {
        out.push('\n');
        comment(&mut out, section.doc);
        if !section.name.is_empty() {
            line(&mut out, format_args!("[{}]", section.name));
        }
        for key in section.keys {
            out.push('\n');
            describe(&mut out, key, settings.iter().find(|setting| setting.key == key.name));
        }
    }
    out
}

fn describe(out: &mut String, key: &Key, given: Option<&Assignment>) {
    comment(out, key.doc);
    let required = if key.required { " Required." } else { "" };
    let (expected, variable) = ((key.expected)(), key.variable());
    match key.file_variable() {
        Some(file) => line(out, format_args!("# Must be {expected}.{required}\n# {variable} or {file}")),
        None => line(out, format_args!("# Must be {expected}.{required}\n# {variable}")),
    }
    match given {
        Some(given) => {
            let suffix = if given.is_file { "_file" } else { "" };
            line(out, format_args!("{}{suffix} = {}", key.short(), given.value));
        }
        None => line(out, format_args!("#{} = {}", key.short(), key.default.unwrap_or(key.example))),
    }
}

fn comment(out: &mut String, doc: &[&str]) {
    for text in doc {
        line(out, format_args!("# {}", text.trim()));
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}
