//! `usher store copy`: the service goes on with the other database, and however the copy is interrupted, at most one of the two
//! can be used.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rand::Rng as _;
use serde_json::json;
use usher_engine::ports::SettingStore as _;
use usher_mint::{Mint, MintOptions};
use usher_store::{CopyState, DatabaseInspection, PostgresInspection, PostgresOptions, SqliteOptions, SqliteStore};
use usher_testing::{PostgresServer, soak};

use crate::harness::{HandmadeWallet, TestUsher, dice, until};
use crate::instances::until_role;

/// How long a lease lasts here, in seconds.
const LEASE: u64 = 2;

const MINT_TOKEN: &str = "token-of-the-mint-s3cret";

fn configure(usher: &mut TestUsher, url: &str) {
    usher.set("DATABASE__URL", url);
    usher.set("DATABASE__LEASE_SECONDS", LEASE);
    usher.set("PAGES__PUBLIC_URL", "http://127.0.0.1:9/");
}

async fn copy_is_refused(usher: &TestUsher, to: &str, why: &str) {
    let (code, _, said) = usher.run(&["store", "copy", "--to", to]).await;
    assert!(code != Some(0) && said.contains(why), "{said}");
}

/// A start on a database that was moved.
async fn assert_refused(usher: &mut TestUsher) {
    usher.spawn();
    // One with PostgreSQL responds as a standby first.
    let status = until("refusal", async || usher.ready().await.err()).await;
    assert_eq!(status.code(), Some(78));
    let log = usher.log();
    assert!(log.contains(" was moved to ") && log.contains("must not be used again"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_goes_on_with_the_copy_of_its_store() {
    let server = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap();
    let url = server.url(&server.database());
    let mint = Mint::start(MintOptions::new().auth_token(MINT_TOKEN)).await.unwrap();
    let (relay, mut usher) = TestUsher::builder().set("CASHU__ALLOW_PRIVATE_MINTS", true).start_at_relay().await;
    let api = usher.api();

    // A login that is open, an answered request, events, and money.
    let open = api.handshake(json!({})).await;
    let (first, _) = api.post_once("/key-handshake", "before", &json!({})).await.unwrap();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    for count in 1..=3 {
        relay.inject(HandmadeWallet::new().handshake(&reusable.url));
        api.at_least(&reusable.stream, count).await;
    }
    let amount = json!({ "mint_url": mint.url(), "unit": "multi", "amount": 9, "static_token": MINT_TOKEN });
    let token = api.post_once("/cashu/mint", "mint", &amount).await.unwrap().0["token"].clone();
    let burn = json!({ "mint_url": mint.url(), "unit": "multi", "token": token, "static_token": MINT_TOKEN });
    api.post_once("/cashu/burn", "burn", &burn).await.unwrap();
    let balances = api.get("/cashu/balances").await.unwrap();
    assert_eq!(balances["balances"][0]["amount"], 9, "{balances}");

    configure(&mut usher, &url);
    copy_is_refused(&usher, "postgres", "in use").await;
    assert!(usher.stop().await.success());
    if cfg!(feature = "embedded-lightning") {
        refuses_a_lightning_node(&usher).await;
    }
    let (code, printed, said) = usher.run(&["store", "copy", "--to", "postgres"]).await;
    assert!(code == Some(0) && printed.contains("operations") && !said.contains(server.password()), "{printed} {said}");

    usher.unset("DATABASE__URL");
    assert_refused(&mut usher).await;
    usher.set("DATABASE__URL", &url);
    usher.start_again().await;
    until_role(&usher.api(), "active").await;
    copy_is_refused(&usher, "sqlite", "in use").await;

    assert_eq!(api.post_once("/key-handshake", "before", &json!({})).await.unwrap(), (first.clone(), true));
    relay.inject(HandmadeWallet::new().handshake(&open.url));
    api.at_least(&open.stream, 1).await;
    assert_eq!(api.get("/cashu/balances").await.unwrap(), balances);
    relay.inject(HandmadeWallet::new().handshake(&reusable.url));
    api.at_least(&reusable.stream, 4).await;
    let (_, doctor, _) = usher.run(&["doctor"]).await;
    assert!(doctor.contains("every row is readable"), "{doctor}");

    // Back, into a file of another name: the old one is in its place.
    assert!(usher.stop().await.success());
    copy_is_refused(&usher, "sqlite", "was moved to").await;
    usher.set("DATABASE__PATH", "back.db");
    usher.says(&["store", "copy", "--to", "sqlite"]).await;
    assert_refused(&mut usher).await;
    usher.unset("DATABASE__URL");
    usher.start_again().await;
    assert_eq!((api.events(&open.stream).await.0.len(), api.events(&reusable.stream).await.0.len()), (1, 4));
    assert_eq!(api.post_once("/key-handshake", "before", &json!({})).await.unwrap(), (first, true));
    assert_eq!(api.get("/cashu/balances").await.unwrap(), balances);
    let burnt_again = api.post_once("/cashu/burn", "burn", &burn).await.unwrap();
    assert!(burnt_again.1, "answered as before");
}

/// Its data are not in the store, and cannot be in PostgreSQL.
async fn refuses_a_lightning_node(usher: &TestUsher) {
    let set = async |value| {
        let store = SqliteStore::open(&usher.data_dir().join("usher.db"), SqliteOptions::default()).unwrap();
        store.set_setting("lightning.generation", value).await.unwrap();
        store.close().await;
    };
    set(Some("5")).await;
    copy_is_refused(usher, "postgres", "Lightning node").await;
    set(None).await;
}

/// What a copy that was killed has left.
async fn assert_one_is_usable(file: &Path, server: &PostgresServer, database: &str, rows: u64) {
    let of_file = match DatabaseInspection::open(file) {
        Ok(file) => Some(file.copy_mark().unwrap().map(|mark| mark.state)),
        Err(_) if !file.exists() || file.metadata().unwrap().len() == 0 => None,
        Err(error) => panic!("{error:?}"),
    };
    let options = PostgresOptions::new(server.url(database).into());
    let inspection = PostgresInspection::open(&options).await.unwrap();
    let of_database = match &inspection {
        // Between two migrations.
        Some(database) if database.schema_version().0 < database.schema_version().1 => None,
        Some(inspection) => {
            let mark = inspection.copy_mark().await.unwrap().map(|mark| mark.state);
            let (open, damaged) = inspection.damaged_rows(|_| true).await.unwrap();
            assert!(damaged.is_empty() && (open == 0 || open == rows), "{open} of {rows}: {damaged:?}");
            (open > 0).then_some(mark)
        }
        None => None,
    };
    match (of_file, of_database) {
        (Some(None), None | Some(Some(_))) | (None | Some(Some(_)), Some(None)) => {}
        (Some(Some(CopyState::Moved)), Some(Some(CopyState::Unfinished)))
        | (Some(Some(CopyState::Unfinished)), Some(Some(CopyState::Moved))) => {}
        other => panic!("{other:?}"),
    }
}

/// Runs a copy that dies at this fail point, or so many milliseconds after its start.
async fn killed_copy(usher: &TestUsher, to: &str, point: Option<&str>, after: u64) {
    let mut command = usher.command(&["store", "copy", "--to", to]);
    if let Some(point) = point {
        command.env("FAILPOINTS", format!("{point}=return"));
        assert!(!command.output().unwrap().status.success(), "it dies at {point}");
        return;
    }
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    tokio::time::sleep(Duration::from_millis(after)).await;
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_instant_at_most_one_database_can_be_used() {
    let mut dice = dice();
    let rows = 200;
    let server = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap();
    let (_relay, mut usher) = TestUsher::builder().set("HANDSHAKE__TTL_SECONDS", 86_400).start_at_relay().await;
    for _ in 0..rows {
        usher.api().handshake(json!({})).await;
    }
    assert!(usher.stop().await.success());
    let points = ["copy-compared", "copy-committed", "copy-marked"].map(Some);
    let random = std::iter::repeat_n(None, soak::repetitions(20));
    let mut file = usher.data_dir().join("usher.db");
    let mut expected: Option<Vec<String>> = None;
    for (round, point) in points.into_iter().chain(random).enumerate() {
        let database = server.database();
        configure(&mut usher, &server.url(&database));
        for to in ["postgres", "sqlite"] {
            if to == "sqlite" {
                let name = format!("round-{round}.db");
                usher.set("DATABASE__PATH", &name);
                file = usher.data_dir().join(name);
            }
            killed_copy(&usher, to, point, dice.random_range(0..1500)).await;
            assert_one_is_usable(&file, &server, &database, rows).await;
            let (code, printed, said) = usher.run(&["store", "copy", "--to", to]).await;
            assert!(code == Some(0) || said.contains("was moved to"), "{said}");
            let mut digests: Vec<_> = printed.lines().map(str::to_owned).collect();
            digests.sort();
            // Empty when the killed one had stored everything.
            if !digests.is_empty() {
                assert_eq!(expected.get_or_insert_with(|| digests.clone()), &digests);
            }
            assert_one_is_usable(&file, &server, &database, rows).await;
        }
    }
    usher.unset("DATABASE__URL");
    usher.start_again().await;
}
