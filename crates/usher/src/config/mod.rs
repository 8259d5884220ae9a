//! Configuration: `config.toml` in the data directory, then `SERVICE__…` environment variables.
//!
//! One table ([`keys`]) drives everything: what is parsed, the types, the names of the environment variables, the
//! commented reference (`usher config default`) and the list of what is in force (`usher config check`).
//!
//! The way through: a layer of given values is read from the file ([`mod@file`]) and from the environment
//! ([`environment`]), the later one wins ([`layers`]), each key's value is read as its type ([`setting`]), and what
//! concerns several keys is checked at the end ([`checks`]). Mistakes are gathered all the way, so that an operator
//! sees all of them at once. **No mistake ever repeats a value**: it may be a secret pasted into the wrong line.

pub mod checks;
pub mod environment;
pub mod file;
pub mod keys;
pub mod layers;
pub mod mistake;
pub mod reader;
pub mod reference;
pub mod report;
pub mod setting;
pub mod suggestion;
pub mod table;

#[cfg(test)]
mod tests;

pub use keys::Config;
pub use layers::{Loaded, Source, load};
pub use mistake::{Mistake, Origin};
