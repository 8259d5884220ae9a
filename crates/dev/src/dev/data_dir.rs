//! Where `usher dev` keeps what it makes up: a configuration with key and token. The store and the
//! user's wallet are beside it.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use usher::command::init::{UNFINISHED, write_new};
use usher::command::key;
use usher::failure::Failure;
use usher::service_lifecycle::make_data_dir;
use usher_engine::ports::{OsRandomness, Randomness};

/// The configuration in the folder.
const CONFIG: &str = "config.toml";

/// What may be in a folder that is as good as empty.
const NOTHING: [&str; 4] = ["lost+found", ".DS_Store", ".gitignore", ".gitkeep"];

/// A folder that stays, or one that goes with the program.
pub(super) struct DataDir {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl DataDir {
    /// The folder at `path`, or a temporary one; makes what is not there.
    ///
    /// # Errors
    /// When it cannot be written to, or holds somebody else's files.
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

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it goes with the program.
    pub(super) const fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Makes a configuration, unless there is one: the whole of it is there, or nothing is.
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
        // Or another one has just made it.
        write_new(&self.path, CONFIG, &text).map(drop)
    }
}

/// Keys, a database and a wallet do not go into a folder that is somebody's for something else.
fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::said(format!("cannot look into {}: {error}", path.display()));
    let entries = match path.read_dir() {
        Ok(entries) => entries,
        // It is made; or it is no folder, which is said then.
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
