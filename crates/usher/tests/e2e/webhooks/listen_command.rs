//! `usher listen` beside a service.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use usher_faults::relay::{Quirks, QuirkyRelay};

use super::webhook_receiver::{App, Reply};
use super::{body, event};
use crate::harness::{HandmadeWallet, LONG, TestUsher};

/// A running `usher listen`; killed with this value.
struct Listener {
    child: Child,
    out: UnboundedReceiver<String>,
    err: UnboundedReceiver<String>,
}

/// The lines of a pipe, as they come.
fn lines(pipe: impl Read + Send + 'static) -> UnboundedReceiver<String> {
    let (to_lines, lines) = unbounded_channel();
    std::thread::spawn(move || {
        BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| to_lines.send(line))
    });
    lines
}

/// The program, listening to this service with this token.
fn listen(base: &str, token: &str, folder: &Path) -> Command {
    let token_file = folder.join("token");
    std::fs::write(&token_file, format!("{token}\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_usher"));
    command.env_clear().env("HOME", folder).args(["listen", "--base", base, "--token-file"]).arg(&token_file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Listener {
    /// Listens to this service with these options, and waits until it does.
    async fn start(usher: &TestUsher, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let api = usher.api();
        let mut child = listen(&api.base, &api.token, folder.path()).args(options).spawn().expect("it starts");
        let (out, err) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        let mut listener = Self { child, out, err };
        // It has read the file by then.
        listener.says("listening to http://127.0.0.1").await;
        listener
    }

    /// Waits until it says this on standard error.
    async fn says(&mut self, part: &str) -> String {
        loop {
            let line = timeout(LONG, self.err.recv()).await.expect("a line in time");
            let line = line.unwrap_or_else(|| panic!("it ended without {part:?}"));
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The next line of standard output.
    async fn line(&mut self) -> String {
        timeout(LONG, self.out.recv()).await.expect("a line in time").expect("it has not ended")
    }

    /// Stops it like Ctrl-C; returns its standard output.
    async fn end(&mut self) -> Vec<String> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut said = Vec::new();
        while let Some(line) = timeout(LONG, self.out.recv()).await.expect("its end") {
            said.push(line);
        }
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        said
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn service() -> (QuirkyRelay, TestUsher) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
    (relay, usher)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_shown_and_posted_as_the_webhook_would() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let app = App::start(|_, _| Reply::Status(202, "")).await;
    api.finished(&event(&api, &relay).await).await;
    let forward_to = app.url();
    let options = ["--forward-to", &forward_to, "--secret", "a secret of our own", "--json"];
    let mut listener = Listener::start(&usher, &options).await;
    for _ in 0..3 {
        let stream = event(&api, &relay).await;
        let expected = body(&stream, &api.outcome(&stream).await);
        let shown: Value = serde_json::from_str(&listener.line().await).unwrap();
        assert_eq!(shown, json!({ "event": expected }));
        let outcome: Value = serde_json::from_str(&listener.line().await).unwrap();
        let outcome = &outcome["forwarded"];
        assert_eq!((&outcome["stream_id"], &outcome["status"]), (&json!(stream), &json!(202)));
        assert_eq!((&outcome["accepted"], &outcome["reason"]), (&json!(true), &Value::Null));
        let posts = app.posts_of(&stream);
        assert_eq!((posts.len(), posts[0].json()), (1, expected));
        assert!(posts[0].header("webhook-signature").starts_with("v1,"));
        assert_eq!(posts[0].header("x-service-signature").len(), 64);
    }
    assert_eq!(app.posts().len(), 3, "what was before is not shown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_on_after_a_restart_and_shows_one_stream_when_asked() {
    let (relay, mut usher) = service().await;
    let api = usher.api();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    let mut listener = Listener::start(&usher, &["--stream", &reusable.stream]).await;
    event(&api, &relay).await;
    relay.inject(HandmadeWallet::new().handshake(&reusable.url));
    let line = listener.line().await;
    assert!(line.contains("Z  KeyHandshake  ") && line.contains(&format!("{}:0  {{", reusable.stream)), "{line}");

    usher.restart().await;
    listener.says("connection to the service lost").await;
    listener.says("listening to").await;
    relay.wait_for(LONG, |metrics| metrics.reqs >= 2).await.expect("the service subscribes");
    relay.inject(HandmadeWallet::new().handshake(&reusable.url));
    assert!(listener.line().await.contains(&format!("{}:1  {{", reusable.stream)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_secret_one_is_made_up_and_shown_and_a_refusal_is_said() {
    let (relay, usher) = service().await;
    let app = App::start(|_, _| Reply::Status(500, "")).await;
    let forward_to = app.url();
    let mut listener = Listener::start(&usher, &["--forward-to", &forward_to]).await;
    let stream = event(&usher.api(), &relay).await;
    assert!(listener.line().await.contains(&stream));
    let outcome = listener.line().await;
    assert!(outcome.contains("→ failed: ") && outcome.contains("500"), "{outcome}");
    assert!(app.posts()[0].headers.contains_key("webhook-signature"));
    assert!(listener.end().await.is_empty() && app.posts().len() == 1, "each is posted once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_token_ends_it_with_a_reason() {
    let (_relay, usher) = service().await;
    let folder = tempfile::tempdir().unwrap();
    let mut command = listen(&usher.api().base, "another token", folder.path());
    let output = timeout(LONG, tokio::task::spawn_blocking(move || command.output())).await.expect("it ends");
    let output = output.unwrap().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("refuses the token") && !said.contains("another token"), "{said}");
}
