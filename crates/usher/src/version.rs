//! Which program this is.

/// The version, as `Cargo.toml` has it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit it was built from, or `unknown`.
pub const COMMIT: &str = env!("USHER_COMMIT");

/// Both, as `--version` says them.
pub const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("USHER_COMMIT"), ")");
