//! An old copy of the node's data is not used.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use usher_embedded_lightning::{ChainSource, EmbeddedLightning, Options, StartError};
use usher_engine::ports::{SettingStore, SystemClock};
use usher_store::{SqliteOptions, SqliteStore};

/// A node that talks to nobody: its chain source is a port where nobody listens.
fn options(folder: &Path, settings: &Arc<dyn SettingStore>) -> Options {
    Options {
        folder: folder.to_path_buf(),
        network: usher_protocol::bolt11::Network::Regtest,
        mnemonic: "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
            .to_owned(),
        chain: ChainSource::Bitcoind {
            host: "127.0.0.1".to_owned(),
            port: 1,
            user: String::new(),
            password: String::new(),
        },
        provider: None,
        listen: None,
        max_fee_percent: 5,
        max_opening_fee_percent: 50,
        settings: Some(Arc::clone(settings)),
    }
}

async fn run_once(folder: &Path, settings: &Arc<dyn SettingStore>) -> Result<(), StartError> {
    let (node, _notifications) = EmbeddedLightning::start(options(folder, settings), Arc::new(SystemClock)).await?;
    node.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_copy_beside_a_newer_database_is_refused() {
    let data = TempDir::new().unwrap();
    let (folder, backup) = (data.path().join("lightning"), data.path().join("backup"));
    let settings: Arc<dyn SettingStore> =
        Arc::new(SqliteStore::open(&data.path().join("usher.db"), SqliteOptions::default()).unwrap());
    run_once(&folder, &settings).await.unwrap();
    copy(&folder, &backup);
    run_once(&folder, &settings).await.unwrap();

    copy(&folder, &data.path().join("newest"));
    copy(&backup, &folder);
    for _ in 0..2 {
        let refused = run_once(&folder, &settings).await.unwrap_err();
        assert!(matches!(refused, StartError::Restored { here, there } if here < there), "{refused:?}");
        assert!(refused.to_string().contains("an old copy, or missing"), "{refused}");
    }

    // Missing data are no new node: the folder may be the wrong one.
    std::fs::remove_dir_all(&folder).unwrap();
    let refused = run_once(&folder, &settings).await.unwrap_err();
    assert!(matches!(refused, StartError::Restored { here: 0, .. }), "{refused:?}");

    // With the newest copy it starts again.
    copy(&data.path().join("newest"), &folder);
    run_once(&folder, &settings).await.unwrap();
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
