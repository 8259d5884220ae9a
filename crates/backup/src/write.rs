//! Writes a backup.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};

use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use crate::encryption::Protection;
use crate::hashed::Hashed;
use crate::manifest::{Description, FORMAT, FileEntry, MANIFEST, Manifest};

/// A file to back up.
pub struct Source {
    /// Its path in the backup, relative to the folder into which it is restored.
    pub name: String,
    /// The configuration key that names it.
    pub setting: Option<String>,
    /// The absolute path in that key, if it does not depend on the data directory.
    pub path: Option<String>,
    /// Its content.
    pub content: Content,
}

/// The content of a file.
pub enum Content {
    /// The bytes.
    Bytes(Vec<u8>),
    /// An open file, which must not change while the backup is written.
    File(File),
}

/// Why a backup cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The names of the files make no valid backup.
    #[error("these files make no backup: {0}")]
    Unsuitable(String),
    /// A file cannot be read.
    #[error("{name} cannot be read")]
    Source {
        /// Its name in the backup.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file changed while it was read.
    #[error("{0} has changed while it was read")]
    Changed(String),
    /// The backup cannot be written.
    #[error("the backup cannot be written")]
    Out(#[source] io::Error),
}

/// Writes a complete backup and returns `out`. After an error the output lacks its end and cannot be read.
pub fn write<W: Write>(
    out: W,
    protection: &Protection,
    description: Description,
    mut sources: Vec<Source>,
) -> Result<W, WriteError> {
    let created_at = description.created_at;
    let files = sources.iter_mut().map(entry).collect::<Result<_, _>>()?;
    let manifest = Manifest { format: FORMAT, description, files };
    if let Some(problem) = manifest.problem() {
        return Err(WriteError::Unsuitable(problem));
    }
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| WriteError::Out(error.into()))?;

    let mut tar = Builder::new(protection.wrap(out).map_err(WriteError::Out)?);
    append(&mut tar, MANIFEST, text.len() as u64, created_at, &mut text.as_slice())?;
    for (file, source) in manifest.files.iter().zip(sources) {
        let content: Box<dyn Read> = match source.content {
            Content::Bytes(bytes) => Box::new(io::Cursor::new(bytes)),
            Content::File(file) => Box::new(file),
        };
        let mut content = Hashed::new(content.take(file.bytes));
        append(&mut tar, &file.name, file.bytes, created_at, &mut content)?;
        if content.sha256() != file.sha256 {
            return Err(WriteError::Changed(file.name.clone()));
        }
    }
    let sealed = tar.into_inner().map_err(WriteError::Out)?;
    let mut out = sealed.finish().map_err(WriteError::Out)?;
    out.flush().map_err(WriteError::Out)?;
    Ok(out)
}

/// Size and SHA-256 of a file, which is rewound for the second reading.
fn entry(source: &mut Source) -> Result<FileEntry, WriteError> {
    let mut hash = Sha256::new();
    let bytes = match &mut source.content {
        Content::Bytes(bytes) => {
            hash.update(&*bytes);
            bytes.len() as u64
        }
        Content::File(file) => file
            .seek(SeekFrom::Start(0))
            .and_then(|_| io::copy(file, &mut hash))
            .and_then(|bytes| file.seek(SeekFrom::Start(0)).map(|_| bytes))
            .map_err(|error| WriteError::Source { name: source.name.clone(), source: error })?,
    };
    Ok(FileEntry {
        name: source.name.clone(),
        bytes,
        sha256: hex::encode(hash.finalize()),
        setting: source.setting.clone(),
        path: source.path.clone(),
    })
}

fn append<W: Write>(
    tar: &mut Builder<W>,
    name: &str,
    bytes: u64,
    created_at: u64,
    content: &mut dyn Read,
) -> Result<(), WriteError> {
    // No extensions, for compatibility.
    let mut header = Header::new_ustar();
    header.set_path(name).map_err(|_| WriteError::Unsuitable(format!("the name {name:?} is too long")))?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o600);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(created_at);
    header.set_size(bytes);
    header.set_cksum();
    tar.append(&header, content).map_err(WriteError::Out)
}
