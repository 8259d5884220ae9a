//! The arguments of `usher backup` and `usher restore`.

use std::path::PathBuf;

use clap::Args;

/// Backs up database, configuration and keys, also while the service runs, into one encrypted file.
///
/// The file is a tar file in an age file. Without an option that says how to encrypt, it asks for a passphrase on a
/// terminal. Settings that the service has from its environment are part of the backup if this command has them too. An
/// embedded Lightning node's channels are not: an old copy of them loses money.
#[derive(Debug, Args)]
pub struct BackupCommand {
    /// The file to make. If it is a folder, a file is made in it that is named after the time. `-`: standard output.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Encrypts with the passphrase in this file. `-`: standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recipient", "unencrypted"])]
    pub passphrase_file: Option<PathBuf>,
    /// Encrypts to the owner of this age public key (`age1…`); may be given several times.
    #[arg(long, value_name = "AGE_PUBLIC_KEY", conflicts_with = "unencrypted")]
    pub recipient: Vec<String>,
    /// Does not encrypt. Whoever reads the file has the keys and the money.
    #[arg(long)]
    pub unencrypted: bool,
}

/// Restores a backup into the data directory, which must be missing or empty.
///
/// Nothing is there before everything was verified. The original service must never run again: two services with one
/// key and one wallet lose money.
#[derive(Debug, Args)]
pub struct RestoreCommand {
    /// The backup. `-`: standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The file with the passphrase. `-`: standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["identity_file", "unencrypted"])]
    pub passphrase_file: Option<PathBuf>,
    /// The file with the age secret key, as `age-keygen` writes it.
    #[arg(long, value_name = "FILE", conflicts_with = "unencrypted")]
    pub identity_file: Option<PathBuf>,
    /// The backup is not encrypted.
    #[arg(long)]
    pub unencrypted: bool,
    /// Refuses any other file than the one with this SHA-256, which `usher backup` printed.
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
}
