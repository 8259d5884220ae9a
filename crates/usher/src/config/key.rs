//! The keys of the configuration: names, descriptions and defaults.

/// A section of the configuration file.
#[derive(Debug)]
pub struct Section {
    /// The table's name in the file, such as `wallet.nwc`; empty for keys outside of all tables.
    pub name: &'static str,
    /// Its description, one entry per line.
    pub doc: &'static [&'static str],
    /// Its keys.
    pub keys: &'static [Key],
}

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// Its full name, such as `wallet.nwc.url`.
    pub name: &'static str,
    /// Its description, one entry per line.
    pub doc: &'static [&'static str],
    /// What a value must be: completes "must be …".
    pub expected: fn() -> String,
    /// An example for the reference, as TOML, for keys without default.
    pub example: &'static str,
    /// Its default, as TOML.
    pub default: Option<&'static str>,
    /// Whether the service requires it to start.
    pub required: bool,
    /// Whether its value is never shown, and may come from a separate file.
    pub secret: bool,
}

impl Key {
    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("SERVICE__{}", self.name.to_ascii_uppercase().replace('.', "__"))
    }

    /// The environment variable with the path of the file that has its value; only for secrets.
    pub fn file_variable(&self) -> Option<String> {
        self.secret.then(|| format!("{}_FILE", self.variable()))
    }

    /// The key with the path of the file that has its value; only for secrets.
    pub fn file_name(&self) -> Option<String> {
        self.secret.then(|| format!("{}_file", self.name))
    }

    /// Its name within its section.
    pub fn short(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

/// The full name of a key, of its section's name, a full stop and its own name.
pub const fn full_name(joined: &'static str) -> &'static str {
    match joined.as_bytes() {
        [b'.', ..] => joined.split_at(1).1,
        _ => joined,
    }
}
