//! Names in a backup of files from outside the data directory.

pub(in crate::command) const CONFIGURATION: &str = "config.toml";

/// Their folder in a backup, and after a restore.
pub(in crate::command) const EXTRA: &str = "restored";

pub(in crate::command) const ENVIRONMENT: &str = "restored/environment.json";

/// The list of the channels of an embedded Lightning node.
pub(in crate::command) const CHANNELS: &str = "restored/lightning-channels.json";
