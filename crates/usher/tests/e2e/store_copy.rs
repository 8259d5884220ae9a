//! `usher store copy`: the service goes on with the other database, and however the copy is interrupted, at most one of the two
//! can be used.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::Rng as _;
use serde_json::json;
use usher_engine::ports::SettingStore as _;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_mint::{Mint, MintOptions};
use usher_store::{CopyState, DatabaseInspection, PostgresInspection, PostgresOptions, SqliteOptions, SqliteStore};
use usher_test_tools::{PostgresServer, soak};

use crate::crash::dice;
use crate::harness::{CallError, HandmadeWallet, LONG, TestUsher};
use crate::webhooks::webhook_receiver::{App, Reply};

/// How long a lease lasts here, in seconds.
const LEASE: u64 = 2;

/// The mint's static token.
const MINT_TOKEN: &str = "token-of-the-mint-s3cret";

fn configure(usher: &mut TestUsher, url: &str) {
    usher.set("DATABASE__URL", url);
    usher.set("DATABASE__LEASE_SECONDS", LEASE);
    usher.set("PAGES__PUBLIC_URL", "http://127.0.0.1:9/");
}

fn run(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
}

fn copy(usher: &TestUsher, to: &str) -> Output {
    run(usher.command(&["store", "copy", "--to", to]))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Tables, rows and digests, as they were printed.
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

async fn until_active(usher: &TestUsher) {
    let deadline = Instant::now() + LONG;
    loop {
        if let Ok(ready) | Err(CallError::Status(503, ready)) = usher.api().get("/health/ready").await
            && ready["instance"] == "active"
        {
            return;
        }
        assert!(Instant::now() < deadline, "it never is active");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A start on a database that was moved.
async fn assert_refused(usher: &mut TestUsher) {
    usher.spawn();
    let deadline = Instant::now() + LONG;
    let status = loop {
        // One with PostgreSQL responds as a standby first.
        match usher.ready().await {
            Err(status) => break status,
            Ok(()) => assert!(Instant::now() < deadline, "it is not refused"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(status.code(), Some(78));
    let log = usher.log();
    assert!(log.contains(" was moved to ") && log.contains("must not be used again"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_goes_on_with_the_copy_of_its_store() {
    let server = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap();
    let url = server.url(&server.database());
    let mint = Mint::start(MintOptions::new().auth_token(MINT_TOKEN)).await.unwrap();
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let accepts = Arc::new(AtomicBool::new(false));
    let rule = Arc::clone(&accepts);
    let accepting = move |_: &_, _| if rule.load(Ordering::SeqCst) { Reply::Ok } else { Reply::Status(503, "") };
    let app = App::start(accepting).await;
    let builder = TestUsher::builder().relays(&[relay.url()]).set("WEBHOOK__URL", app.url());
    let mut usher = builder.set("CASHU__ALLOW_PRIVATE_MINTS", true).start().await;
    let api = usher.api();

    // A login that is open, an answered request, deliveries that wait, and money.
    let open = api.handshake(json!({})).await;
    let (first, _) = api.post_once("/key-handshake", "before", &json!({})).await.unwrap();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    for count in 1..=3 {
        relay.inject(HandmadeWallet::new().handshake(&reusable.url));
        api.at_least(&reusable.stream, count).await;
    }
    app.until("an event is refused", |app| !app.posts().is_empty()).await;
    let amount = json!({ "mint_url": mint.url(), "unit": "multi", "amount": 9, "static_token": MINT_TOKEN });
    let token = api.post_once("/cashu/mint", "mint", &amount).await.unwrap().0["token"].clone();
    let burn = json!({ "mint_url": mint.url(), "unit": "multi", "token": token, "static_token": MINT_TOKEN });
    api.post_once("/cashu/burn", "burn", &burn).await.unwrap();
    let balances = api.get("/cashu/balances").await.unwrap();
    assert_eq!(balances["balances"][0]["amount"], 9, "{balances}");

    configure(&mut usher, &url);
    let in_use = copy(&usher, "postgres");
    assert!(!in_use.status.success() && said(&in_use).contains("in use"), "{}", said(&in_use));
    assert!(usher.stop().await.success());
    if cfg!(feature = "embedded-lightning") {
        refuses_a_lightning_node(&usher).await;
    }
    let moved = copy(&usher, "postgres");
    assert!(printed(&moved).contains("operations"), "{}", printed(&moved));
    assert!(!said(&moved).contains(server.password()));

    usher.unset("DATABASE__URL");
    assert_refused(&mut usher).await;
    usher.set("DATABASE__URL", &url);
    usher.spawn();
    usher.ready().await.unwrap();
    until_active(&usher).await;
    let in_use = copy(&usher, "sqlite");
    assert!(!in_use.status.success() && said(&in_use).contains("in use"), "{}", said(&in_use));

    assert_eq!(api.post_once("/key-handshake", "before", &json!({})).await.unwrap(), (first.clone(), true));
    relay.inject(HandmadeWallet::new().handshake(&open.url));
    api.at_least(&open.stream, 1).await;
    assert_eq!(api.get("/cashu/balances").await.unwrap(), balances);
    relay.inject(HandmadeWallet::new().handshake(&reusable.url));
    api.at_least(&reusable.stream, 4).await;
    let doctor = run(usher.command(&["doctor"]));
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("every row is readable"), "{doctor}");

    // Back, into a file of another name: the old one is in its place.
    assert!(usher.stop().await.success());
    let occupied = copy(&usher, "sqlite");
    assert!(!occupied.status.success() && said(&occupied).contains("was moved to"), "{}", said(&occupied));
    usher.set("DATABASE__PATH", "back.db");
    printed(&copy(&usher, "sqlite"));
    assert_refused(&mut usher).await;
    usher.unset("DATABASE__URL");
    usher.spawn();
    usher.ready().await.unwrap();
    accepts.store(true, Ordering::SeqCst);
    for stream in [&open.stream, &reusable.stream] {
        let (events, _) = api.events(stream).await;
        app.takes(stream, events.len()).await;
        let got: Vec<_> = app.accepted(stream).iter().map(|event| event["index"].clone()).collect();
        assert_eq!(got, (0..events.len()).map(|index| json!(index)).collect::<Vec<_>>(), "each once, in order");
    }
    app.assert_order();
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
    let refused = copy(usher, "postgres");
    assert!(!refused.status.success() && said(&refused).contains("Lightning node"), "{}", said(&refused));
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
        assert!(!run(command).status.success(), "it dies at {point}");
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
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let server = tokio::task::spawn_blocking(PostgresServer::start).await.unwrap();
    let mut usher = TestUsher::builder().relays(&[relay.url()]).set("HANDSHAKE__TTL_SECONDS", 86_400).start().await;
    let mut rows = 0;
    for _ in 0..200 {
        usher.api().handshake(json!({})).await;
        rows += 1;
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
            let again = copy(&usher, to);
            if !again.status.success() {
                assert!(said(&again).contains("was moved to"), "{}", said(&again));
            }
            let mut digests: Vec<_> = String::from_utf8(again.stdout).unwrap().lines().map(str::to_owned).collect();
            digests.sort();
            // Empty when the killed one had stored everything.
            if !digests.is_empty() {
                assert_eq!(expected.get_or_insert_with(|| digests.clone()), &digests);
            }
            assert_one_is_usable(&file, &server, &database, rows).await;
        }
    }
    usher.unset("DATABASE__URL");
    usher.spawn();
    usher.ready().await.unwrap();
}
