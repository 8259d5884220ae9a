//! What the operator sees of the node and does with it: `usher lightning`, `GET /wallet/info`, metrics, readiness.

use ldk_node::bitcoin::{Address, Amount};
use serde_json::{Value, json};

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
async fn the_operator_sees_prices_opens_and_closes_channels_and_backs_up_their_list() {
    let fixture = Fixture::open().await;
    assert_eq!(
        said(&fixture, &["price", "150000"]).await,
        "the liquidity provider would open a channel and keep 2000 sat of 150000 sat\n"
    );
    let (code, _, errors) = lightning(&fixture, &["price", "3000"]).await;
    assert!(code == Some(1) && errors.contains("max_opening_fee_percent"), "{errors}");

    let user = fixture.user().await;
    let events = fixture.receive(&user, Fixture::FIRST).await;
    assert_eq!(events[0].data["amount_received"], Fixture::FIRST - 2_000_000);
    assert_eq!(events[0].data["skimmed_fee"], 2_000_000);
    fixture.network.mine(6).await.unwrap();
    fixture.until_balance().await;
    assert_eq!(node(&fixture).await["skimmed_fees"], 2_000_000);

    // With money on the chain, a second channel; asked for without a terminal, it wants --yes.
    let address: Address<_> = said(&fixture, &["address"]).await.trim().parse().unwrap();
    fixture.network.chain.fund(&address.assume_checked(), Amount::from_sat(5_000_000)).unwrap();
    fixture.network.mine(6).await.unwrap();
    until("money on the chain", async || {
        (node(&fixture).await["on_chain"]["spendable"] == 5_000_000_000_u64).then_some(())
    })
    .await;
    let (code, _, errors) = lightning(&fixture, &["open", "1000000"]).await;
    assert!(code == Some(2) && errors.contains("5000000 sat") && errors.contains("--yes"), "{errors}");
    assert!(errors.contains("the miner fee is about 153 sat at 1.0 sat/vB"), "{errors}");
    assert!(said(&fixture, &["open", "1000000", "--yes"]).await.starts_with("opening a channel with "));
    until("a funding transaction", async || (fixture.network.chain.unconfirmed() > 0).then_some(())).await;
    fixture.network.mine(6).await.unwrap();
    until("two usable channels", async || (node(&fixture).await["channels"]["usable"] == 2).then_some(())).await;

    let backup: Value = serde_json::from_str(&said(&fixture, &["backup"]).await).unwrap();
    assert_eq!((&backup["network"], backup["channels"].as_array().unwrap().len()), (&json!("regtest"), 2));
    assert!(backup["channels"][0]["peer_address"].is_string() && backup["channels"][0]["funding"].is_string());

    let api = fixture.api();
    assert_eq!(api.metric("usher_lightning_channels{state=\"usable\"}").await, 2);
    assert_eq!(api.metric("usher_lightning_skimmed_fees_millisats_total").await, 2_000_000);

    let opened = backup["channels"].as_array().unwrap().iter().find(|channel| channel["opened_by_service"] == true);
    let id = opened.unwrap()["channel_id"].as_str().unwrap().to_owned();
    said(&fixture, &["close", &id, "--yes"]).await;
    until("a closing transaction", async || (fixture.network.chain.unconfirmed() > 0).then_some(())).await;
    fixture.network.mine(6).await.unwrap();
    until("a counted closure", async || (node(&fixture).await["closures"]["cooperative"] == 1).then_some(())).await;
    let (code, _, errors) = lightning(&fixture, &["close", &id, "--yes"]).await;
    assert!(code == Some(1) && errors.contains("no such channel"), "{errors}");
    let status = said(&fixture, &["status"]).await;
    assert!(status.contains("closed       1 channels with the peer's agreement, 0 by force"), "{status}");
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
async fn a_node_beside_a_new_database_is_taken_over_by_command_only() {
    let mut fixture = Fixture::open().await;
    fixture.fund().await;
    assert!(fixture.usher.stop().await.success());
    let (code, _, errors) = lightning(&fixture, &["adopt", "--yes"]).await;
    assert!(code == Some(1) && errors.contains("knows these data already"), "{errors}");
    for file in ["usher.db", "usher.db-wal", "usher.db-shm"] {
        let _ = std::fs::remove_file(fixture.usher.data_dir().join(file));
    }
    fixture.usher.spawn();
    fixture.usher.ready().await.expect_err("the folder may be an old copy");
    let (code, _, errors) = lightning(&fixture, &["adopt"]).await;
    assert!(code == Some(2) && errors.contains("--yes"), "{errors}");
    said(&fixture, &["adopt", "--yes"]).await;

    fixture.usher.restart().await;
    fixture.until_node_runs().await;
    fixture.until_balance().await;
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
