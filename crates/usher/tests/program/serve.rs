//! The service as a process: it starts, answers, and stops as asked.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Running, Signal, TIMEOUT, TOKEN, configured, exchange, stderr};

fn is_alive(address: &str) -> bool {
    exchange(address, TOKEN, "GET /health", "").ends_with("\r\n\r\nOK")
}

#[test]
fn it_answers_and_ends_with_0_when_asked_to_stop() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("a/b");
        let (running, address) = Running::serve(configured(&data_dir));
        assert_eq!(std::fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(data_dir.join("usher.db").exists() && is_alive(&address));
        running.signal(signal);
        let (code, said) = running.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("\"stopped\"") && !said.contains(TOKEN), "{said}");
    }
}

#[test]
fn a_second_instance_on_the_same_data_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (first, address) = Running::serve(configured(folder.path()));
    let second = configured(folder.path()).arg("serve").output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("in use by another process"), "{}", stderr(&second));
    assert!(is_alive(&address));
    first.stop();
    Running::serve(configured(folder.path())).0.stop();
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
            let probe = format!("authorization: Bearer {TOKEN}\r\nconnection: close");
            let _ = write!(connection, "GET /health/ready HTTP/1.1\r\nhost: x\r\n{probe}\r\n\r\n");
            let _ = connection.read_to_string(&mut String::new());
        }
    });
    running.wait_for("a task panicked");
    let (code, said) = running.end();
    assert!(code == Some(1) && said.contains("a part of the service failed"), "{said}");
    probing.join().unwrap();
    let (again, address) = Running::serve(configured(folder.path()));
    assert!(is_alive(&address));
    again.stop();
}

/// `LimitFSIZE=`, `ulimit -f`: the system sends a signal that ends a program without a handler.
#[test]
#[cfg(target_os = "linux")]
fn a_limit_on_the_size_of_files_is_as_a_full_disk() {
    use rustix::process::{Resource, Rlimit, prlimit};

    let folder = tempfile::tempdir().unwrap();
    let (running, address) = Running::serve(configured(folder.path()));
    let start_at = |bytes| {
        prlimit(Some(running.pid()), Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
        exchange(&address, TOKEN, "POST /key-handshake", "")
    };
    assert!(start_at(None).starts_with("HTTP/1.1 200"));
    let refused = start_at(Some(1024));
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("storage_unavailable"), "{refused}");
    assert!(is_alive(&address));
    assert!(start_at(None).starts_with("HTTP/1.1 200"));
    running.stop();
}

#[test]
fn a_call_that_does_not_end_is_cut_after_the_grace_or_at_a_second_signal() {
    for signals in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let (mut running, address) = Running::serve(configured(folder.path()));
        // Its body never comes; `100 Continue` says that the service waits for it.
        let mut connection = TcpStream::connect(&address).unwrap();
        connection.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = format!("POST /key-handshake HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n");
        let rest = "content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n";
        write!(connection, "{head}{rest}").unwrap();
        let mut line = [0; 12];
        connection.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"HTTP/1.1 100");

        running.signal(Signal::TERM);
        if signals == 2 {
            running.wait_for("\"stopping\"");
            running.signal(Signal::TERM);
        }
        let (code, said) = running.end();
        assert_eq!(code, Some(signals - 1), "{said}");
        assert_eq!(said.contains("while stopping; aborted"), signals == 2, "{said}");
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
    running.stop();
    assert_eq!(told(), "STOPPING=1");
}
