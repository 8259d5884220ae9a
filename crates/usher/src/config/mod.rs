//! Configuration: `config.toml` in the data directory, then `SERVICE__…` environment variables.
//!
//! One table ([`keys`]) defines everything: parsing, types, the names of the environment variables, the commented
//! reference (`usher config default`) and the list of the values in force (`usher config check`).
//!
//! One layer of values is read from the file ([`mod@file`]) and one from the environment ([`environment`]), which
//! overrides it ([`mod@load`]). Each value is parsed as the type of its key ([`setting`]), and checks of several keys
//! follow ([`cross_key_checks`]). Errors are collected, so that an operator sees all of them at once. **No error
//! contains a value**: it may be a secret pasted into the wrong line.

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
mod notice_checks;
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
pub(crate) use load::from_this_machine;
pub use load::{Loaded, Source, load, load_text, load_text_and_environment};
