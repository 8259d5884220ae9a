//! The service as a process: it starts, answers, and stops as asked.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use common::{Running, Signal, TIMEOUT, TOKEN, configured, stderr, usher};
use serde_json::Value;

/// A call, as plain as can be; the answer's body.
fn get(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Starts a handshake, which is logged; the answer with its head.
fn start(address: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(TIMEOUT)).unwrap();
    let head = "POST /key-handshake HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n";
    write!(connection, "{head}authorization: Bearer {TOKEN}\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_answers_and_ends_with_0_when_asked_to_stop() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = tempfile::tempdir().unwrap();
        let (running, address) = Running::serve(configured(folder.path()));
        assert_eq!(get(&address, "/health"), "OK");
        let version: Value = serde_json::from_str(&get(&address, "/version")).unwrap();
        assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
        running.signal(signal);
        let (code, said) = running.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("\"stopped\"") && !said.contains(TOKEN), "{said}");
    }
}

#[test]
#[cfg(unix)]
fn the_data_directory_is_made_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("a/b");
    let (running, _) = Running::serve(configured(&data_dir));
    assert_eq!(std::fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(data_dir.join("usher.db").exists());
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_second_instance_on_the_same_data_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (first, address) = Running::serve(configured(folder.path()));
    let second = configured(folder.path()).arg("serve").output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("in use by another process"), "{}", stderr(&second));
    assert_eq!(get(&address, "/health"), "OK");
    first.signal(Signal::TERM);
    assert_eq!(first.end().0, Some(0));
    let (third, _) = Running::serve(configured(folder.path()));
    third.signal(Signal::TERM);
    assert_eq!(third.end().0, Some(0));
}

#[test]
fn when_the_thread_that_writes_is_lost_it_ends_to_be_started_anew() {
    let folder = tempfile::tempdir().unwrap();
    // By then it is ready; each further probe writes.
    let mut command = configured(folder.path());
    command.env("FAILPOINTS", "store-writer=30*off->panic");
    let (mut running, address) = Running::serve(command);
    let probing = std::thread::spawn(move || {
        for _ in 0..40 {
            let Ok(mut connection) = TcpStream::connect(&address) else { return };
            let _ = connection.set_read_timeout(Some(TIMEOUT));
            let probe = "GET /health/ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
            let _ = write!(connection, "{probe}authorization: Bearer {TOKEN}\r\n\r\n");
            let _ = connection.read_to_string(&mut String::new());
        }
    });
    running.wait_for("a task panicked");
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("a part of the service failed"), "{said}");
    probing.join().unwrap();
    let (again, address) = Running::serve(configured(folder.path()));
    assert_eq!(get(&address, "/health"), "OK");
    again.signal(Signal::TERM);
    assert_eq!(again.end().0, Some(0));
}

/// `LimitFSIZE=`, `ulimit -f`: the system's way to say it is a signal that ends a program which does not expect it.
#[test]
#[cfg(target_os = "linux")]
fn a_limit_on_the_size_of_files_is_as_a_full_disk() {
    use rustix::process::{Resource, Rlimit, prlimit};

    let folder = tempfile::tempdir().unwrap();
    let (running, address) = Running::serve(configured(folder.path()));
    let allow = |bytes| {
        prlimit(Some(running.pid()), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
    };
    assert!(start(&address).starts_with("HTTP/1.1 200"));
    allow(Some(1024));
    let refused = start(&address);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("storage_unavailable"), "{refused}");
    assert_eq!(get(&address, "/health"), "OK");
    allow(None);
    assert!(start(&address).starts_with("HTTP/1.1 200"));
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn that_nobody_takes_its_log_is_no_reason_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, address) = Running::serve(configured(folder.path()));
    running.ignore();
    for _ in 0..20 {
        assert!(start(&address).starts_with("HTTP/1.1 200"));
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_taken_port_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let output = configured(folder.path())
        .env("SERVICE__INFO__LISTEN_PORT", address.port().to_string())
        .arg("serve")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&format!("cannot listen on {address}")), "{}", stderr(&output));
}

#[test]
fn a_data_directory_that_cannot_be_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let output = configured(&file.join("data")).arg("serve").output().unwrap();
    // A path through a file is no place for a configuration either.
    assert!(matches!(output.status.code(), Some(1 | 78)));
    assert!(stderr(&output).contains("file/data"), "{}", stderr(&output));
}

