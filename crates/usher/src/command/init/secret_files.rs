//! Files with one secret each, readable only by their owner.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use secrecy::{ExposeSecret as _, SecretString};
use usher_engine::ports::Randomness;

use super::questions::Choices;
use crate::cli::InitBackend;
use crate::command::key;
use crate::config::setting::{
    ApiToken, Mnemonic, NwcUrl, PrivateKey, RawValue, Secret, Setting, WebhookSecret, WebhookUrl,
};
use crate::config::text_file::read_file;
use crate::failure::Failure;

pub(super) struct SecretFile {
    /// Its name within the data directory.
    pub(super) name: &'static str,
    pub(super) key: &'static str,
    /// Its description.
    pub(super) meaning: &'static str,
    secret: SecretString,
    check: fn(&RawValue) -> Result<(), String>,
}

impl SecretFile {
    fn new<T: Setting>(name: &'static str, key: &'static str, meaning: &'static str, secret: String) -> Self {
        Self { name, key, meaning, secret: secret.into(), check: |given| T::read(given).map(drop) }
    }

    pub(super) fn secret(&self) -> &str {
        self.secret.expose_secret()
    }
}

/// Prefix of a file being written; leftovers are from interrupted runs.
pub const UNFINISHED: &str = ".usher-init-";

pub(super) struct SecretFiles(Vec<SecretFile>);

impl SecretFiles {
    pub(super) const PRIVATE_KEY: &'static str = "nostr.key";

    /// The file of the embedded node's seed.
    pub(super) const SEED: &'static str = "lightning.mnemonic";

    /// A new private key and token, and what was chosen.
    pub(super) fn of(choices: &Choices, randomness: &dyn Randomness) -> Self {
        let mut token = [0; 32];
        randomness.fill(&mut token);
        let key = key::generate(randomness).to_secret_hex();
        let mut files = vec![
            SecretFile::new::<PrivateKey>(
                Self::PRIVATE_KEY,
                "nostr.private_key",
                "the service's private key, which is its identity",
                key,
            ),
            SecretFile::new::<ApiToken>(
                "api.token",
                "auth.auth_token",
                "the API token, which your app sends",
                hex::encode(token),
            ),
        ];
        if let Some(url) = &choices.nwc_url {
            let url = url.expose_secret().to_owned();
            files.push(SecretFile::new::<NwcUrl>("nwc.url", "wallet.nwc.url", "the wallet connection", url));
        }
        if choices.backend == Some(InitBackend::Embedded) {
            let words = mnemonic(randomness);
            let meaning = "the seed of the Lightning node: who has it has its money";
            files.push(SecretFile::new::<Mnemonic>(Self::SEED, "wallet.embedded.mnemonic", meaning, words));
        }
        if let Some(token) = &choices.lightning_api_key {
            let token = token.expose_secret().to_owned();
            let meaning = "the token of the liquidity provider";
            files.push(SecretFile::new::<Secret>("lightning.api-key", "wallet.embedded.api_key", meaning, token));
        }
        if let Some(url) = &choices.webhook_url {
            let mut secret = [0; 32];
            randomness.fill(&mut secret);
            let secret = format!("whsec_{}", BASE64.encode(secret));
            let url = url.expose_secret().to_owned();
            files.push(SecretFile::new::<WebhookUrl>("webhook.url", "webhook.url", "where events are posted", url));
            files.push(SecretFile::new::<WebhookSecret>(
                "webhook.secret",
                "webhook.secret",
                "signs what is posted; your app verifies with it",
                secret,
            ));
        }
        Self(files)
    }

    /// All of them, in the order of creation.
    pub(super) fn iter(&self) -> impl Iterator<Item = &SecretFile> {
        self.0.iter()
    }
}

/// A new seed of 24 words.
fn mnemonic(randomness: &dyn Randomness) -> String {
    let mut entropy = [0; 32];
    randomness.fill(&mut entropy);
    // BIP-39 allows 32 bytes; only other lengths fail.
    bip39::Mnemonic::from_entropy(&entropy).map(|mnemonic| mnemonic.to_string()).unwrap_or_default()
}

/// Creates the file of a secret; `false` if it exists, and is kept.
///
/// # Errors
/// If it cannot be created, or the existing file has no such secret.
pub(super) fn make(folder: &Path, file: &SecretFile) -> Result<bool, Failure> {
    let made = write_new(folder, file.name, &format!("{}\n", file.secret()))?;
    if !made {
        let path = folder.join(file.name);
        let text =
            read_file(&path).map_err(|error| Failure::said(format!("cannot read {}: {error}", path.display())))?;
        let given = RawValue::Text(text.trim_end_matches(['\r', '\n']).to_owned());
        (file.check)(&given).map_err(|problem| {
            let what = format!("{} is there and stays as it is, but {} {problem}", path.display(), file.key);
            Failure::said(format!("{what}; correct it or move it away, then run `usher init` again"))
        })?;
    }
    Ok(made)
}

/// Atomically creates a file readable only by its owner; `false` if it exists.
///
/// # Errors
/// When it cannot be written.
pub fn write_new(folder: &Path, name: &str, text: &str) -> Result<bool, Failure> {
    let path = folder.join(name);
    let write = || {
        // With mode 0600 from the start.
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(true),
            Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(refused) => Err(refused.error),
        }
    };
    write().map_err(|error| Failure::said(format!("cannot write {}: {error}{}", path.display(), owner(folder, &error))))
}

/// The owner of a folder that this user may not write to: usually a container's volume.
#[cfg(unix)]
fn owner(folder: &Path, error: &std::io::Error) -> String {
    use std::os::unix::fs::MetadataExt as _;

    let Ok(metadata) = folder.metadata() else { return String::new() };
    let (owner, process) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if error.kind() != ErrorKind::PermissionDenied || owner == process {
        return String::new();
    }
    let folder = folder.display();
    format!("; {folder} belongs to user {owner}, and this process is user {process}: run `chown {process} {folder}`")
}

#[cfg(not(unix))]
fn owner(_folder: &Path, _error: &std::io::Error) -> String {
    String::new()
}

/// Held while files are written into a folder, so that another `usher init` does not remove them as leftovers.
pub(super) struct Writing {
    _folder: File,
}

/// Removes leftovers of interrupted runs of `usher init`, unless another one is writing.
pub(super) fn begin(folder: &Path) -> Result<Writing, Failure> {
    let failed = |path: &Path, error| {
        Failure::said(format!("cannot clean up {}: {error}{}", path.display(), owner(folder, &error)))
    };
    let locked = File::open(folder).map_err(|error| failed(folder, error))?;
    // Nobody is writing, so existing files are leftovers. The lock ends with the process.
    if locked.try_lock().is_ok() {
        for entry in folder.read_dir().map_err(|error| failed(folder, error))? {
            let entry = entry.map_err(|error| failed(folder, error))?;
            let is_ours = entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
            // Not a link or a folder, which Usher does not create.
            if is_ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                std::fs::remove_file(entry.path()).map_err(|error| failed(&entry.path(), error))?;
            }
        }
    }
    // Waits only while another run removes leftovers. On file systems without such locks, nothing is removed.
    let _ = locked.lock_shared();
    Ok(Writing { _folder: locked })
}

/// Makes the names of new files durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), Failure> {
    let sync = File::open(folder).and_then(|folder| folder.sync_all());
    sync.map_err(|error| Failure::said(format!("cannot write {}: {error}", folder.display())))
}
