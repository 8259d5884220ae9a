//! The commented reference: every key with its description, default and environment variable.

use std::fmt::Write as _;

use super::keys::SECTIONS;
use super::table::Key;

const INTRODUCTION: &str = "\
# Configuration of Usher: every key there is.
#
# Save this as `config.toml` in the data directory (`--data-dir`, else `SERVICE_DATA_DIR`, else `~/.usher`) and take the
# `#` away from what you set. What has a `#` before it shows the default, or an example where there is none.
# The environment variable named with a key overrides the file. A secret may also stand in a file of its own, which the
# variable with `_FILE` at its end (or the key with `_file` at its end) names; a relative path is taken under the data
# directory. Lists in variables are separated by commas. `usher config check` says what is in force and what is wrong.
";

/// The reference as text; it is itself a configuration file in which everything has its default.
pub fn text() -> String {
    let mut out = INTRODUCTION.to_owned();
    for section in SECTIONS {
        out.push('\n');
        comment(&mut out, section.doc);
        line(&mut out, format_args!("[{}]", section.name));
        for key in section.keys {
            out.push('\n');
            describe(&mut out, key);
        }
    }
    out
}

fn describe(out: &mut String, key: &Key) {
    comment(out, key.doc);
    if key.later {
        line(out, format_args!("# This version checks it but does not act on it yet."));
    }
    let required = if key.required { " Required." } else { "" };
    let (shape, variable) = ((key.shape)(), key.variable());
    match key.file_variable() {
        Some(file) => line(out, format_args!("# Must be {shape}.{required}\n# {variable} or {file}")),
        None => line(out, format_args!("# Must be {shape}.{required}\n# {variable}")),
    }
    line(out, format_args!("#{} = {}", key.short(), key.default.unwrap_or(key.example)));
}

fn comment(out: &mut String, doc: &[&str]) {
    for text in doc {
        line(out, format_args!("# {}", text.trim()));
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}
