//! The file format of backups: a [tar](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html) file of
//! regular files in an [age](https://age-encryption.org/v1) file, which `age --decrypt FILE | tar x` opens too.
//!
//! The first file is the [`Manifest`]: it lists all others in order, with size and SHA-256. The reader refuses a backup whose
//! files differ from the manifest in name, order, size or content.

mod encryption;
mod error;
mod hashed;
mod manifest;
mod read;
mod write;

pub use encryption::{IdentityError, Key, Protection, RecipientError};
pub use error::ReadError;
pub use hashed::Hashed;
pub use manifest::{DatabaseKind, Description, FileEntry, MANIFEST, Manifest};
pub use read::read;
pub use write::{Content, Source, WriteError, write};

#[cfg(test)]
mod tests;
