//! A layer of given values: those of the file, or of the environment.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::{ConfigError, Origin};
use super::key::Key;
use super::setting::RawValue;
use super::text_file::read_file;

/// Given values by key.
pub type Layer = BTreeMap<&'static str, (RawValue, Origin)>;

/// A given value, before files of secrets are read.
pub struct Entry {
    /// Its key.
    pub key: &'static Key,
    /// Whether the value is the path of a file with the actual value.
    pub is_file: bool,
    /// The value.
    pub given: RawValue,
    /// Where it is given.
    pub origin: Origin,
}

/// Reads the files named by entries of one layer, and finds duplicate keys.
pub fn resolve(entries: Vec<Entry>, data_dir: &Path, errors: &mut Vec<ConfigError>) -> Layer {
    let mut layer = Layer::new();
    for Entry { key, is_file, given, origin } in entries {
        if let Some((_, first)) = layer.get(key.name) {
            errors.push(ConfigError::at(
                origin,
                format!("{} is set twice, by value and by file; the other one is at {first}", key.name),
            ));
            continue;
        }
        let (given, origin) = match (is_file, given) {
            (false, given) | (true, given @ RawValue::Unusable) => (given, origin),
            (true, RawValue::Text(path)) => secret_file(key, &data_dir.join(path), origin, errors),
            (true, _) => {
                errors.push(ConfigError::at(
                    origin.clone(),
                    format!("the path of the file for {} must be text", key.name),
                ));
                (RawValue::Unusable, origin)
            }
        };
        layer.insert(key.name, (given, origin));
    }
    layer
}

/// Reads a secret from its file, without the line end.
fn secret_file(key: &Key, path: &Path, named_by: Origin, errors: &mut Vec<ConfigError>) -> (RawValue, Origin) {
    let origin = Origin::SecretFile(path.to_owned(), Box::new(named_by));
    match read_file(path) {
        Ok(text) => (RawValue::Text(text.trim_end_matches(['\r', '\n']).to_owned()), origin),
        Err(error) => {
            errors.push(ConfigError::at(origin.clone(), format!("the file for {} cannot be read: {error}", key.name)));
            (RawValue::Unusable, origin)
        }
    }
}
