//! Values from `SERVICE__SECTION__KEY` environment variables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::error::{ConfigError, Origin};
use super::given_values::{Entry, Layer, resolve};
use super::key::Key;
use super::keys;
use super::setting::RawValue;
use super::suggestion::{nearest, presentable};

const PREFIX: &str = "SERVICE__";

/// The layer of the environment; relative paths of secrets' files are resolved in `data_dir`.
pub fn layer(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    data_dir: &Path,
    errors: &mut Vec<ConfigError>,
) -> Layer {
    let mut known: BTreeMap<String, (&'static Key, bool)> = BTreeMap::new();
    for key in keys::all() {
        known.insert(key.variable(), (key, false));
        known.extend(key.file_variable().map(|name| (name, (key, true))));
    }
    // Sorted, so that errors have a fixed order.
    let given: BTreeMap<String, OsString> = variables
        .into_iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();

    let mut entries = Vec::new();
    for (name, value) in given {
        match known.get(&name) {
            None => errors.push(unknown(&name, known.keys())),
            Some((key, is_file)) => {
                let origin = Origin::Variable(name);
                let given = value.into_string().map(RawValue::Text).unwrap_or_else(|_| {
                    errors.push(ConfigError::at(origin.clone(), format!("{} is not UTF-8", key.name)));
                    RawValue::Unusable
                });
                entries.push(Entry { key, is_file: *is_file, given, origin });
            }
        }
    }
    resolve(without_unset(entries), data_dir, errors)
}

/// Compose files and service managers write an unset variable as an empty one: an empty secret beside its file, and an
/// empty file name, are ignored.
fn without_unset(entries: Vec<Entry>) -> Vec<Entry> {
    let is_unset = |entry: &Entry| matches!(&entry.given, RawValue::Text(text) if text.is_empty());
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for mut entry in entries {
        entry.is_file &= !is_unset(&entry);
        match kept.iter_mut().find(|other| other.key.name == entry.key.name) {
            Some(_) if is_unset(&entry) => {}
            Some(other) if is_unset(other) => *other = entry,
            _ => kept.push(entry),
        }
    }
    kept
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> ConfigError {
    if !presentable(name) {
        return ConfigError::missing("an environment variable that begins with SERVICE__ is not a known key");
    }
    let is_file = name.ends_with("_FILE");
    let hint = match name.strip_suffix("_FILE").filter(|stem| keys::all().any(|key| key.variable() == *stem)) {
        Some(stem) => format!("only secrets come from a file; set {stem}"),
        None => {
            match nearest(name, known.map(String::as_str).filter(|known| known.ends_with("_FILE") == is_file), "__") {
                Some(near) => format!("did you mean {near}?"),
                None => "see `usher config default`".to_owned(),
            }
        }
    };
    ConfigError::at(Origin::Variable(name.to_owned()), format!("unknown variable; {hint}"))
}
