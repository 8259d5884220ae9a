//! `usher wallet …`, without the program around it.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use clap::Parser;
use nostr::{EventBuilder, Kind, ToBech32 as _};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use usher_protocol::message::AuthStatus;
use usher_sandbox::cli::{self, CliError, Console, WalletArgs};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{FileError, WalletError, WalletFile};

use crate::raw_client::LONG;
use crate::scripted_service::{Service, is_approved};

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    wallet: WalletArgs,
}

#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.json().iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
    }
}

/// A command under way.
pub(crate) struct Command {
    pub(crate) output: Output,
    pub(crate) lines: mpsc::Sender<String>,
    pub(crate) stop: CancellationToken,
    pub(crate) done: JoinHandle<Result<(), CliError>>,
}

pub(crate) fn start(folder: &TempDir, arguments: &[&str]) -> Command {
    let args = Program::try_parse_from(["wallet"].iter().chain(arguments)).unwrap().wallet;
    let output = Output::default();
    let (lines, input) = mpsc::channel(8);
    let stop = CancellationToken::new();
    let (file, console, ended) =
        (folder.path().join("w.json"), Console::new(Box::new(output.clone()), input), stop.clone());
    let done = tokio::spawn(async move { cli::run(args, &file, console, ended).await });
    Command { output, lines, stop, done }
}

pub(crate) async fn run(folder: &TempDir, arguments: &[&str]) -> Result<Output, CliError> {
    let command = start(folder, arguments);
    command.done.await.unwrap()?;
    Ok(command.output)
}

pub(crate) fn file(folder: &TempDir) -> WalletFile {
    WalletFile::load(&folder.path().join("w.json")).unwrap()
}

/// A user who has opened the service's URL.
pub(crate) async fn user_of(service: &mut Service) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["new"]).await.unwrap();
    let opened = run(&folder, &["--json", "open", &service.url().to_string()]).await.unwrap();
    assert_eq!(opened.json()[0]["confirmed"], true);
    service.next_handshake().await;
    folder
}

/// Repeats the challenge, as services do, until the wallet answers.
async fn challenge_until_answered(service: &mut Service, folder: &TempDir, challenge: &str) -> AuthStatus {
    let key = file(folder).identity.public_key();
    loop {
        service.challenge(&key, challenge).await;
        let wait = std::time::Duration::from_millis(300);
        if let Ok((_, response)) = tokio::time::timeout(wait, service.next_response()).await {
            assert_eq!(response.challenge, challenge);
            return response.status;
        }
    }
}

#[tokio::test]
async fn new_creates_a_private_file_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let made = run(&folder, &["new", "--relay", "ws://127.0.0.1:1", "--json"]).await.unwrap();
    let path = folder.path().join("w.json");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let secret = file(&folder).identity.keys().secret_key().to_secret_hex();
    let shown = run(&folder, &["show", "--json"]).await.unwrap();
    let human = run(&folder, &["show"]).await.unwrap();
    assert_eq!(made.json(), shown.json());
    assert_eq!(shown.json()[0]["relays"][0], "ws://127.0.0.1:1");
    for output in [&made, &shown, &human] {
        assert!(!output.text().contains(&secret));
    }
    assert!(!format!("{:?}", file(&folder)).contains(&secret));
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(run(&folder, &["new"]).await, Err(CliError::File(FileError::Exists(_)))));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn missing_or_broken_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let error = run(&folder, &["show"]).await.err().unwrap();
    assert!(error.to_string().contains("usher wallet new"), "{error}");
    let path = folder.path().join("w.json");
    for (text, is_key) in [("{\"secret_key\": \"5ec2e7\", ", false), ("{\"secret_key\": \"5ec2e7\"}", true)] {
        std::fs::write(&path, text).unwrap();
        let error = run(&folder, &["show"]).await.err().unwrap();
        assert_eq!(matches!(error, CliError::File(FileError::Key { .. })), is_key);
        assert!(!format!("{error:?} {error}").contains("5ec2e7"));
    }
    assert!(matches!(run(&folder, &["open", "nonsense"]).await, Err(CliError::File(_))));
    std::fs::remove_file(&path).unwrap();
    run(&folder, &["new"]).await.unwrap();
    assert!(matches!(run(&folder, &["open", "nonsense"]).await, Err(CliError::Url(_))));
    assert!(matches!(run(&folder, &["requests", "--wait", "0"]).await, Err(CliError::NowhereToListen)));
    assert!(matches!(run(&folder, &["approve", "--wait", "0"]).await, Err(CliError::NowhereToListen)));
}

