//! Commands find the running service of their data directory, and send the token to no other program.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};

use crate::common::{Running, TOKEN, configured, stderr, stdout};

/// Every command that asks the running service with the token.
const COMMANDS: [&[&str]; 9] = [
    &["keys", "list"],
    &["payments", "export"],
    &["audit", "list"],
    &["oidc", "consents"],
    &["users", "erase", "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"],
    &["lightning", "status"],
    &["lightning", "open", "1000", "--yes"],
    &["health", "--ready"],
    &["doctor"],
];

fn command(folder: &Path, port: u16, arguments: &[&str]) -> Output {
    let mut command = configured(folder);
    command.env("SERVICE__INFO__LISTEN_PORT", port.to_string()).args(arguments).output().unwrap()
}

fn listen(folder: &Path, arguments: &[&str]) -> Running {
    let mut command = configured(folder);
    command.arg("listen").args(arguments);
    Running::start(command)
}

/// A program that has taken a port, and what it was sent. It answers each connection by `answer`.
fn squat(answer: impl Fn(&mut TcpStream, &[u8]) + Send + 'static) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    squat_with(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
}

/// The same with a port that it has already.
pub(crate) fn squat_with(
    listener: TcpListener,
    answer: impl Fn(&mut TcpStream, &[u8]) + Send + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let (address, sent) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<u8>>>::default());
    let log = Arc::clone(&sent);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                log.lock().unwrap().extend_from_slice(&bytes[..count]);
                answer(&mut stream, &bytes[..count]);
            }
        }
    });
    (address, sent)
}

#[test]
fn no_program_gets_the_token_that_does_not_prove_that_it_is_the_instance() {
    let folder = tempfile::tempdir().unwrap();
    let (running, real) = Running::serve(configured(folder.path()));
    let real: SocketAddr = real.parse().unwrap();

    // One always reports success, one echoes the challenge as proof, and one forwards everything to the real instance.
    let (well, said_to_well) = squat(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nusher-proof: 00\r\n\r\nOK");
    });
    let (echo, said_to_echo) = squat(|stream, bytes| {
        let request = String::from_utf8_lossy(bytes).into_owned();
        let challenge = request.split("usher-challenge: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let proof = challenge.unwrap_or_default();
        let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nusher-proof: {proof}\r\n\r\nOK");
    });
    let (relay, said_to_relay) = squat(move |stream, bytes| {
        let mut to_real = TcpStream::connect(real).unwrap();
        to_real.write_all(bytes).unwrap();
        let mut answer = [0; 4096];
        let count = to_real.read(&mut answer).unwrap();
        let _ = stream.write_all(&answer[..count]);
    });
    let written = folder.path().join("instance.address");
    std::fs::remove_file(&written).unwrap();
    for (other, said) in [(well, said_to_well), (echo, said_to_echo), (relay, said_to_relay)] {
        // At the configured address, and at the one recorded in the data directory after a kill.
        for in_file in [false, true] {
            let port = if in_file { 0 } else { other.port() };
            if in_file {
                std::fs::write(&written, format!("{other}\n")).unwrap();
            }
            for arguments in COMMANDS {
                let output = command(folder.path(), port, arguments);
                let said = stdout(&output) + &stderr(&output);
                assert!(!output.status.success(), "{arguments:?}: {said}");
                assert!(said.contains("it got no token"), "{arguments:?}: {said}");
            }
            let _ = std::fs::remove_file(&written);
        }
        let mut listening = listen(folder.path(), &["--base", &format!("http://{other}")]);
        listening.wait_for("it got no token");
        drop(listening);
        let said = String::from_utf8_lossy(&said.lock().unwrap()).into_owned();
        assert!(said.contains("/health") && !said.contains(TOKEN), "{said}");
    }
    running.stop();
}

#[test]
fn commands_find_the_service_on_any_port_or_say_that_none_runs() {
    let folder = tempfile::tempdir().unwrap();
    let none = command(folder.path(), 0, &["keys", "list"]);
    let expected = format!("no service runs on {}", folder.path().display());
    assert!(!none.status.success() && stderr(&none).contains(&expected), "{}", stderr(&none));

    let (running, address) = Running::serve(configured(folder.path()));
    let (taken, _) = squat(|_, _| {});
    // Another program has the configured port: the service is at the address in its data directory.
    for port in [0, taken.port()] {
        let listed = command(folder.path(), port, &["keys", "list"]);
        assert!(listed.status.success() && stdout(&listed).contains("auth.auth_token"), "{}", stderr(&listed));
        assert_eq!(stdout(&command(folder.path(), port, &["health"])), "healthy\n");
    }
    let mut listening = listen(folder.path(), &[]);
    listening.wait_for(&format!("listening to http://{address}"));
    running.stop();
    listening.wait_for(&expected);
    drop(listening);
    assert!(!folder.path().join("instance.address").exists());
}
