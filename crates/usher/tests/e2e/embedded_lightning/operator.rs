//! Channels whose data are lost or restored: the operator decides, by `usher lightning`.

use serde_json::Value;

use super::fixture::Fixture;
use crate::harness::until;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_channels_are_given_up_by_command_only() {
    let mut fixture = Fixture::open().await;
    fixture.fund().await;
    assert!(fixture.usher.stop().await.success());
    let abandon = ["lightning", "abandon", "--yes"];
    let (code, _, errors) = fixture.usher.run(&abandon).await;
    assert!(code == Some(1) && errors.contains("has data"), "{errors}");
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    fixture.usher.refuses_to_start().await;
    let (code, _, errors) = fixture.usher.run(&abandon[..2]).await;
    assert!(code == Some(2) && errors.contains("--yes"), "{errors}");
    fixture.usher.says(&abandon).await;

    fixture.crash().await;
    assert_eq!(fixture.node().await["channels"]["usable"], 0);
    let provider = fixture.network.provider.node();
    until("provider that has closed the channel", async || provider.list_channels().len() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_starts_no_node_before_the_operator_decides() {
    let mut fixture = Fixture::open().await;
    fixture.fund().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("backup").display().to_string();
    fixture.usher.says(&["backup", &file, "--unencrypted"]).await;
    assert!(fixture.usher.stop().await.success());
    let data_dir = fixture.usher.data_dir();
    let original = elsewhere.path().join("original");
    std::fs::create_dir(&original).unwrap();
    for entry in std::fs::read_dir(&data_dir).unwrap() {
        let entry = entry.unwrap();
        std::fs::rename(entry.path(), original.join(entry.file_name())).unwrap();
    }

    let (code, _, errors) = fixture.usher.run(&["restore", &file, "--unencrypted"]).await;
    assert!(code == Some(0) && errors.contains("lightning adopt"), "{errors}");
    let channels = std::fs::read(data_dir.join("restored/lightning-channels.json")).unwrap();
    let channels: Value = serde_json::from_slice(&channels).unwrap();
    assert_eq!(channels["channels"].as_array().unwrap().len(), 1);
    // There are no data; then, they may be an old copy.
    fixture.usher.refuses_to_start().await;
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    std::fs::rename(original.join("lightning"), fixture.folder()).unwrap();
    fixture.usher.refuses_to_start().await;
    fixture.usher.says(&["lightning", "adopt", "--yes"]).await;

    fixture.crash().await;
    fixture.until_balance().await;
}
