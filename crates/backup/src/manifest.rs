use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

/// The manifest's name in the tar file. The manifest does not list itself.
pub const MANIFEST: &str = "restored/manifest.json";

/// The version of the backup format.
pub(crate) const FORMAT: u32 = 1;

/// Longest manifest, in bytes.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// Most files of a backup.
const MAX_FILES: usize = 1000;

/// Longest name in bytes: the limit of tar without extensions (155 for the folder and 100 for the file).
const MAX_NAME_BYTES: usize = 255;

/// The service that was backed up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The version of the program that made the backup.
    pub version: String,
    /// The commit of that program.
    pub commit: String,
    /// When the backup was made, in Unix seconds.
    pub created_at: u64,
    /// The data directory of the service.
    pub data_dir: String,
    /// The database of the service.
    pub database: DatabaseKind,
}

/// The database of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "engine", rename_all = "lowercase")]
pub enum DatabaseKind {
    /// SQLite: one of the files.
    Sqlite {
        /// The name of the file.
        file: String,
        /// The version of its schema.
        schema_version: u32,
    },
    /// PostgreSQL: not part of the backup.
    Postgresql,
}

/// An entry of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path in the backup, relative to the folder into which it is restored.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
    /// The configuration key that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The absolute path in that key, if it does not depend on the data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The content of a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// The service that was backed up.
    #[serde(flatten)]
    pub description: Description,
    /// The files in order.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// The total size of the files in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().fold(0, |total, file| total.saturating_add(file.bytes))
    }

    /// Why the manifest is invalid.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.files.len() > MAX_FILES {
            return Some(format!("it has more than {MAX_FILES} files"));
        }
        let mut names = BTreeSet::new();
        for file in &self.files {
            if let Some(problem) = name_problem(&file.name) {
                return Some(format!("the name {:?} {problem}", file.name));
            }
            if !names.insert(file.name.as_str()) {
                return Some(format!("two files have the name {:?}", file.name));
            }
            if file.sha256.len() != 64 || !file.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                return Some(format!("the SHA-256 of {:?} is not 64 hex characters", file.name));
            }
        }
        if let DatabaseKind::Sqlite { file, .. } = &self.description.database
            && !names.contains(file.as_str())
        {
            return Some(format!("the database {file:?} is not among its files"));
        }
        None
    }
}

/// Why a file must not have this name.
fn name_problem(name: &str) -> Option<&'static str> {
    let path = Path::new(name);
    // No root, no `.` or `..`, no empty parts.
    let plain: Vec<_> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    if plain.is_empty() || plain.join("/") != name {
        return Some("is not a plain path below the data directory");
    }
    if name.len() > MAX_NAME_BYTES {
        return Some("is too long");
    }
    if name.chars().any(char::is_control) {
        return Some("has control characters");
    }
    if name == MANIFEST {
        return Some("is the manifest's");
    }
    // Restoring an old copy of a node's channel state loses funds.
    if plain.first() == Some(&"lightning") {
        return Some("belongs to the data of a Lightning node, which must not be restored");
    }
    // SQLite would apply these files to the database beside them.
    if ["-wal", "-shm", "-journal", ".lock"].iter().any(|suffix| name.ends_with(suffix)) {
        return Some("is one of the files beside a running database");
    }
    None
}
