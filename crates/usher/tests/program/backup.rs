//! `usher backup` and `usher restore`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::common::{KEY, Running, TOKEN, run_with_input, stderr, usher};
use crate::upgrade::{databases, request, shows_streams};

/// A service's folder, a secret outside of it, and a place for backups.
struct Installation {
    folder: TempDir,
}

impl Installation {
    /// With the database of a release, which has streams, subscriptions and tickets.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = usher_loopback_port::free().unwrap();
        for name in ["data/keys", "secrets", "backups"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let secret = folder.path().join("secrets/api.token");
        let config = format!(
            "[info]\nlisten_port = {port}\n[auth]\nauth_token_file = {secret:?}\n[nostr]\nprivate_key_file = \"keys/nostr.key\"\n\
             relays = [\"ws://127.0.0.1:9\", \"ws://127.0.0.1:10\"]\n[cashu]\nallow_private_mints = true\n\
             [streams]\nretention_days = 36500\n[log]\nformat = \"json\"\n"
        );
        fs::write(folder.path().join("data/config.toml"), config).unwrap();
        fs::write(folder.path().join("data/keys/nostr.key"), format!("{KEY}\n")).unwrap();
        fs::write(&secret, TOKEN).unwrap();
        fs::write(folder.path().join("passphrase"), "correct horse battery staple\n").unwrap();
        fs::write(folder.path().join("wrong"), "correct horse battery stapler\n").unwrap();
        fs::copy(&databases()[0], folder.path().join("data/usher.db")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program on one of the folders.
    fn usher(&self, data_dir: &str) -> Command {
        let mut command = usher();
        command.current_dir(self.folder.path()).arg("--data-dir").arg(self.path(data_dir));
        command
    }

    fn run(&self, data_dir: &str, arguments: &[&str]) -> Output {
        self.usher(data_dir).args(arguments).output().unwrap()
    }

    /// Runs it, and it must succeed; returns its output.
    fn succeeds(&self, data_dir: &str, arguments: &[&str]) -> String {
        let output = self.run(data_dir, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stderr(&output)
    }

    /// Runs it, and it must fail with this code; returns its output, which is one line.
    fn fails(&self, code: i32, data_dir: &str, arguments: &[&str]) -> String {
        let output = self.run(data_dir, arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        said
    }

    /// Aborts at this point; nothing runs after it.
    fn dies(&self, point: &str, data_dir: &str, arguments: &[&str]) {
        let mut command = self.usher(data_dir);
        let output = command.args(arguments).env("FAILPOINTS", format!("{point}=return")).output().unwrap();
        assert_eq!(output.status.code(), None, "{point}: {}", stderr(&output));
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else { return Vec::new() };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn with_passphrase<'a>(command: &'a str, file: &'a str) -> [&'a str; 4] {
    [command, file, "--passphrase-file", "passphrase"]
}

#[test]
fn a_running_service_is_backed_up_and_restored() {
    let installation = Installation::new();
    let (running, address) = Running::serve(installation.usher("data"));
    let expected: Value = serde_json::from_slice(&fs::read(databases()[0].with_extension("json")).unwrap()).unwrap();
    let user = expected["user"].as_str().unwrap();
    let body = format!(r#"{{"main_key":"{user}","subkeys":[]}}"#);
    let begin = || request(&address, "POST", "/authenticate-key", &body)["stream_id"].as_str().unwrap().to_owned();
    let before: Vec<_> = (0..20).map(|_| begin()).collect();

    // It is written to meanwhile.
    let done = AtomicBool::new(false);
    let (during, said) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut streams = Vec::new();
            while !done.load(Ordering::Relaxed) {
                streams.push(begin());
            }
            streams
        });
        let said = installation.succeeds("data", &with_passphrase("backup", "backups/one"));
        done.store(true, Ordering::Relaxed);
        assert!(said.contains("backed up 4 files to backups/one"), "{said}");
        (writer.join().unwrap(), said)
    });
    assert!(!during.is_empty());
    let backup = fs::metadata(installation.path("backups/one")).unwrap();
    assert_eq!(backup.permissions().mode() & 0o777, 0o600);
    assert_eq!(installation.names("backups"), ["one"]);
    let left = installation.names("data");
    assert!(!left.iter().any(|name| name.starts_with(".usher-backup")), "{left:?}");
    // It goes on.
    begin();
    running.stop();

    let sha256 = hex::encode(Sha256::digest(fs::read(installation.path("backups/one")).unwrap()));
    assert!(said.contains(&format!("SHA-256 {sha256}")), "{said}");
    let (restore, other) = (with_passphrase("restore", "backups/one"), "0".repeat(64));
    let refused = installation.fails(78, "new/restored", &[&restore[..], &["--sha256", &other]].concat());
    assert!(refused.contains(&format!("is {sha256}, not that of --sha256")), "{refused}");
    assert!(installation.names("new/restored").is_empty());
    installation.succeeds("new/restored", &[&restore[..], &["--sha256", &sha256]].concat());
    assert_eq!(installation.names("new/restored"), ["config.toml", "keys", "restored", "usher.db"]);
    let read = |name: &str| fs::read_to_string(installation.path(&format!("new/restored/{name}"))).unwrap();
    assert_eq!((read("keys/nostr.key"), read("restored/outside/api.token")), (format!("{KEY}\n"), TOKEN.to_owned()));
    for (name, expected) in [("", 0o700), ("/keys", 0o700), ("/keys/nostr.key", 0o600), ("/usher.db", 0o600)] {
        let metadata = fs::metadata(installation.path(&format!("new/restored{name}"))).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, expected, "{name}");
    }

    let (running, address) = Running::serve(installation.usher("new/restored"));
    for stream in &before {
        request(&address, "GET", &format!("/events/{stream}?after=0"), "");
    }
    shows_streams(&address, &expected);
    assert!(!request(&address, "GET", "/subscriptions", "")["subscriptions"].as_array().unwrap().is_empty());
    running.stop();
}

/// Whoever knows a recipient can encrypt anything to it.
#[test]
fn only_files_that_a_backup_has_are_restored() {
    let installation = Installation::new();
    for (name, setting) in [
        (".bashrc", None),
        ("wallet.json", None),
        ("restored/more.json", None),
        ("x", Some("database.path")),
        ("x", Some("profile.display_name")),
        ("x", Some("anything")),
    ] {
        let description = usher_backup::Description {
            version: "0.1.0".to_owned(),
            commit: String::new(),
            created_at: 1,
            data_dir: "/data".to_owned(),
            database: usher_backup::DatabaseKind::Postgresql,
        };
        let setting = setting.map(str::to_owned);
        let content = usher_backup::Content::Bytes(Vec::new());
        let file = usher_backup::Source { name: name.to_owned(), setting, path: None, content };
        let bytes = usher_backup::write(Vec::new(), &usher_backup::Protection::None, description, vec![file]).unwrap();
        fs::write(installation.path("forged"), bytes).unwrap();
        let said = installation.fails(78, "new", &["restore", "forged", "--unencrypted"]);
        assert!(said.contains("which no backup of this program has"), "{said}");
        assert!(installation.names("new").is_empty());
    }
}

#[test]
fn nothing_is_overwritten_and_nothing_is_unencrypted_by_accident() {
    let installation = Installation::new();
    // On no terminal, without a word about encryption.
    assert!(installation.fails(2, "data", &["backup", "backups/one"]).contains("--unencrypted"));
    installation.fails(2, "data", &["backup", "backups/one", "--recipient", "age1nonsense"]);
    assert!(installation.names("backups").is_empty());

    // In a folder, it is named after the time.
    installation.succeeds("data", &["backup", "backups", "--unencrypted"]);
    let [name] = &installation.names("backups")[..] else { panic!("one file") };
    assert!(name.starts_with("usher-20") && name.ends_with("Z.tar.age"), "{name}");
    let file = format!("backups/{name}");
    let before = fs::read(installation.path(&file)).unwrap();
    assert!(installation.fails(1, "data", &["backup", &file, "--unencrypted"]).contains("not overwritten"));
    assert!(fs::read(installation.path(&file)).unwrap() == before);

    // Into a folder that is there and empty, such as a volume.
    fs::create_dir(installation.path("volume")).unwrap();
    installation.succeeds("volume", &["restore", &file, "--unencrypted"]);
    assert_eq!(installation.names("volume"), ["config.toml", "keys", "restored", "usher.db"]);
    let said = installation.fails(1, "volume", &["restore", &file, "--unencrypted"]);
    assert!(said.contains("is not empty"), "{said}");
    assert!(installation.fails(1, "data", &["restore", &file, "--unencrypted"]).contains("is not empty"));

    // Without a database there is nothing to back up.
    fs::remove_file(installation.path("data/usher.db")).unwrap();
    assert!(installation.fails(1, "data", &["backup", "x", "--unencrypted"]).contains("there is no database"));
    fs::write(installation.path("data/usher.db"), "no database").unwrap();
    installation.fails(1, "data", &["backup", "x", "--unencrypted"]);
    assert!(!installation.path("x").exists());
}

#[test]
fn what_cannot_be_restored_leaves_no_folder_behind() {
    let installation = Installation::new();
    installation.succeeds("data", &with_passphrase("backup", "one"));
    installation.fails(1, "new", &["restore", "one", "--passphrase-file", "wrong"]);
    let bytes = fs::read(installation.path("one")).unwrap();
    fs::write(installation.path("cut"), &bytes[..bytes.len() - 1]).unwrap();
    installation.fails(1, "new", &with_passphrase("restore", "cut"));

    // A newer schema is refused by name.
    let set_version = |version: u32| {
        let database = rusqlite::Connection::open(installation.path("data/usher.db")).unwrap();
        database.pragma_update(None, "user_version", version).unwrap();
    };
    set_version(10_000);
    installation.fails(1, "data", &["backup", "newer", "--unencrypted"]);
    set_version(1);
    installation.succeeds("data", &["backup", "older", "--unencrypted"]);
    // The same number of bytes, so that it stays a tar file: a space of the line's indentation makes room for the digits.
    let (mut newer, old) = (fs::read(installation.path("older")).unwrap(), b"\"schema_version\": 1");
    let place = newer.windows(old.len()).position(|part| part == old).unwrap();
    newer.splice(place..place + old.len(), *b"\"schema_version\":99");
    fs::write(installation.path("newer"), newer).unwrap();
    let said = installation.fails(78, "new", &["restore", "newer", "--unencrypted"]);
    assert!(said.contains("schema version 99, made by usher 0.1.0"), "{said}");
    assert!(!installation.path("new").exists());
}

/// What the service had in its environment is kept, too.
#[test]
fn a_backup_goes_through_pipes() {
    let installation = Installation::new();
    let mut command = installation.usher("data");
    command.args(["backup", "-", "--passphrase-file", "-"]).env("SERVICE__HANDSHAKE__TTL_SECONDS", "601");
    let output = run_with_input(command, "a passphrase\n");
    assert!(output.status.success() && output.stdout.starts_with(b"age-encryption.org/v1"), "{}", stderr(&output));
    fs::write(installation.path("piped"), &output.stdout).unwrap();
    fs::write(installation.path("short"), "a passphrase").unwrap();
    let mut command = installation.usher("new");
    command.args(["restore", "-", "--passphrase-file", "short"]);
    let output = command.stdin(Stdio::from(fs::File::open(installation.path("piped")).unwrap())).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let environment = fs::read_to_string(installation.path("new/restored/environment.json")).unwrap();
    assert!(environment.contains("\"SERVICE__HANDSHAKE__TTL_SECONDS\": \"601\""), "{environment}");
}

#[test]
fn a_kill_leaves_nothing_that_looks_complete() {
    let installation = Installation::new();
    for point in ["backup-database-copied", "backup-written"] {
        installation.dies(point, "data", &["backup", "backups/one", "--unencrypted"]);
        assert!(!installation.path("backups/one").exists(), "{point}");
    }
    let hidden = |folder| installation.names(folder).into_iter().filter(|name| name.starts_with(".usher")).count();
    assert!(hidden("data") > 0 && hidden("backups") > 0);
    installation.succeeds("data", &["backup", "backups/one", "--unencrypted"]);
    assert_eq!((hidden("data"), hidden("backups")), (0, 0), "the next one has removed it");

    installation.dies("restore-verified", "new", &["restore", "backups/one", "--unencrypted"]);
    assert_eq!(installation.names("new"), [".usher-restore"]);
    assert!(installation.fails(78, "new", &["serve"]).contains("not complete"));
    installation.succeeds("new", &["restore", "backups/one", "--unencrypted"]);
    assert_eq!(installation.names("new"), ["config.toml", "keys", "restored", "usher.db"]);

    for moved in 0..4 {
        let folder = format!("moved-{moved}");
        let mut command = installation.usher(&folder);
        command.args(["restore", "backups/one", "--unencrypted"]);
        let output = command.env("FAILPOINTS", format!("restore-moved={moved}*off->return")).output().unwrap();
        assert_eq!(output.status.code(), None, "{}", stderr(&output));
        assert_eq!(installation.names(&folder).len(), moved + 2);
        assert!(installation.fails(78, &folder, &["serve"]).contains("not complete"), "{folder}");
        let said = installation.fails(1, &folder, &["restore", "backups/one", "--unencrypted"]);
        assert!(said.contains("remove everything in this folder"), "{said}");
        fs::remove_dir_all(installation.path(&folder)).unwrap();
        installation.succeeds(&folder, &["restore", "backups/one", "--unencrypted"]);
    }
}
