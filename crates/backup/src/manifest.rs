//! The list of a backup's files.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

/// The manifest's own name in the tar file, and the only one that it does not list.
pub const MANIFEST: &str = "restored/manifest.json";

/// The version of this format.
pub(crate) const FORMAT: u32 = 1;

/// Longest manifest that is read, in bytes.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

/// Most files of a backup.
const MAX_FILES: usize = 1000;

/// Longest name: what the tar format has without extensions (a folder of 155 and a name of 100), in bytes.
const MAX_NAME_BYTES: usize = 255;

/// What a backup is a backup of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The version of the program that made it.
    pub version: String,
    /// The commit of that program.
    pub commit: String,
    /// When it was made, in Unix seconds.
    pub created_at: u64,
    /// The data directory that it was made of.
    pub data_dir: String,
    /// Where the database is.
    pub database: DatabaseKind,
}

/// The database of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "engine", rename_all = "lowercase")]
pub enum DatabaseKind {
    /// It is one of the files.
    Sqlite {
        /// Its name in the backup.
        file: String,
        /// The version of its schema.
        schema_version: u32,
    },
    /// It is not part of the backup.
    Postgresql,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its path in the backup, and in the folder into which it is restored.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
    /// The setting that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The absolute path that the setting names, if another data directory does not change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What a backup says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// What it is a backup of.
    #[serde(flatten)]
    pub description: Description,
    /// Its files, in their order.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// How many bytes all files have.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().fold(0, |total, file| total.saturating_add(file.bytes))
    }

    /// What is wrong with it, in words.
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
pub(crate) fn name_problem(name: &str) -> Option<&'static str> {
    let path = Path::new(name);
    // Only the usual way to write a path: no root, no `.` or `..`, no empty parts.
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
    // An old copy of a node's channels loses their money.
    if plain.first() == Some(&"lightning") {
        return Some("belongs to the data of a Lightning node, which must not be restored");
    }
    // SQLite would take these for changes of the database beside them.
    if ["-wal", "-shm", "-journal", ".lock"].iter().any(|suffix| name.ends_with(suffix)) {
        return Some("is one of the files beside a running database");
    }
    None
}
