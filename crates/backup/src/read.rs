//! Reads a backup. Its content is untrusted: anyone who knows a recipient can encrypt to it.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tar::{Archive, Entry, EntryType};

use crate::encryption::Key;
use crate::error::ReadError;
use crate::manifest::{FORMAT, FileEntry, MANIFEST, MAX_MANIFEST_BYTES, Manifest};

/// Longest zero padding after the last file, in bytes: common programs pad to 10 KiB, tapes to more.
const MAX_PADDING: u64 = 1024 * 1024;

/// Reads a backup. `accept` receives the manifest and returns the empty folder to write to. The manifest and all files are
/// written there with access for their owner only, and synced to disk. After an error the folder may contain some of the files,
/// unverified.
///
/// # Errors
/// When the key is wrong, the backup is incomplete or does not match its manifest, a file cannot be written, or `accept` fails.
pub fn read<R: Read, E: From<ReadError>>(
    input: R,
    key: &Key,
    accept: impl FnOnce(&Manifest) -> Result<PathBuf, E>,
) -> Result<Manifest, E> {
    let mut archive = Archive::new(key.unwrap(input)?);
    // Raw: an extension header is not applied to the next entry, and is refused as an entry.
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
    // Only the end of the stream proves that it is complete.
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
    // Decryption reports changed bytes before this, so the file was not a tar file when it was encrypted.
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
    // Other formats share only these fields.
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

/// The fields of a manifest in every format.
#[derive(Deserialize)]
struct Head {
    format: u32,
    #[serde(default)]
    version: String,
    #[serde(default)]
    commit: String,
}

/// Text that is safe to print on a terminal.
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

/// Writes a new file and returns the SHA-256 of its content in hex.
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
