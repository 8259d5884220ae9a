//! The folder of `usher dev`: a generated configuration with key and token, the store and the user's wallet.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use usher::command::init::{UNFINISHED, write_new};
use usher::command::key;
use usher::config::Source;
use usher::failure::Failure;
use usher::service_lifecycle::make_data_dir;
use usher_engine::ports::{Clock as _, OsRandomness, Randomness, SystemClock};

const CONFIG: &str = "config.toml";

/// Entries of a folder that counts as empty.
const NOTHING: [&str; 4] = ["lost+found", ".DS_Store", ".gitignore", ".gitkeep"];

/// A permanent or temporary folder.
pub(super) struct DataDir {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl DataDir {
    /// The folder at `path`, created if missing, or a temporary one.
    ///
    /// # Errors
    /// If it is not writable, or contains other files.
    pub(super) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let folder = match path {
            Some(path) => {
                let path = std::path::absolute(path)?;
                refuse_foreign(&path)?;
                make_data_dir(&path)?;
                Self { path, temporary: None }
            }
            None => {
                let temporary = tempfile::Builder::new().prefix("usher-dev-").tempdir()?;
                Self { path: temporary.path().to_owned(), temporary: Some(temporary) }
            }
        };
        folder.configure()?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Creates a complete configuration, unless there is one.
    fn configure(&self) -> Result<(), Failure> {
        if self.path.join(CONFIG).exists() {
            return Ok(());
        }
        let mut token = [0; 32];
        OsRandomness.fill(&mut token);
        let token = hex::encode(token);
        let key = key::generate(&OsRandomness).to_secret_hex();
        let text = format!(
            "# Made by `usher dev`. Every other key: usher config default\n\n\
             [auth]\nauth_token = \"{token}\"\n\n\
             [nostr]\nprivate_key = \"{key}\"\n"
        );
        // A concurrent process may have just created it.
        write_new(&self.path, CONFIG, &text).map(drop)
    }
}

/// Keys, a database and a wallet must not go into a folder with another purpose.
fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::said(format!("cannot look into {}: {error}", path.display()));
    let entries = match path.read_dir() {
        Ok(entries) => entries,
        // It is created later; if it is not a folder, that is reported then.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<Vec<_>, _>>();
    let names = names.map_err(failed)?;
    if names.iter().any(|name| name == CONFIG) {
        return Ok(());
    }
    let is_nothing = |name: &OsStr| {
        NOTHING.iter().any(|nothing| name == *nothing) || name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes())
    };
    match names.iter().find(|name| !is_nothing(name)) {
        None => Ok(()),
        Some(foreign) => Err(Failure::said(format!(
            "{} is not Usher's: it has no {CONFIG}, but other files ({}). Name an empty folder, a new one, or one that \
             `usher dev` has made",
            path.display(),
            foreign.display()
        ))),
    }
}

/// The source of the folder's configuration with these variables. The environment is excluded, because its settings are
/// for a real service.
pub(super) fn source(folder: &Path, variables: &[(&str, &str)]) -> Source {
    Source {
        data_dir: folder.to_owned(),
        variables: variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        now: SystemClock.now(),
    }
}
