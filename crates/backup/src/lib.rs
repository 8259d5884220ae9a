//! The file format of backups: a [tar](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html) file of
//! regular files in an [age](https://age-encryption.org/v1) file, so that `age --decrypt FILE | tar x` opens it too.
//!
//! The first file is the [`Manifest`]: it names all others in their order, with size and SHA-256. A reader believes nothing
//! else: a file that is not the next one of the manifest, or is another than it says, is refused.

mod encryption;
mod hashed;
mod manifest;
mod read;
mod write;

pub use encryption::{IdentityError, Key, Protection, RecipientError};
pub use hashed::Hashed;
pub use manifest::{DatabaseKind, Description, FileEntry, MANIFEST, Manifest};
pub use read::{ReadError, read};
pub use write::{Content, Source, WriteError, write};

#[cfg(test)]
mod tests;
