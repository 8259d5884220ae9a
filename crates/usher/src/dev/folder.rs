//! Where `usher dev` keeps what it makes up: a configuration with key and token. The store and the
//! user's wallet are beside it.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use usher_engine::ports::{OsRandomness, Randomness};

use crate::command::key;
use crate::failure::Failure;
use crate::service::make_data_dir;

/// A folder that stays, or one that goes with the program.
pub(super) struct Folder {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl Folder {
    /// The folder at `path`, or a temporary one; makes what is not there.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(super) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let folder = match path {
            Some(path) => {
                let path = std::path::absolute(path)?;
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

    /// Makes a configuration, unless there is one.
    fn configure(&self) -> Result<(), Failure> {
        let path = self.path.join("config.toml");
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = match options.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(Failure::said(format!("cannot write {}: {error}", path.display()))),
        };
        let mut token = [0; 32];
        OsRandomness.fill(&mut token);
        let token = hex::encode(token);
        let key = key::generate(&OsRandomness).to_secret_hex();
        let text = format!(
            "# Made by `usher dev`. Every other key: usher config default\n\n\
             [auth]\nauth_token = \"{token}\"\n\n\
             [nostr]\nprivate_key = \"{key}\"\n"
        );
        file.write_all(text.as_bytes())?;
        Ok(())
    }
}