#[test]
fn a_call_that_does_not_end_is_cut_after_the_grace() {
    let folder = tempfile::tempdir().unwrap();
    let (running, address) = Running::serve(configured(folder.path()));
    let _hanging = half_a_call(&address);
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_second_signal_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let (mut running, address) = Running::serve(configured(folder.path()));
    let _hanging = half_a_call(&address);
    running.signal(Signal::TERM);
    running.wait_for("\"stopping\"");
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("while stopping; aborted"), "{said}");
}

/// A call whose body never comes; the service has its head when this returns.
fn half_a_call(address: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(
        connection,
        "POST /key-handshake HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n"
    )
    .unwrap();
    // `100 Continue` says that the service waits for the body now.
    let mut line = [0; 12];
    connection.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 100");
    connection
}

#[test]
fn warnings_are_logged_at_every_start() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut command = configured(folder.path());
        command.env("SERVICE__AUTH__AUTH_TOKEN", "changeme").env("SERVICE__WALLET__EMBEDDED__API_KEY", "key");
        let (running, _) = Running::serve(command);
        assert!(running.said.contains("auth.auth_token is a placeholder"), "{}", running.said);
        assert!(
            running.said.contains("wallet.embedded.api_key is set but unused; wallet.ln_backend is not embedded"),
            "{}",
            running.said
        );
        running.signal(Signal::TERM);
        assert_eq!(running.end().0, Some(0));
    }
}

#[test]
#[cfg(unix)]
fn too_few_open_files_for_the_connections_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let plain = configured(folder.path());
    let limited = |files: &str| {
        let mut command = std::process::Command::new("sh");
        command.env_clear().stdin(std::process::Stdio::null());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]);
        command.arg(plain.get_program()).args(plain.get_args());
        command
    };
    let mut command = limited("1024");
    command.env("SERVICE__LIMITS__MAX_CONNECTIONS", "1000");
    let (running, _) = Running::serve(command);
    assert!(running.said.contains("the limit of open files is too low for limits.max_connections"), "{}", running.said);
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));

    // A soft limit alone is raised.
    let mut command = limited("-S 128");
    command.env("SERVICE__LIMITS__MAX_CONNECTIONS", "100");
    let (running, _) = Running::serve(command);
    assert!(!running.said.contains("open files"), "{}", running.said);
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[cfg(unix)]
#[test]
fn running_as_root_is_warned_of_and_running_as_anybody_else_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (running, _) = Running::serve(configured(folder.path()));
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(running.said.contains("running as root"), is_root, "{}", running.said);
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn the_log_is_text_by_default_and_says_what_rust_log_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = configured(folder.path());
    command.arg("serve").env_remove("SERVICE__LOG__FORMAT").env("RUST_LOG", "usher::command=info");
    let mut running = Running::start(command);
    let line = running.wait_for("ready");
    assert!(line.contains("INFO") && !line.contains('{') && !line.contains('\u{1b}'), "{line}");
    running.signal(Signal::TERM);
    let (code, said) = running.end();
    assert_eq!(code, Some(0));
    assert!(!said.contains("usher_store"), "{said}");
}

#[test]
fn a_rust_log_that_makes_no_sense_is_told_and_hides_nothing() {
    for (nonsense, told) in [("usher=loud", "it is not a list"), ("inof", "did you mean `info`?")] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = configured(folder.path());
        command.env("RUST_LOG", nonsense);
        let (running, _) = Running::serve(command);
        let line = running.said.lines().find(|line| line.contains("RUST_LOG")).expect("it is told");
        assert!(line.contains("\"level\":\"WARN\"") && line.contains(told) && !line.contains(nonsense), "{line}");
        running.signal(Signal::TERM);
        assert_eq!(running.end().0, Some(0));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_service_manager_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let told = || {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let mut command = configured(&folder.path().join("data"));
    command.env("NOTIFY_SOCKET", &path);
    let (running, _) = Running::serve(command);
    assert_eq!(told(), "READY=1");
    running.signal(Signal::TERM);
    assert_eq!(told(), "STOPPING=1");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn a_configuration_file_alone_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[info]\nlisten_port = 0\n[auth]\nauth_token = \"{TOKEN}\"\n[nostr]\nprivate_key = \"{}\"\nrelays = \"ws://127.0.0.1:9\"\n\
         [log]\nformat = \"json\"\n",
        common::KEY
    );
    std::fs::write(folder.path().join("config.toml"), text).unwrap();
    let mut command = usher();
    command.env("SERVICE_DATA_DIR", folder.path());
    let (running, address) = Running::serve(command);
    assert_eq!(get(&address, "/health"), "OK");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}
