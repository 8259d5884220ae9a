//! Names in a backup of files that have no place in a data directory.

/// The file of the configuration.
pub(in crate::command) const CONFIGURATION: &str = "config.toml";

/// Their folder, in a backup and in what is restored from it.
pub(in crate::command) const EXTRA: &str = "restored";

/// The settings that were in the environment.
pub(in crate::command) const ENVIRONMENT: &str = "restored/environment.json";

/// The list of the channels of an embedded Lightning node.
pub(in crate::command) const CHANNELS: &str = "restored/lightning-channels.json";
