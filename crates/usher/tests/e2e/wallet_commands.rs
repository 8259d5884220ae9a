//! What the commands of the reference wallet (`usher wallet`) promise, and no example of the documentation shows.

use std::io::Write as _;
use std::path::Path;
use std::process::{ChildStdin, Stdio};

use serde_json::{Value, json};
use usher_faults::mint::{Fault, FaultyMint, MintRoute};
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_mint::{Mint, MintOptions};
use usher_protocol::{Keys, PublicKey};
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork, NwcService};
use usher_sandbox::wallet::PaymentSource;

use crate::common::Running;
use crate::harness::{LONG, TestUsher};
use crate::wallet_kills::{held, run, tokens, wallet};

/// What a command says that fails.
fn refused(file: &Path, arguments: &[&str]) -> String {
    let output = wallet(file, arguments).output().unwrap();
    assert_eq!((output.status.success(), output.stdout.len()), (false, 0), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// `usher wallet run`, and its standard input.
fn start(file: &Path, options: &[&str]) -> (Running, ChildStdin) {
    let mut command = wallet(file, &["run"]);
    command.args(options).stdin(Stdio::piped());
    let mut running = Running::start(command);
    let input = running.stdin();
    running.wait_for("\"event\":\"wallet\"");
    (running, input)
}

fn next(running: &mut Running, part: &str) -> Value {
    serde_json::from_str(&running.wait_for(part)).unwrap()
}

fn key_of(file: &Path) -> PublicKey {
    PublicKey::parse(run(file, &["show"])[0]["main_key"].as_str().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_stay_in_files_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [file, phone, tablet] = ["w.json", "phone.json", "tablet.json"].map(|name| folder.path().join(name));
    let mint = Mint::start(MintOptions::new().auth_token("let me in")).await.unwrap();
    run(&file, &["new", "--relay", "ws://127.0.0.1:1"]);
    let before = std::fs::read(&file).unwrap();
    assert!(refused(&file, &["new"]).contains("already exists"));
    assert_eq!(std::fs::read(&file).unwrap(), before, "it is not overwritten");
    let key = serde_json::from_slice::<Value>(&before).unwrap()["secret_key"].as_str().unwrap().to_owned();

    let (account, secret) = (Keys::generate().public_key().to_hex(), Keys::generate().secret_key().to_secret_hex());
    run(&file, &["connect", &format!("nostr+walletconnect://{account}?relay=ws://127.0.0.1:1&secret={secret}")]);
    let mut said = refused(&file, &["connect", &format!("https://example.org/{secret}")]);
    for token in ["an old one", "let me in"] {
        said += &format!("{:?}", run(&file, &["mint-token", &format!("{}/", mint.url()), token]));
    }
    run(&file, &["take", &tokens(1, &mint, folder.path(), Some("let me in")).await[0]]);

    let main = file.to_str().unwrap();
    let device = run(&phone, &["new", "--device-of", main, "--name", "phone"]).remove(0);
    let shown = run(&file, &["show"]).remove(0);
    assert_eq!((&device["main_key"], &device["relays"]), (&shown["public_key"], &shown["relays"]));
    assert_ne!(device["public_key"], device["main_key"]);
    assert!(
        refused(&tablet, &["new", "--device-of", phone.to_str().unwrap()]).contains("only a wallet with the main key")
    );

    said += &shown.to_string();
    // Without --json, which comes first.
    let human = crate::common::usher().args(["wallet", "--wallet", main, "show"]).output().unwrap();
    said += &crate::common::stdout(&human);
    assert!(said.contains("connected"), "{said}");
    for hidden in [key.as_str(), &secret, "let me in"] {
        assert!(!said.contains(hidden), "{said}");
    }
    #[cfg(unix)]
    for name in ["w.json", "phone.json", "w.tickets.db"] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&folder.path().join(name).metadata().unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_given_ticket_is_taken_back_until_it_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    let [ours, theirs] = ["ours.json", "theirs.json"].map(|name| folder.path().join(name));
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    run(&ours, &["new"]);
    run(&theirs, &["new"]);
    run(&ours, &["take", &tokens(1, &mint, folder.path(), None).await[0]]);
    let give = || {
        let given = run(&ours, &["give", "2"]).remove(0);
        ["id", "token"].map(|field| given[field].as_str().unwrap().to_owned())
    };

    let [id, token] = give();
    let (balance, given) = held(&ours);
    assert_eq!((balance, given.len(), &given[0]["state"]), (6, 1, &json!("unspent")));
    assert!(!given[0].to_string().contains(&token), "a list shows no token");
    run(&ours, &["take-back", &id[..8]]);
    assert!(refused(&theirs, &["take", &token]).contains("already spent"));

    let [id, token] = give();
    run(&theirs, &["take", &token]);
    assert!(refused(&ours, &["take-back", &id]).contains("already spent"));
    refused(&ours, &["give", "7"]);
    assert_eq!((held(&ours).0, held(&theirs).0), (6, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_of_known_services_are_taken_at_last_and_those_of_others_when_they_are_approved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    let honest = Mint::start(MintOptions::new()).await.unwrap();
    let mint = FaultyMint::start(honest.url()).await.unwrap();
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).set("CASHU__ALLOW_PRIVATE_MINTS", true).start().await;
    let api = usher.api();
    run(&file, &["new", "--relay", relay.url()]);
    let (mut running, mut input) = start(&file, &[]);
    relay.wait_for(LONG, |metrics| metrics.open_subscriptions >= 2).await.unwrap();
    let send = async |amount: u64| {
        let mut body = json!({ "mint_url": mint.url(), "unit": "multi", "amount": amount });
        let token = api.post("/cashu/mint", &body).await.unwrap()["token"].take();
        body = json!({ "main_key": key_of(&file).to_hex(), "subkeys": [], "token": token,
            "mint_url": mint.url(), "unit": "multi" });
        api.post("/cashu/send-direct", &body).await.unwrap();
    };

    send(3).await;
    assert_eq!(next(&mut running, "\"asked\":\"ticket\"")["service"], Value::Null);
    assert_eq!(mint.count(MintRoute::Swap), 0);
    writeln!(input, "approve").unwrap();
    assert_eq!(next(&mut running, "\"event\":\"approved\"")["amount"], 3);

    writeln!(input, "open {}", api.handshake(json!({})).await.url).unwrap();
    running.wait_for("\"event\":\"opened\"");
    let before = mint.count(MintRoute::Swap);
    mint.set(MintRoute::Swap, Fault::Drop);
    send(4).await;
    let deadline = std::time::Instant::now() + LONG;
    while mint.count(MintRoute::Swap) == before {
        assert!(std::time::Instant::now() < deadline, "the wallet does not try");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    mint.heal();
    assert_eq!(next(&mut running, "\"asked\":\"ticket received\"")["amount"], 4);
    writeln!(input, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
    assert_eq!(held(&file).0, 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_answers_known_services_by_itself_and_another_terminal_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service =
        async |name| TestUsher::builder().relays(&[relay.url()]).set("PROFILE__DISPLAY_NAME", name).start().await;
    let (known, other) = (service("Corner \"Shop\"").await, service("Corner Shop").await);
    relay.wait_for(LONG, |metrics| metrics.events_of(0) >= 2 && metrics.open_subscriptions >= 2).await.unwrap();
    run(&file, &["new", "--relay", relay.url()]);
    run(&file, &["open", &known.api().handshake(json!({})).await.url.to_string()]);
    let (mut running, mut input) = start(&file, &["--auto", "decline", "--reason", "busy", "--delay", "0.1"]);
    relay.wait_for(LONG, |metrics| metrics.open_subscriptions >= 3).await.unwrap();
    let user = key_of(&file);

    let stream = known.api().authenticate(&user, &[]).await;
    assert_eq!(next(&mut running, "\"event\":\"request\"")["service_name"], "Corner 'Shop'");
    let event = known.api().outcome(&stream).await;
    assert_eq!((event.status(), &event.data["reason"]), ("declined", &json!("busy")));

    // Anybody can take the name.
    let stream = other.api().authenticate(&user, &[]).await;
    let request = next(&mut running, "\"event\":\"request\"");
    assert_eq!((&request["service"], &request["service_name"]), (&Value::Null, &Value::Null));
    // Before the service repeats it.
    run(&file, &["approve", "--wait", "10"]);
    assert_eq!(other.api().outcome(&stream).await.status(), "approved");
    writeln!(input, "approve").unwrap();
    running.wait_for("already approved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charges_of_subscriptions_are_paid_without_asking_and_no_invoice_twice() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 0), network.open_account("user", 1_000_000));
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let wallets = [NwcService::start(&shop, &[relay.url()]).await, NwcService::start(&user, &[relay.url()]).await];
    let usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set("WALLET__LN_BACKEND", "nwc")
        .set("WALLET__NETWORK", "regtest")
        .set("WALLET__NWC__URL", wallets[0].url())
        .start()
        .await;
    relay.wait_for(LONG, |metrics| metrics.open_subscriptions >= 4).await.unwrap();
    let api = usher.api();
    run(&file, &["new"]);
    run(&file, &["connect", &wallets[1].url()]);
    run(&file, &["open", &api.handshake(json!({})).await.url.to_string()]);
    let (mut running, mut input) = start(&file, &["--pay-subscriptions"]);
    relay.wait_for(LONG, |metrics| metrics.open_subscriptions >= 5).await.unwrap();
    let ask = async |path: &str, more: Value| {
        let mut body = json!({ "main_key": key_of(&file).to_hex(), "subkeys": [], "description": "Tea", "amount": 9_000,
            "currency": "millisats" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        api.post(path, &body).await.unwrap()["stream_id"].as_str().unwrap().to_owned()
    };

    let recurrence = json!({ "calendar": "monthly", "first_payment_due": 4_102_444_800_u64 });
    let expires_at = crate::harness::now() + 600;
    let stream = ask("/payments/recurring", json!({ "recurrence": recurrence, "expires_at": expires_at })).await;
    running.wait_for("\"asked\":\"recurring payment\"");
    writeln!(input, "approve").unwrap();
    let id = api.outcome(&stream).await.data["subscription_id"].clone();
    let stream = ask("/payments/single", json!({ "subscription_id": id })).await;
    running.wait_for("\"asked\":\"payment\"");
    assert_eq!(api.finished(&stream).await.last().unwrap().status(), "paid");

    let stream = ask("/payments/single", json!({})).await;
    running.wait_for("\"asked\":\"payment\"");
    writeln!(input, "balance").unwrap();
    assert_eq!(next(&mut running, "\"event\":\"balance\"")["balance"], 1_000_000 - 9_009);
    writeln!(input, "approve").unwrap();
    assert_eq!(api.finished(&stream).await.last().unwrap().status(), "paid");
    assert_eq!((shop.balance(), user.balance()), (18_000, 1_000_000 - 18_018));

    for source in [PaymentSource::Account(user.clone()), PaymentSource::connected(&wallets[1].url()).unwrap()] {
        let invoice = shop.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
        let paid = source.pay(invoice.as_str(), None).await.unwrap();
        assert_eq!(source.pay(invoice.as_str(), None).await.unwrap(), paid, "the earlier payment");
        assert_eq!(network.executed(invoice.payment_hash()), 1);
    }
}