#[tokio::test]
async fn login_in_one_command() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["new"]).await.unwrap();
    let login = start(&folder, &["login", &service.url().to_string(), "--json"]);
    service.next_handshake().await;
    let status = challenge_until_answered(&mut service, &folder, "c").await;
    assert!(matches!(status, AuthStatus::Approved { .. }));
    login.done.await.unwrap().unwrap();
    assert_eq!(login.output.events(), ["opened", "request", "approved"]);
    assert_eq!(login.output.json()[2]["id"], "c");
    assert_eq!(file(&folder).services[0].main_key, service.key());

    let mut url = service.url();
    url.no_request = true;
    let done = run(&folder, &["login", &url.to_string()]).await.unwrap();
    assert!(done.text().contains("no authentication"), "{}", done.text());
    let nothing = run(&folder, &["login", &service.url().to_string(), "--wait", "0.2"]).await;
    assert!(matches!(nothing, Err(CliError::NoRequest(_))));
}

#[tokio::test]
async fn requests_are_kept_until_answered() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let folder = user_of(&mut service).await;
    let key = file(&folder).identity.public_key();
    assert!(matches!(run(&folder, &["requests", "--wait", "0.2"]).await, Err(CliError::NoRequest(_))));

    let listening = start(&folder, &["requests", "--wait", "3", "--json"]);
    while !listening.done.is_finished() {
        service.challenge(&key, "abc1").await;
        service.challenge(&key, "abd2").await;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    listening.done.await.unwrap().unwrap();
    let ids: Vec<_> = listening.output.json().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&"abc1".to_owned()) && ids.contains(&"abd2".to_owned()));

    for which in [&["approve"][..], &["approve", "ab"]] {
        assert!(
            matches!(run(&folder, which).await, Err(CliError::Ambiguous(ids)) if ids[0].contains(" (authentication"))
        );
    }
    let unknown = run(&folder, &["approve", "x", "--wait", "0.2"]).await;
    assert!(matches!(unknown, Err(CliError::NoSuchRequest { id, .. }) if id == "x"));
    run(&folder, &["approve", "abc"]).await.unwrap();
    assert!(is_approved(&service.next_response().await.1));
    // One is left: it needs no name.
    let declined = run(&folder, &["decline", "--reason", "no"]).await.unwrap();
    assert!(declined.text().contains("abd2 (authentication"), "{}", declined.text());
    let (_, response) = service.next_response().await;
    assert_eq!((response.challenge.as_str(), is_approved(&response)), ("abd2", false));
    assert!(file(&folder).requests.iter().all(|saved| saved.answered));
    assert!(matches!(run(&folder, &["approve", "--wait", "0.2"]).await, Err(CliError::NoRequest(_))));
}

