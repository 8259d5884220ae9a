//! Channels whose data are lost or restored: the operator decides, by `usher lightning`.

use serde_json::Value;

use super::fixture::{Fixture, until};

/// Runs `usher lightning …`: exit code, standard output, standard error.
async fn lightning(fixture: &Fixture, arguments: &[&str]) -> (Option<i32>, String, String) {
    let arguments: Vec<&str> = ["lightning"].iter().chain(arguments).copied().collect();
    program(fixture, &arguments).await
}

async fn program(fixture: &Fixture, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = fixture.usher.command(arguments);
    let output = tokio::task::spawn_blocking(move || command.output().expect("it runs")).await.expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The same, when it succeeds: standard output.
async fn said(fixture: &Fixture, arguments: &[&str]) -> String {
    let (code, said, errors) = lightning(fixture, arguments).await;
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    said
}

async fn node(fixture: &Fixture) -> Value {
    fixture.api().get("/wallet/info").await.unwrap()["node"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_channels_are_given_up_by_command_only() {
    let mut fixture = Fixture::open().await;
    fixture.fund().await;
    assert!(fixture.usher.stop().await.success());
    let (code, _, errors) = lightning(&fixture, &["abandon", "--yes"]).await;
    assert!(code == Some(1) && errors.contains("has data"), "{errors}");
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    fixture.usher.spawn();
    fixture.usher.ready().await.expect_err("the folder may only be missing");
    let (code, _, errors) = lightning(&fixture, &["abandon"]).await;
    assert!(code == Some(2) && errors.contains("--yes"), "{errors}");
    said(&fixture, &["abandon", "--yes"]).await;

    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    assert_eq!(node(&fixture).await["channels"]["usable"], 0);
    let provider = fixture.network.provider.node();
    until("a provider that has closed the channel", async || (provider.list_channels().len() == 1).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_starts_no_node_before_the_operator_decides() {
    let mut fixture = Fixture::open().await;
    fixture.fund().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("backup").display().to_string();
    let (code, _, errors) = program(&fixture, &["backup", &file, "--unencrypted"]).await;
    assert_eq!(code, Some(0), "{errors}");
    assert!(fixture.usher.stop().await.success());
    let data_dir = fixture.usher.data_dir();
    let original = elsewhere.path().join("original");
    std::fs::create_dir(&original).unwrap();
    for entry in std::fs::read_dir(&data_dir).unwrap() {
        let entry = entry.unwrap();
        std::fs::rename(entry.path(), original.join(entry.file_name())).unwrap();
    }

    let (code, _, errors) = program(&fixture, &["restore", &file, "--unencrypted"]).await;
    assert!(code == Some(0) && errors.contains("lightning adopt"), "{errors}");
    let channels = std::fs::read(data_dir.join("restored/lightning-channels.json")).unwrap();
    let channels: Value = serde_json::from_slice(&channels).unwrap();
    assert_eq!(channels["channels"].as_array().unwrap().len(), 1);
    fixture.usher.spawn();
    fixture.usher.ready().await.expect_err("there are no data");
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    std::fs::rename(original.join("lightning"), fixture.folder()).unwrap();
    fixture.usher.spawn();
    fixture.usher.ready().await.expect_err("the folder may be an old copy");
    said(&fixture, &["adopt", "--yes"]).await;

    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    fixture.until_balance().await;
}
