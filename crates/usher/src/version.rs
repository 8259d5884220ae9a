//! The version of this program.

/// The version in `Cargo.toml`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit from which it was built, or `unknown`.
pub const COMMIT: &str = env!("USHER_COMMIT");

/// Both, as printed by `--version`.
pub const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("USHER_COMMIT"), ")");