#[tokio::test]
async fn commands_answer_what_a_running_wallet_has_received() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let folder = user_of(&mut service).await;
    let key = file(&folder).identity.public_key();
    let waiting = start(&folder, &["approve", "second", "--wait", "60"]);
    let running = start(&folder, &["run"]);
    for id in ["first", "second"] {
        while !running.output.text().contains(id) {
            service.challenge(&key, id).await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    // The service sends nothing any more.
    waiting.done.await.unwrap().unwrap();
    assert_eq!(service.next_response().await.1.challenge, "second");
    while file(&folder).requests.len() < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    run(&folder, &["approve", "first", "--wait", "0"]).await.unwrap();
    assert_eq!(service.next_response().await.1.challenge, "first");
    assert!(file(&folder).requests.iter().all(|saved| saved.answered));
    // Each knows what the other has answered.
    running.lines.send("requests".to_owned()).await.unwrap();
    running.lines.send("approve first".to_owned()).await.unwrap();
    while !running.output.text().contains("already approved") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(running.output.text().matches("authentication").count(), 2, "{}", running.output.text());
    running.stop.cancel();
    running.done.await.unwrap().unwrap();
}

/// Publishes a profile at the service's relay.
async fn publish_profile(service: &mut Service, content: &str) {
    let profile = EventBuilder::new(Kind::Metadata, content).sign_with_keys(&service.keys).unwrap();
    service.raw.publish(&profile).await;
    assert_eq!(service.raw.next_of("OK").await[2], true);
}

#[tokio::test]
async fn requests_show_the_name_that_the_service_has_published() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    publish_profile(&mut service, r#"{"name":"shop","display_name":"Corner\u001b[31m \"Shop\""}"#).await;
    let folder = user_of(&mut service).await;
    // Whom the user does not know can take any name.
    let mut stranger = Service::start(relay.url()).await;
    publish_profile(&mut stranger, r#"{"name":"Corner Shop"}"#).await;
    let running = start(&folder, &["run"]);
    let running_json = start(&folder, &["run", "--json"]);
    let key = file(&folder).identity.public_key();
    let is_shown = |id: &str| running.output.text().contains(id) && running_json.output.text().contains(id);
    for (service, id) in [(&mut service, "known"), (&mut stranger, "unknown")] {
        while !is_shown(id) {
            service.challenge(&key, id).await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    let text = running.output.text();
    let (known, unknown) = (npub(&service), npub(&stranger));
    assert!(text.contains(&format!("authentication known from \"Corner[31m 'Shop'\" ({known}),")), "{text}");
    assert!(text.contains(&format!("authentication unknown from {unknown} (unknown service")), "{text}");
    let names: Vec<_> = running_json
        .output
        .json()
        .iter()
        .skip(1)
        .map(|line| (line["id"].clone(), line["service_name"].clone()))
        .collect();
    assert_eq!(names, [("known".into(), "Corner[31m 'Shop'".into()), ("unknown".into(), Value::Null)]);
    // So does a command that ends.
    let listening = start(&folder, &["requests", "--wait", "3", "--json"]);
    while !listening.done.is_finished() {
        service.challenge(&key, "again").await;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    listening.done.await.unwrap().unwrap();
    assert_eq!(listening.output.json()[0]["service_name"], "Corner[31m 'Shop'");
    for running in [running, running_json] {
        running.stop.cancel();
        running.done.await.unwrap().unwrap();
    }
}

fn npub(service: &Service) -> String {
    service.key().to_bech32().unwrap()
}

#[tokio::test]
async fn unreachable_relay_is_reported_instead_of_no_request() {
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["new", "--relay", "ws://127.0.0.1:1"]).await.unwrap();
    let (listening, answering) =
        tokio::join!(run(&folder, &["requests", "--wait", "0"]), run(&folder, &["approve", "--wait", "0"]));
    for outcome in [listening, answering] {
        assert!(matches!(outcome, Err(CliError::Wallet(WalletError::Unreachable(_)))), "{:?}", outcome.err());
    }
}

#[tokio::test]
async fn approve_waits_for_a_request() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let folder = user_of(&mut service).await;
    let approving = start(&folder, &["approve", "late"]);
    let status = challenge_until_answered(&mut service, &folder, "late-one").await;
    assert!(matches!(status, AuthStatus::Approved { .. }));
    approving.done.await.unwrap().unwrap();
    assert!(approving.output.text().starts_with("approved late-one"), "{}", approving.output.text());
}

#[tokio::test]
async fn run_replies_automatically() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let folder = user_of(&mut service).await;
    let running = start(&folder, &["run", "--auto", "decline", "--reason", "busy", "--delay", "0.1", "--json"]);
    let status = challenge_until_answered(&mut service, &folder, "c").await;
    assert_eq!(status, AuthStatus::Declined { reason: Some("busy".to_owned()) });
    // An unknown service gets no automatic reply; the user can still reply.
    let mut stranger = Service::start(relay.url()).await;
    stranger.challenge(&file(&folder).identity.public_key(), "stranger").await;
    while !running.output.text().contains("stranger") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    running.lines.send("approve str".to_owned()).await.unwrap();
    assert!(is_approved(&stranger.next_response().await.1));
    running.stop.cancel();
    running.done.await.unwrap().unwrap();
    assert_eq!(running.output.events(), ["wallet", "request", "request", "approved"]);
}

#[tokio::test]
async fn run_executes_typed_commands() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["new"]).await.unwrap();
    let running = start(&folder, &["run"]);
    let say = |line: &str| running.lines.send(line.to_owned());
    say("approve").await.unwrap();
    say("what?").await.unwrap();
    say("open nonsense").await.unwrap();
    say(&format!("open {}", service.url())).await.unwrap();
    service.next_handshake().await;
    let key = file(&folder).identity.public_key();
    service.challenge(&key, "first").await;
    service.challenge(&key, "second").await;
    while !running.output.text().contains("authentication second") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    say("decline sec no, thanks").await.unwrap();
    let (_, response) = service.next_response().await;
    assert_eq!(response.challenge, "second");
    assert_eq!(response.status, AuthStatus::Declined { reason: Some("no, thanks".to_owned()) });
    say("approve").await.unwrap();
    assert_eq!(service.next_response().await.1.challenge, "first");
    say("quit").await.unwrap();
    running.done.await.unwrap().unwrap();
    let text = running.output.text();
    assert!(text.contains("no such request") && text.contains("quit") && text.contains("not a handshake URL"));
    assert_eq!(file(&folder).services.len(), 1);
}

