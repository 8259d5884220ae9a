//! Configuration: `config.toml` in the data directory, then `SERVICE__…` environment variables.
//!
//! One table ([`keys`]) drives everything: what is parsed, the types, the names of the environment variables, the
//! commented reference (`usher config default`) and the list of what is in force (`usher config check`).
//!
//! A layer of given values is read from the file ([`mod@file`]) and one from the environment ([`environment`]). The later
//! one wins ([`mod@load`]), each value is read as the type of its key ([`setting`]), and what concerns several keys is
//! checked at the end ([`cross_key_checks`]). Errors are collected on the way, so that an operator sees all of them at once.
//! **No error repeats a value**: it may be a secret pasted into the wrong line.

pub mod cross_key_checks;
mod embedded_lightning_checks;
pub mod environment;
pub mod error;
pub mod file;
pub mod given_values;
pub mod key;
pub mod key_table_macro;
pub mod keys;
pub mod load;
pub mod passkey_checks;
pub mod reader;
pub mod reference;
pub mod report;
pub mod setting;
pub mod suggestion;
pub mod text_file;
pub mod toml_value;

#[cfg(test)]
mod tests;

pub use error::{ConfigError, Origin};
pub use keys::Config;
pub use load::{Loaded, Source, load, load_text, load_text_and_environment};
