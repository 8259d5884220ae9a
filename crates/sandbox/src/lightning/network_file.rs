use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::ledger::Ledger;
use crate::private_file;

/// Largest file that is read, in bytes: 2,000 invoices and as many payments of 1 KiB, with room to spare.
const MAX_BYTES: u64 = 16 << 20;

/// Why a network's file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum NetworkFileError {
    #[error("the Lightning data at {} cannot be read or written", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// It is something else. Says where, not what: there are keys in it.
    #[error("{} is not a valid Lightning data file (line {line}, column {column})", path.display())]
    NotANetwork {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
}

pub(super) fn load(path: &Path) -> Result<Option<Ledger>, NetworkFileError> {
    let io = |source| NetworkFileError::Io { path: path.to_owned(), source };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(io)?;
    let mut ledger: Ledger = serde_json::from_str(&text).map_err(|error| NetworkFileError::NotANetwork {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
    })?;
    ledger.reindex();
    Ok(Some(ledger))
}

/// Writes the ledger atomically: a reader finds the old one or the new one, also after a crash.
pub(super) fn save(path: &Path, ledger: &Ledger) -> Result<(), NetworkFileError> {
    let io = |source| NetworkFileError::Io { path: path.to_owned(), source };
    let text = serde_json::to_vec(ledger).map_err(|error| io(error.into()))?;
    private_file::replace(path, &text).map_err(io)
}
