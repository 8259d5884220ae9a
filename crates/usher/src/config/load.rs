//! Loads a configuration: file and environment, the values in force, and errors.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use usher_engine::UnixMillis;

use super::cross_key_checks;
use super::error::{ConfigError, Origin};
use super::file::FileLayer;
use super::given_values::Layer;
use super::key_table_macro::FromReader as _;
use super::keys::Config;
use super::reader::{InForce, Reader};
use super::setting::BoundedInteger;
use super::{environment, file, keys};

/// The sources of a configuration.
#[derive(Debug)]
pub struct Source {
    /// The data directory, absolute.
    pub data_dir: PathBuf,
    /// The environment.
    pub variables: Vec<(OsString, OsString)>,
    /// The current time, for expiring subkey proofs.
    pub now: UnixMillis,
}

impl Source {
    /// The path of the configuration file, which may be missing.
    pub fn file(&self) -> PathBuf {
        self.data_dir.join("config.toml")
    }
}

/// A configuration with its warnings and errors.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration; `None` if there are errors.
    pub config: Option<Config>,
    /// The values in force, by key, as far as they could be read.
    pub in_force: Vec<InForce>,
    /// Warnings, one line each.
    pub warnings: Vec<String>,
    /// Errors that prevent a start, one line each.
    pub errors: Vec<ConfigError>,
    /// The named files of secrets with their keys, including overridden ones.
    pub secret_files: Vec<(&'static str, PathBuf)>,
    /// The service's URL on this machine, even if other settings have errors; `None` if unknown.
    pub base_url: Option<String>,
}

impl Loaded {
    /// The keys whose values have changed.
    pub fn changed_since(&self, before: &Self) -> Vec<&'static str> {
        let was = |name: &str| before.in_force.iter().find(|entry| entry.key.name == name);
        let changed = self
            .in_force
            .iter()
            .filter(|entry| was(entry.key.name).is_none_or(|before| before.fingerprint != entry.fingerprint));
        changed.map(|entry| entry.key.name).collect()
    }

    /// This configuration with the `before` values of these keys.
    #[must_use]
    pub fn keeping(mut self, before: &Self, names: &[&'static str]) -> Self {
        for entry in self.in_force.iter_mut().filter(|entry| names.contains(&entry.key.name)) {
            if let Some(before) = before.in_force.iter().find(|before| before.key.name == entry.key.name) {
                entry.shown.clone_from(&before.shown);
                entry.origin.clone_from(&before.origin);
                entry.fingerprint = before.fingerprint;
            }
        }
        self
    }

    /// Whether a key was given instead of having its default.
    pub fn is_set(&self, name: &str) -> bool {
        self.in_force.iter().any(|entry| entry.key.name == name && entry.origin != Origin::Default)
    }
}

/// Loads and validates a configuration.
pub fn load(source: &Source) -> Loaded {
    let mut errors = Vec::new();
    let file = file::layer(&source.file(), &source.data_dir, &mut errors);
    let variables = source.variables.iter().cloned();
    let environment = environment::layer(variables, &source.data_dir, &mut errors);

    let mut warnings = Vec::new();
    cross_key_checks::permissions(&source.file(), &file.given, &mut warnings);
    cross_key_checks::permissions(&source.file(), &environment, &mut warnings);
    cross_key_checks::folder(&source.data_dir, &mut warnings);
    evaluate(file, environment, source, warnings, errors)
}

/// Loads and validates this text as `config.toml`, without the environment.
pub fn load_text(text: &str, source: &Source) -> Loaded {
    let mut errors = Vec::new();
    let file = file::layer_of_text(text, &source.file(), &source.data_dir, &mut errors);
    evaluate(file, Layer::default(), source, Vec::new(), errors)
}

/// The same with the environment, which overrides the text.
pub fn load_text_and_environment(text: &str, source: &Source) -> Loaded {
    let mut errors = Vec::new();
    let file = file::layer_of_text(text, &source.file(), &source.data_dir, &mut errors);
    let environment = environment::layer(source.variables.iter().cloned(), &source.data_dir, &mut errors);
    evaluate(file, environment, source, Vec::new(), errors)
}

fn evaluate(
    file: FileLayer,
    environment: Layer,
    source: &Source,
    mut warnings: Vec<String>,
    mut errors: Vec<ConfigError>,
) -> Loaded {
    let secret_files = secret_files(&file.given).chain(secret_files(&environment)).collect();
    let mut given = file.given;
    given.extend(environment);

    let mut reader = Reader::new(keys::find, &given, file.incomplete);
    let config = Config::from_reader(&mut reader);
    errors.append(&mut reader.errors);

    cross_key_checks::together(&reader, source.now, &mut errors);
    if let Some(config) = &config {
        cross_key_checks::warnings(config, &reader, source.now, &mut warnings);
    }
    let base_url = base_url(&reader);
    let in_force = reader.in_force;
    Loaded { config: config.filter(|_| errors.is_empty()), in_force, warnings, errors, secret_files, base_url }
}

fn secret_files(layer: &Layer) -> impl Iterator<Item = (&'static str, PathBuf)> {
    layer.iter().filter_map(|(key, (_, origin))| match origin {
        Origin::SecretFile(path, _) => Some((*key, path.clone())),
        _ => None,
    })
}

fn base_url(reader: &Reader<'_>) -> Option<String> {
    let port = reader.peek::<BoundedInteger<0, 65535>>("info.listen_port")?.get();
    let address = SocketAddr::new(reader.peek("info.listen_address")?, u16::try_from(port).ok()?);
    (port != 0).then(|| format!("http://{}", from_this_machine(address)))
}

/// The address by which this machine reaches a listener.
pub(crate) fn from_this_machine(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
