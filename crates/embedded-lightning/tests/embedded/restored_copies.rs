//! Data that are an old copy, of another node or of another service are not used.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use usher_embedded_lightning::{
    ChainSource, DataState, EmbeddedLightning, Options, StartError, adopt, data_state, give_up, setting_of_backup,
};
use usher_engine::ports::{Lightning as _, SettingStore, SystemClock};
use usher_lightning_network::Network;
use usher_protocol::bolt11;
use usher_store::{SqliteOptions, SqliteStore};

use crate::fixture::{MNEMONIC, Setup, bolt11, stored, until, wanted};

/// A node without connections: its chain source is a closed port.
fn options(folder: &Path, settings: &Arc<dyn SettingStore>) -> Options {
    Options {
        folder: folder.to_path_buf(),
        network: bolt11::Network::Regtest,
        mnemonic: MNEMONIC.to_owned(),
        chain: ChainSource::Bitcoind {
            host: "127.0.0.1".to_owned(),
            port: 1,
            user: String::new(),
            password: String::new(),
        },
        provider: None,
        max_fee_percent: 5,
        max_opening_fee_percent: 50,
        chain_access: None,
        recover: false,
        settings: Some(Arc::clone(settings)),
    }
}

async fn run_once(folder: &Path, settings: &Arc<dyn SettingStore>) -> Result<(), StartError> {
    let (node, _notifications) = EmbeddedLightning::start(options(folder, settings), Arc::new(SystemClock)).await?;
    // A new one stores its data a moment later.
    until("stored data", async || stored(folder) > 0).await;
    node.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_copy_beside_a_newer_database_is_refused() {
    let data = TempDir::new().unwrap();
    let (folder, backup) = (data.path().join("lightning"), data.path().join("backup"));
    let settings = database(&data, "usher.db");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_running_node_is_refused_after_a_kill() {
    let (data, network) = (TempDir::new().unwrap(), Network::start_copy().await.unwrap());
    let (folder, backup) = (data.path().join("lightning"), data.path().join("backup"));
    let settings = database(&data, "usher.db");
    let start = async || {
        let options = Options { settings: Some(Arc::clone(&settings)), ..Setup::of(&network, &folder).options() };
        EmbeddedLightning::start(options, Arc::new(SystemClock)).await
    };
    let (node, mut notifications) = start().await.unwrap();
    until("a started node", async || node.status().connected).await;
    let invoice = until("an invoice", async || node.make_invoice(&wanted(150_000_000)).await.ok()).await;
    copy(&folder, &backup);
    let stamp = async || settings.setting("lightning.generation").await.unwrap().unwrap().parse::<u64>().unwrap();
    let before = stamp().await;
    network.payer.pay(&bolt11(&invoice)).await.unwrap();
    until("a stored payment", async || stamp().await != before).await;
    // As after a kill: nothing is stored at the end.
    notifications.close();
    drop(node);
    let newest = data.path().join("newest");
    until("a free folder", async || {
        let file = std::fs::File::open(folder.join("lock")).unwrap();
        file.try_lock().is_ok()
    })
    .await;
    copy(&folder, &newest);

    copy(&backup, &folder);
    let refused = start().await.unwrap_err();
    assert!(matches!(refused, StartError::Restored { here, there } if here < there), "{refused:?}");
    copy(&newest, &folder);
    let (node, _notifications) = start().await.expect("the newest copy is not refused because an old one was tried");
    until("a started node", async || node.status().connected).await;
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_copy_is_refused_also_after_its_node_was_given_up() {
    let data = TempDir::new().unwrap();
    let (folder, backup) = (data.path().join("lightning"), data.path().join("backup"));
    let settings = database(&data, "usher.db");
    run_once(&folder, &settings).await.unwrap();
    add_entry(&folder, "bindings");
    copy(&folder, &backup);
    run_once(&folder, &settings).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(data_state(&folder, &*settings).await.unwrap(), DataState::Lost);
    give_up(&*settings).await.unwrap();
    assert_eq!(data_state(&folder, &*settings).await.unwrap(), DataState::None);

    copy(&backup, &folder);
    let refused = run_once(&folder, &settings).await.unwrap_err();
    assert!(matches!(refused, StartError::Restored { .. }), "{refused:?}");
    std::fs::remove_dir_all(&folder).unwrap();
    run_once(&folder, &settings).await.expect("a new node");
    copy(&backup, &folder);
    let refused = run_once(&folder, &settings).await.unwrap_err();
    assert!(matches!(refused, StartError::Restored { .. }), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_that_fail_make_no_copy_an_old_one() {
    let data = TempDir::new().unwrap();
    let (folder, newest) = (data.path().join("lightning"), data.path().join("newest"));
    let settings = database(&data, "usher.db");
    run_once(&folder, &settings).await.unwrap();
    copy(&folder, &newest);
    add_entry(&folder, "manager");
    for _ in 0..3 {
        let failed = run_once(&folder, &settings).await.unwrap_err();
        assert!(matches!(failed, StartError::Build(_)), "{failed:?}");
    }
    copy(&newest, &folder);
    run_once(&folder, &settings).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_parts_of_different_times_is_refused() {
    let data = TempDir::new().unwrap();
    let (folder, settings) = (data.path().join("lightning"), database(&data, "usher.db"));
    run_once(&folder, &settings).await.unwrap();
    let file = folder.join("lightning.db");
    let waiting = folder.join("lightning.db-wal").metadata().map_or(0, |metadata| metadata.len());
    assert_eq!(waiting, 0, "everything is in one file after a stop");
    let mut bytes = std::fs::read(&file).unwrap();
    let page = bytes.len() / 2;
    bytes[page..].fill(0x5a);
    std::fs::write(&file, bytes).unwrap();
    let refused = run_once(&folder, &settings).await.unwrap_err();
    assert!(matches!(refused, StartError::Store(_)), "{refused:?}");
}

/// As if the library had stored something that it cannot read.
fn add_entry(folder: &Path, key: &str) {
    let store = rusqlite::Connection::open(folder.join("lightning.db")).unwrap();
    store.execute("INSERT OR REPLACE INTO entries VALUES ('', '', ?1, x'00')", [key]).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_a_new_database_does_not_know_are_taken_over_by_command_only() {
    let data = TempDir::new().unwrap();
    let folder = data.path().join("lightning");
    run_once(&folder, &database(&data, "usher.db")).await.unwrap();
    let settings = database(&data, "new.db");
    add_entry(&folder, "manager");

    assert_eq!(data_state(&folder, &*settings).await.unwrap(), DataState::Unknown);
    let refused = run_once(&folder, &settings).await.unwrap_err();
    assert!(matches!(refused, StartError::Foreign) && refused.is_permanent(), "{refused:?}");
    let mnemonic = "legal winner thank year wave sausage worth useful legal winner thank yellow".to_owned();
    let other = adopt(&Options { mnemonic, ..options(&folder, &settings) }).await;
    assert!(matches!(other, Err(StartError::OtherMnemonic)), "{other:?}");
    adopt(&options(&folder, &settings)).await.unwrap();
    assert_eq!(data_state(&folder, &*settings).await.unwrap(), DataState::Present);
    assert!(!matches!(run_once(&folder, &settings).await, Err(StartError::Foreign)));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_backup_of_the_database_no_data_are_used_before_the_operator_decides() {
    let data = TempDir::new().unwrap();
    let (folder, old) = (data.path().join("lightning"), data.path().join("old"));
    let settings = database(&data, "usher.db");
    assert_eq!(setting_of_backup(&*settings).await.unwrap(), None, "no node yet");
    run_once(&folder, &settings).await.unwrap();
    copy(&folder, &old);
    run_once(&folder, &settings).await.unwrap();
    let (name, value) = setting_of_backup(&*settings).await.unwrap().unwrap();
    let restored = database(&data, "restored.db");
    restored.set_setting(name, Some(&value)).await.unwrap();
    // Newer than the backup, and not the newest: a snapshot that was made in between.
    run_once(&folder, &settings).await.unwrap();
    let refused = run_once(&folder, &restored).await.unwrap_err();
    assert!(matches!(refused, StartError::Foreign), "{refused:?}");
    assert_eq!(data_state(&folder, &*restored).await.unwrap(), DataState::Unknown);
    // Without data there is no new node.
    let empty = data.path().join("empty");
    let refused = run_once(&empty, &restored).await.unwrap_err();
    assert!(matches!(refused, StartError::Restored { here: 0, .. }), "{refused:?}");
    assert_eq!(data_state(&empty, &*restored).await.unwrap(), DataState::Lost);
    // Older than the backup: it cannot be taken over either.
    let refused = run_once(&old, &restored).await.unwrap_err();
    assert!(matches!(refused, StartError::Restored { here, there } if here < there), "{refused:?}");
    assert_eq!(data_state(&old, &*restored).await.unwrap(), DataState::Present);

    adopt(&options(&folder, &restored)).await.unwrap();
    run_once(&folder, &restored).await.expect("the newest data, as the operator says");
    let refused = run_once(&old, &restored).await.unwrap_err();
    assert!(matches!(refused, StartError::Restored { .. }), "{refused:?}");

    // A backup of a restored backup is one, and what was given up stays so.
    restored.set_setting(name, Some(&value)).await.unwrap();
    assert_eq!(setting_of_backup(&*restored).await.unwrap(), Some((name, value)));
    give_up(&*restored).await.unwrap();
    assert_eq!(setting_of_backup(&*restored).await.unwrap(), None);
    run_once(&empty, &restored).await.expect("a new node");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_another_seed_or_network_are_refused() {
    let data = TempDir::new().unwrap();
    let (folder, settings) = (data.path().join("lightning"), database(&data, "usher.db"));
    run_once(&folder, &settings).await.unwrap();
    let start = async |options: Options| EmbeddedLightning::start(options, Arc::new(SystemClock)).await.map(|_| ());

    let mnemonic = "legal winner thank year wave sausage worth useful legal winner thank yellow".to_owned();
    let refused = start(Options { mnemonic, ..options(&folder, &settings) }).await.unwrap_err();
    assert!(matches!(refused, StartError::OtherMnemonic) && refused.is_permanent(), "{refused:?}");
    let network = bolt11::Network::Bitcoin;
    let refused = start(Options { network, ..options(&folder, &settings) }).await.unwrap_err();
    assert!(refused.is_permanent(), "{refused:?}");
    assert_eq!(
        refused.to_string(),
        "the Lightning node's data belong to the network regtest, and wallet.network is bitcoin"
    );
    run_once(&folder, &settings).await.unwrap();
}

fn database(data: &TempDir, name: &str) -> Arc<dyn SettingStore> {
    Arc::new(SqliteStore::open(&data.path().join(name), SqliteOptions::default()).unwrap())
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
