//! `usher dev`: the program that runs it, its folder, and the local network. The commands of its tour are those of the documents
//! (`docs`).

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::common::{self, Running, stderr, stdout, usher};

/// `usher dev` on free ports, so that tests run beside each other and beside a real one.
fn dev(folder: &Path) -> Command {
    // What it writes is private whatever the umask says.
    let program = usher();
    let mut command = Command::new("sh");
    command.env_clear().args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(program.get_program());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["dev", "--port", "0", "--relay-port", "0", "--data-dir"]).arg(folder);
    command
}

/// Starts it; its banner. What it logs meanwhile, on standard error, begins with the time.
fn start(command: Command) -> (Running, String) {
    let mut running = Running::start(command);
    running.wait_for("Log the user in now. Type:  scan");
    let lines = running.said.lines().skip_while(|line| !line.starts_with("Usher is running"));
    let banner = lines.filter(|line| !line.starts_with("20")).flat_map(|line| [line, "\n"]).collect();
    (running, banner)
}

fn curl(arguments: &[&str]) -> String {
    stdout(&Command::new("curl").arg("-s").args(arguments).output().unwrap())
}

/// The value behind a name in the banner.
fn field<'a>(banner: &'a str, name: &str) -> &'a str {
    let line = banner.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    line.trim_start().strip_prefix(name).unwrap().trim()
}

#[test]
fn without_the_program_beside_it_usher_says_what_to_do() {
    let program = Path::new(env!("CARGO_BIN_EXE_usher"));
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let alone = folder.path().join("usher");
    std::fs::hard_link(program, &alone).unwrap();
    for (arguments, code, text) in [
        (&["dev"][..], 1, "usher-dev is missing"),
        (&["wallet", "show"], 1, "usher-dev is missing"),
        (&["dev", "--port", "x"], 2, "invalid value"),
        (&["wallet", "--help"], 0, "take-back"),
    ] {
        let output = Command::new(&alone).args(arguments).output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert!(output.status.code() == Some(code) && said.contains(text), "{arguments:?}: {said}");
    }
}

#[test]
fn a_folder_is_private_keeps_its_data_and_is_one_instances() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = dev(folder.path());
    // Those of a real service are ignored.
    command.env("SERVICE__AUTH__AUTH_TOKEN", common::TOKEN).env("SERVICE_DATA_DIR", "/dev/null");
    let (running, banner) = start(command);
    let kept = ["token", "user"].map(|name| field(&banner, name).to_owned());
    assert!(kept[0].len() == 64 && kept[0] != common::TOKEN, "{banner}");

    let read = || ["config.toml", "wallet.json"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    let before = read();
    let mut serve = usher();
    serve.args(["serve", "--data-dir"]).arg(folder.path()).env("SERVICE__INFO__LISTEN_PORT", "0");
    for mut second in [dev(folder.path()), serve] {
        let second = second.output().unwrap();
        assert_eq!(second.status.code(), Some(1), "{}", stderr(&second));
        assert!(read() == before, "the files of the first instance are unchanged");
    }
    running.stop();

    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{:?} is for its owner alone", entry.path());
            folders.extend(entry.file_type().unwrap().is_dir().then(|| entry.path()));
        }
    }
    let (running, banner) = start(dev(folder.path()));
    assert_eq!(["token", "user"].map(|name| field(&banner, name).to_owned()), kept);
    running.stop();
}

#[test]
fn a_folder_with_other_files_is_refused_and_not_changed() {
    for (name, text, code) in [
        ("thesis.tex", "\\documentclass{book}", 1),
        ("config.toml", "baseURL = 'https://blog.example'\n", 78),
        ("config.toml", "[auth]\nauth_token = ''\n", 78),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        let refused = dev(folder.path()).output().unwrap();
        assert_eq!(refused.status.code(), Some(code), "{name}: {}", stderr(&refused));
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), text);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn with_lan_phones_reach_pages_and_relay_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = dev(folder.path());
    // An address of this machine that is not the one of the API, as in a network.
    command.arg("--lan=127.0.0.2");
    let (running, banner) = start(command);
    assert!(field(&banner, "relay").starts_with("ws://127.0.0.2:"), "{banner}");
    assert!(field(&banner, "wallet").contains("relays=ws%3A%2F%2F127.0.0.2%3A"), "{banner}");
    let token = format!("Authorization: Bearer {}", field(&banner, "token"));
    let status = |url: &str| curl(&["-o", "/dev/null", "-w", "%{http_code}", "-H", &token, url]);
    for name in ["login page", "payment", "age check"] {
        let page = field(&banner, name);
        assert!(page.starts_with("http://127.0.0.2:") && status(page) == "200", "{banner}");
    }
    let base = field(&banner, "base URL");
    let (at_pages, _) = field(&banner, "login page").split_once("/login/").unwrap();
    assert_eq!(status(&format!("{base}/version")), "200");
    assert_eq!(status(&format!("{at_pages}/version")), "404");
    assert_eq!(status(&format!("{}/version", base.replace("127.0.0.1", "127.0.0.2"))), "000", "nobody listens there");
    running.stop();
}
