//! Reads a backup, which anybody may have made: whoever knows a recipient can encrypt to it.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tar::{Archive, Entry, EntryType};

use crate::encryption::Key;
use crate::manifest::{FORMAT, FileEntry, MANIFEST, MAX_MANIFEST_BYTES, Manifest};

/// Most that may follow the last file, in bytes: programs fill up to 10 KiB with zeros, tapes to more.
const MAX_PADDING: u64 = 1024 * 1024;

/// Why a backup was refused.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read to its end, or an encrypted part was changed.
    #[error("the backup is damaged or incomplete")]
    Unreadable(#[source] io::Error),
    /// It was encrypted as text.
    #[error("the file is an ASCII-armored age file: decrypt it with `age --decrypt` first")]
    Armored,
    /// A key was given, and it is not encrypted.
    #[error(
        "the file is not encrypted, so nobody knows who has read or changed it: it is restored only with --unencrypted"
    )]
    NotEncrypted,
    /// It is encrypted with a passphrase.
    #[error("the backup is encrypted with a passphrase: give --passphrase-file")]
    NeedsPassphrase,
    /// It is encrypted to recipients.
    #[error("the backup is encrypted to an age recipient: give the file with its secret key as --identity-file")]
    NeedsIdentity,
    /// The passphrase is another one.
    #[error("wrong passphrase")]
    WrongPassphrase,
    /// The identities are others.
    #[error("the backup is encrypted to other recipients than those of this identity file")]
    WrongIdentity,
    /// The passphrase is made to cost more than any program of ours makes it cost.
    #[error("checking the passphrase would take more than 1 GiB of memory: this program made no such backup")]
    ExcessiveWork,
    /// Its header takes too long to read.
    #[error("the file has no age header of at most 16 KiB: this program made no such backup")]
    LongHeader,
    /// There is no manifest where it must be.
    #[error("the file is not a backup of this program: {0}")]
    Foreign(String),
    /// A newer version has made it.
    #[error(
        "the backup has format {found}, made by version {version} ({commit}); this program knows format {FORMAT}: restore \
         it with that version or a newer one"
    )]
    Newer {
        /// Its format.
        found: u32,
        /// The version of the program that made it.
        version: String,
        /// The commit of that program.
        commit: String,
    },
    /// Something is not as the manifest says.
    #[error("the backup is refused: {0}")]
    Refused(String),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Reads a backup. `accept` is given the manifest, and returns the empty folder to write to: the manifest and all files are
/// written there for their owner alone, and their contents are on disk when this returns. After an error some of them are
/// there, and nothing says that they are right.
///
/// # Errors
/// When the key does not open it, it is not complete or not as its manifest says, a file cannot be written, or `accept` fails.
pub fn read<R: Read, E: From<ReadError>>(
    input: R,
    key: &Key,
    accept: impl FnOnce(&Manifest) -> Result<PathBuf, E>,
) -> Result<Manifest, E> {
    let mut archive = Archive::new(key.unwrap(input)?);
    // Raw: what an extension says of the entry after it is not looked at, and the extension itself is refused.
    let mut entries = archive.entries().map_err(ReadError::Unreadable)?.raw(true);
    let (manifest, text) = read_manifest(entries.next())?;
    let folder = accept(&manifest)?;
    write_file(&folder, MANIFEST, &mut text.as_slice())?;
    for file in &manifest.files {
        extract(entries.next(), file, &folder)?;
    }
    if entries.next().is_some() {
        return Err(ReadError::Refused("it has more files than its manifest lists".to_owned()).into());
    }
    // Only the end of the stream says that nothing was cut off.
    let mut rest = archive.into_inner().take(MAX_PADDING);
    let (mut left, mut block) = (MAX_PADDING, [0; 4096]);
    loop {
        let read = rest.read(&mut block).map_err(ReadError::Unreadable)?;
        left -= read as u64;
        if block.iter().take(read).any(|byte| *byte != 0) || left == 0 {
            return Err(ReadError::Refused("something follows its last file".to_owned()).into());
        }
        if read == 0 {
            return Ok(manifest);
        }
    }
}

type NextEntry<'a, R> = Option<io::Result<Entry<'a, R>>>;

fn read_manifest<R: Read>(entry: NextEntry<'_, R>) -> Result<(Manifest, Vec<u8>), ReadError> {
    // Decryption reports changed bytes first. So this file was not a tar file when it was encrypted.
    let foreign = |why: &str| ReadError::Foreign(why.to_owned());
    let entry = match entry {
        None => return Err(foreign("it is empty")),
        Some(Err(error)) if error.kind() == io::ErrorKind::Other => return Err(foreign("it is not a tar file")),
        Some(entry) => entry.map_err(ReadError::Unreadable)?,
    };
    if *entry.path_bytes() != *MANIFEST.as_bytes() || entry.header().entry_type() != EntryType::Regular {
        return Err(ReadError::Foreign(format!("its first file is not {MANIFEST}")));
    }
    if entry.size() > MAX_MANIFEST_BYTES {
        return Err(foreign("its manifest is larger than 1 MiB"));
    }
    let mut text = Vec::new();
    entry.take(MAX_MANIFEST_BYTES).read_to_end(&mut text).map_err(ReadError::Unreadable)?;
    let broken = |error: serde_json::Error| ReadError::Foreign(format!("its manifest cannot be understood: {error}"));
    // The rest of another format may have another form.
    let Head { format, version, commit } = serde_json::from_slice(&text).map_err(broken)?;
    if format > FORMAT {
        return Err(ReadError::Newer { found: format, version: shown(version), commit: shown(commit) });
    }
    let manifest: Manifest = serde_json::from_slice(&text).map_err(broken)?;
    match manifest.problem() {
        Some(problem) => Err(ReadError::Refused(problem)),
        None => Ok((manifest, text)),
    }
}

/// What a manifest of every format has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    #[serde(default)]
    version: String,
    #[serde(default)]
    commit: String,
}

/// For a terminal.
fn shown(text: String) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

fn extract<R: Read>(entry: NextEntry<'_, R>, expected: &FileEntry, folder: &Path) -> Result<(), ReadError> {
    let name = &expected.name;
    let refused = |why: &str| ReadError::Refused(format!("{name}: {why}"));
    let Some(entry) = entry else { return Err(refused("it is in the manifest, and missing")) };
    let mut entry = entry.map_err(ReadError::Unreadable)?;
    if *entry.path_bytes() != *name.as_bytes() {
        let found = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        return Err(ReadError::Refused(format!("{found:?} is where the manifest has {name:?}")));
    }
    if entry.header().entry_type() != EntryType::Regular {
        return Err(refused("it is not a regular file"));
    }
    if entry.size() != expected.bytes {
        return Err(refused("its size is not that of the manifest"));
    }
    let hash = write_file(folder, name, &mut entry)?;
    if hash == expected.sha256 { Ok(()) } else { Err(refused("its SHA-256 is not that of the manifest")) }
}

/// Writes a new file, and returns the SHA-256 of what is in it.
fn write_file(folder: &Path, name: &str, content: &mut dyn Read) -> Result<String, ReadError> {
    let path = folder.join(name);
    let failed = |source| ReadError::Write { path: path.clone(), source };
    if let Some(parent) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(parent).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(failed)?;
    let (mut hash, mut block) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        let read = content.read(&mut block).map_err(ReadError::Unreadable)?;
        let Some(read) = block.get(..read).filter(|read| !read.is_empty()) else { break };
        hash.update(read);
        file.write_all(read).map_err(failed)?;
    }
    file.sync_all().map_err(failed)?;
    Ok(hex::encode(hash.finalize()))
}