#[tokio::test]
async fn device_of_a_user_logs_in() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let folder = user_of(&mut service).await;
    let main = folder.path().join("w.json");
    let phone = folder.path().join("phone.json");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (main, phone) = (text(&main), text(&phone));
    run(&folder, &["--wallet", &phone, "new", "--device-of", &main, "--name", "phone"]).await.unwrap();
    let device = WalletFile::load(Path::new(&phone)).unwrap();
    assert_eq!(device.identity.main_key(), file(&folder).identity.public_key());
    assert_eq!(device.identity.proof().unwrap().metadata.name, "phone");
    assert_eq!(device.relays, [relay.url()]);
    let tablet = folder.path().join("tablet.json");
    let of_device = run(&folder, &["--wallet", &text(&tablet), "new", "--device-of", &phone]).await;
    assert!(matches!(of_device, Err(CliError::NotTheMainKey)));
    assert!(matches!(
        run(&folder, &["--wallet", &text(&tablet), "new", "--relay", "http://x"]).await,
        Err(CliError::NotARelay(_))
    ));
}

#[tokio::test]
async fn unreachable_service_is_an_error() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let service = Service::start(relay.url()).await;
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["new"]).await.unwrap();
    relay.stop().await;
    let opening = start(&folder, &["open", &service.url().to_string()]);
    let error = tokio::time::timeout(LONG, opening.done).await.unwrap().unwrap().unwrap_err();
    assert!(error.to_string().contains("none of the relays could be reached"), "{error}");
}

#[test]
fn arguments_are_checked() {
    for bad in [
        &["run", "--delay", "1"][..],
        &["run", "--auto", "maybe"],
        &["requests", "--wait", "-1"],
        &["requests", "--wait", "NaN"],
        &["requests", "--wait", "1e9"],
    ] {
        assert!(Program::try_parse_from(["wallet"].iter().chain(bad)).is_err(), "{bad:?}");
    }
}
