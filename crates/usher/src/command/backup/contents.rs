//! Collects the contents of a backup.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use usher_backup::{Content, DatabaseKind, Description, Source as BackupFile};
use usher_store::{DatabaseInspection, copy_database};

use super::names::{CHANNELS, ENVIRONMENT, EXTRA};
use crate::command::lightning;
use crate::command::service_client::ServiceClient;
use crate::config::setting::LnBackend;
use crate::config::text_file::read_file;
use crate::config::{Config, Loaded, Source};
use crate::failure::Failure;
use crate::output::tell;
use crate::version;

/// Disk space, in bytes, left for the service while the copy of the database exists.
const RESERVE: u64 = 64 * 1024 * 1024;

/// Collects all files. The copy of the database is made in `working`.
pub(super) async fn collect(
    config: &Config,
    loaded: &Loaded,
    source: &Source,
    working: &Path,
    created_at: u64,
) -> Result<(Description, Vec<BackupFile>), Failure> {
    let mut files = Files { data_dir: &source.data_dir, names: BTreeSet::new(), files: Vec::new() };
    if source.file().exists() {
        files.add_text(None, &source.file())?;
    }
    for (key, path) in &loaded.secret_files {
        files.add_text(Some(key), path)?;
    }
    if let Some(path) = &config.database.trusted_certificates {
        files.add_text(Some("database.trusted_certificates"), &std::path::absolute(path.as_str())?)?;
    }
    if let Some(environment) = environment(source)? {
        files.add_made(ENVIRONMENT, environment);
    }
    if config.wallet.ln_backend == LnBackend::Embedded {
        match channels(loaded, &source.data_dir).await {
            Ok(channels) => files.add_made(CHANNELS, channels),
            Err(failure) => {
                tell(&format!("usher: the list of the Lightning node's channels is not part of it: {failure}"))
            }
        }
    }
    let database = match &config.database.url {
        Some(_) => DatabaseKind::Postgresql,
        None => add_database(&mut files, &source.data_dir.join(config.database.path.as_str()), working).await?,
    };
    let description = Description {
        version: version::VERSION.to_owned(),
        commit: version::COMMIT.to_owned(),
        created_at,
        data_dir: source.data_dir.display().to_string(),
        database,
    };
    Ok((description, files.files))
}

/// The settings in this process's environment, which should be the service's.
fn environment(source: &Source) -> Result<Option<Vec<u8>>, Failure> {
    let text = |text: &std::ffi::OsString| text.to_str().map(str::to_owned);
    let variables = source.variables.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let variables: BTreeMap<_, _> = variables.filter(|(name, _)| name.starts_with("SERVICE__")).collect();
    Ok(if variables.is_empty() { None } else { Some(serde_json::to_vec_pretty(&variables)?) })
}

async fn channels(loaded: &Loaded, data_dir: &Path) -> Result<Vec<u8>, Failure> {
    Ok(lightning::backup(&ServiceClient::new(loaded, data_dir)?).await?.into_bytes())
}

async fn add_database(files: &mut Files<'_>, path: &Path, working: &Path) -> Result<DatabaseKind, Failure> {
    if !path.exists() {
        return Err(Failure::said(format!("there is no database at {}: is this the data directory?", path.display())));
    }
    check_space(path, working)?;
    let copy = working.join("database");
    let inspection = copy_database(path, &copy)?;
    let (schema_version, _) = inspection.schema_version();
    let marked = setting_of_backup(&inspection).await?;
    drop(inspection);
    if let Some((name, value)) = marked {
        usher_store::set_in_copy(&copy, name, &value)?;
    }
    fail::fail_point!("backup-database-copied", |_| -> Result<DatabaseKind, Failure> { std::process::abort() });
    let content = Content::File(File::open(&copy)?);
    // It stays readable through its handle, and disappears with this process.
    std::fs::remove_file(&copy)?;
    let file = files.add(Some("database.path"), path, content);
    Ok(DatabaseKind::Sqlite { file, schema_version })
}

/// A full disk would stop the service.
fn check_space(database: &Path, working: &Path) -> Result<(), Failure> {
    let size = |suffix: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).map_or(0, |metadata| metadata.len())
    };
    let needed = size("").saturating_add(size("-wal")).saturating_add(RESERVE);
    let disk = rustix::fs::statvfs(working).map_err(std::io::Error::from)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < needed {
        return Err(Failure::said(format!(
            "the disk of the data directory has {free} bytes free, and a copy of the database needs {needed} for a while, \
             of which {RESERVE} stay free for the service"
        )));
    }
    Ok(())
}

/// The setting to change in the backup of a database with a Lightning node.
#[cfg(feature = "embedded-lightning")]
async fn setting_of_backup(database: &DatabaseInspection) -> Result<Option<(&'static str, String)>, Failure> {
    Ok(usher_embedded_lightning::setting_of_backup(database).await?)
}

/// Programs without the node have none.
#[cfg(not(feature = "embedded-lightning"))]
#[expect(clippy::unused_async, reason = "the same as with the feature")]
async fn setting_of_backup(_database: &DatabaseInspection) -> Result<Option<(&'static str, String)>, Failure> {
    Ok(None)
}

/// The files collected so far.
struct Files<'a> {
    data_dir: &'a Path,
    names: BTreeSet<String>,
    files: Vec<BackupFile>,
}

impl Files<'_> {
    /// Adds a file named by a setting; several settings may name the same file.
    fn add_text(&mut self, setting: Option<&str>, path: &Path) -> Result<(), Failure> {
        let shown = path.display().to_string();
        let is_there = |file: &BackupFile| file.path.as_ref() == Some(&shown);
        if self.files.iter().any(is_there) || self.inside(path).is_some_and(|name| self.names.contains(&name)) {
            return Ok(());
        }
        let text = read_file(path).map_err(|error| Failure::said(format!("cannot read {shown}: {error}")))?;
        self.add(setting, path, Content::Bytes(text.into_bytes()));
        Ok(())
    }

    /// Adds a file under its path in the data directory, or outside of it. Returns its name.
    fn add(&mut self, setting: Option<&str>, path: &Path, content: Content) -> String {
        let (name, path) = match self.inside(path) {
            Some(name) => (name, None),
            None => (self.outside(path), Some(path.display().to_string())),
        };
        self.names.insert(name.clone());
        self.files.push(BackupFile { name: name.clone(), setting: setting.map(str::to_owned), path, content });
        name
    }

    fn add_made(&mut self, name: &str, content: Vec<u8>) {
        self.names.insert(name.to_owned());
        let content = Content::Bytes(content);
        self.files.push(BackupFile { name: name.to_owned(), setting: None, path: None, content });
    }

    /// The path relative to the data directory, if it is inside.
    fn inside(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(self.data_dir).ok()?;
        let parts = below.components().map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        });
        let name = parts.collect::<Option<Vec<_>>>()?.join("/");
        (!name.is_empty()).then_some(name)
    }

    /// A unique name for a file outside: its own, with a number if necessary.
    fn outside(&self, path: &Path) -> String {
        let name = path.file_name().map_or_else(|| "file".into(), |name| name.to_string_lossy());
        let first = PathBuf::from(EXTRA).join("outside").join(&*name).display().to_string();
        let more = (2..).map(|number| format!("{first}.{number}"));
        std::iter::once(first.clone()).chain(more).find(|name| !self.names.contains(name)).unwrap_or(first)
    }
}
