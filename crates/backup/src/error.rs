use std::io;
use std::path::PathBuf;

use crate::manifest::FORMAT;

/// Why a backup cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is truncated, or an encrypted part was changed.
    #[error("the backup is damaged or incomplete")]
    Unreadable(#[source] io::Error),
    /// The age file is ASCII-armored.
    #[error("the file is an ASCII-armored age file: decrypt it with `age --decrypt` first")]
    Armored,
    /// A key was given for a backup that is not encrypted.
    #[error(
        "the file is not encrypted, so nobody knows who has read or changed it: it is restored only with --unencrypted"
    )]
    NotEncrypted,
    /// The backup is encrypted with a passphrase.
    #[error("the backup is encrypted with a passphrase: give --passphrase-file")]
    NeedsPassphrase,
    /// The backup is encrypted to recipients.
    #[error("the backup is encrypted to an age recipient: give the file with its secret key as --identity-file")]
    NeedsIdentity,
    /// The passphrase is wrong.
    #[error("wrong passphrase")]
    WrongPassphrase,
    /// None of the identities is a recipient.
    #[error("the backup is encrypted to other recipients than those of this identity file")]
    WrongIdentity,
    /// The scrypt work factor exceeds the limit.
    #[error("checking the passphrase would take more than 1 GiB of memory: this program made no such backup")]
    ExcessiveWork,
    /// The age header exceeds the limit.
    #[error("the file has no age header of at most 16 KiB: this program made no such backup")]
    LongHeader,
    /// The file does not start with a valid manifest.
    #[error("the file is not a backup of this program: {0}")]
    Foreign(String),
    /// It was made by a newer version.
    #[error(
        "the backup has format {found}, made by version {version} ({commit}); this program knows format {FORMAT}: restore \
         it with that version or a newer one"
    )]
    Newer {
        /// The format of the backup.
        found: u32,
        /// The version of the program that made the backup.
        version: String,
        /// The commit of that program.
        commit: String,
    },
    /// The files do not match the manifest, or the manifest is invalid.
    #[error("the backup is refused: {0}")]
    Refused(String),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}
