//! The layers of configuration, from the outermost file to the value in force.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use usher_engine::UnixMillis;

use super::checks;
use super::keys::Config;
use super::mistake::{Mistake, Origin};
use super::reader::{InForce, Layer, Reader};
use super::setting::Given;
use super::table::{FromReader as _, Key};
use super::{environment, file};

/// Largest configuration or secret file that is read, in bytes: some hundred times what one needs.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// From what a configuration is loaded.
#[derive(Debug)]
pub struct Source {
    /// The data directory, absolute.
    pub data_dir: PathBuf,
    /// The environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Now: a subkey proof is only valid for a time.
    pub now: UnixMillis,
}

impl Source {
    /// Where the configuration file is, if there is one.
    pub fn file(&self) -> PathBuf {
        self.data_dir.join("config.toml")
    }
}

/// A configuration and what there is to say about it.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration; `None` when there are mistakes.
    pub config: Option<Config>,
    /// What is in force, by key, as far as it could be read.
    pub in_force: Vec<InForce>,
    /// What an operator should know: one line each.
    pub warnings: Vec<String>,
    /// What keeps the service from starting: one line each.
    pub mistakes: Vec<Mistake>,
}

impl Loaded {
    /// The keys whose values are others than they were.
    pub fn changed_since(&self, before: &Self) -> Vec<&'static str> {
        let was = |name: &str| before.in_force.iter().find(|entry| entry.key.name == name);
        let changed = self
            .in_force
            .iter()
            .filter(|entry| was(entry.key.name).is_none_or(|before| before.fingerprint != entry.fingerprint));
        changed.map(|entry| entry.key.name).collect()
    }

    /// The same, but for these keys, which are as they were `before`.
    #[must_use]
    pub fn keeping(mut self, before: &Self, names: &[&'static str]) -> Self {
        for entry in self.in_force.iter_mut().filter(|entry| names.contains(&entry.key.name)) {
            if let Some(before) = before.in_force.iter().find(|before| before.key.name == entry.key.name) {
                entry.fingerprint = before.fingerprint;
            }
        }
        self
    }

    /// Whether a key was given somewhere, rather than left to its default.
    pub fn is_set(&self, name: &str) -> bool {
        self.in_force.iter().any(|entry| entry.key.name == name && entry.origin != Origin::Default)
    }
}

/// Loads and checks a configuration.
pub fn load(source: &Source) -> Loaded {
    let mut mistakes = Vec::new();
    let file = file::layer(&source.file(), &source.data_dir, &mut mistakes);
    let variables = source.variables.iter().cloned();
    let environment = environment::layer(variables, &source.data_dir, &mut mistakes);

    let mut warnings = Vec::new();
    checks::permissions(&source.file(), &file.given, &mut warnings);
    checks::permissions(&source.file(), &environment, &mut warnings);
    let mut given = file.given;
    given.extend(environment);

    let mut reader = Reader::new(&given, file.incomplete);
    let config = Config::from_reader(&mut reader);
    mistakes.append(&mut reader.mistakes);

    checks::together(&reader, source.now, &mut mistakes);
    if let Some(config) = &config {
        checks::warnings(config, &reader, source.now, &mut warnings);
    }
    let in_force = reader.in_force;
    Loaded { config: config.filter(|_| mistakes.is_empty()), in_force, warnings, mistakes }
}

/// A value as a layer gives it, before files of secrets are read.
pub struct Entry {
    /// Its key.
    pub key: &'static Key,
    /// It is not the value but the path of the file that holds it.
    pub is_file: bool,
    /// The value.
    pub given: Given,
    /// Where it is given.
    pub origin: Origin,
}

/// Reads the files that entries of one layer name, and finds keys given twice.
pub fn resolve(entries: Vec<Entry>, data_dir: &Path, mistakes: &mut Vec<Mistake>) -> Layer {
    let mut layer = Layer::new();
    for Entry { key, is_file, given, origin } in entries {
        if let Some((_, first)) = layer.get(key.name) {
            mistakes.push(Mistake::at(
                origin,
                format!("{} is given twice, by value and by file; the other is at {first}", key.name),
            ));
            continue;
        }
        let (given, origin) = match (is_file, given) {
            (false, given) | (true, given @ Given::Unusable) => (given, origin),
            (true, Given::Text(path)) => secret_file(key, &data_dir.join(path), origin, mistakes),
            (true, _) => {
                mistakes.push(Mistake::at(origin.clone(), format!("the file for {} must be named in text", key.name)));
                (Given::Unusable, origin)
            }
        };
        layer.insert(key.name, (given, origin));
    }
    layer
}

/// Reads a secret from its file without the line's end.
fn secret_file(key: &Key, path: &Path, named_by: Origin, mistakes: &mut Vec<Mistake>) -> (Given, Origin) {
    let origin = Origin::SecretFile(path.to_owned(), Box::new(named_by));
    match read_file(path) {
        Ok(text) => (Given::Text(text.trim_end_matches(['\r', '\n']).to_owned()), origin),
        Err(error) => {
            mistakes.push(Mistake::at(origin.clone(), format!("the file for {} cannot be read: {error}", key.name)));
            (Given::Unusable, origin)
        }
    }
}

/// Reads a text file of bounded size. Only a regular file is read: a named pipe may keep its reader waiting for ever.
pub fn read_file(path: &Path) -> std::io::Result<String> {
    fail::fail_point!("read-configuration-file");
    let file = open_without_waiting(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_FILE_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

/// Opens a file for reading, and a named pipe without waiting for its writer.
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options.open(path)
}
