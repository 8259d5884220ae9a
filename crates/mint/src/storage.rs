use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use cdk::nuts::SecretKey;
use cdk_sqlite::MintSqliteDatabase;
use cdk_sqlite::mint::memory;

const SEED: &str = "mint-seed";

const DATABASE: &str = "mint.sqlite";

const SEED_BYTES: usize = 32;

/// The database and the seed in a folder, or new ones in memory.
pub(crate) async fn open(folder: Option<&Path>) -> anyhow::Result<(Arc<MintSqliteDatabase>, [u8; SEED_BYTES])> {
    match folder {
        None => Ok((Arc::new(memory::empty().await?), SecretKey::generate().to_secret_bytes())),
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
            let seed = seed(&folder.join(SEED))?;
            let path = folder.join(DATABASE);
            let database = MintSqliteDatabase::new(&path).await;
            Ok((Arc::new(database.with_context(|| format!("cannot open {}", path.display()))?), seed))
        }
    }
}

/// The seed in a file that only its owner can read; made if it is not there.
fn seed(path: &Path) -> anyhow::Result<[u8; SEED_BYTES]> {
    let named = || format!("cannot use the seed in {}", path.display());
    match fs::read_to_string(path) {
        Ok(text) => decode(&text).with_context(named),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let seed = SecretKey::generate();
            let mut file = new_file(path).with_context(named)?;
            file.write_all(seed.to_secret_hex().as_bytes()).and_then(|()| file.sync_all()).with_context(named)?;
            Ok(seed.to_secret_bytes())
        }
        Err(error) => Err(error).with_context(named),
    }
}

fn new_file(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn decode(text: &str) -> anyhow::Result<[u8; SEED_BYTES]> {
    let text = text.trim();
    ensure!(text.len() == 2 * SEED_BYTES, "it has another length");
    Ok(SecretKey::from_hex(text)?.to_secret_bytes())
}
