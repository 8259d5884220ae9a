//! Round trips of backups, and files that must be refused.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use secrecy::SecretString;
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use crate::{Content, DatabaseKind, Description, Key, MANIFEST, Protection, ReadError, Source, read, write};

const DATABASE: &[u8] = &[7; 100_000];

fn description() -> Description {
    Description {
        version: "0.1.0".to_owned(),
        commit: "abc".to_owned(),
        created_at: 1_700_000_000,
        data_dir: "/data".to_owned(),
        database: DatabaseKind::Sqlite { file: "usher.db".to_owned(), schema_version: 19 },
    }
}

fn source(name: &str, content: &[u8]) -> Source {
    Source { name: name.to_owned(), setting: None, path: None, content: Content::Bytes(content.to_vec()) }
}

fn sources() -> Vec<Source> {
    vec![source("config.toml", b"[info]\n"), source("keys/nostr.key", b"secret"), source("usher.db", DATABASE)]
}

fn backup(protection: &Protection) -> Vec<u8> {
    write(Vec::new(), protection, description(), sources()).unwrap()
}

fn restore(bytes: &[u8], key: &Key, folder: &Path) -> Result<(), ReadError> {
    read(bytes, key, |_| Ok(folder.to_owned())).map(drop)
}

fn passphrase(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

/// The error of a backup that must be refused, without writing outside of the folder.
fn refusal(bytes: &[u8], key: &Key) -> String {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("inner");
    fs::create_dir(&folder).unwrap();
    let error = restore(bytes, key, &folder).expect_err("it must be refused");
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1, "something was written outside");
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn check(folder: &Path) {
    assert_eq!(fs::read(folder.join("config.toml")).unwrap(), b"[info]\n");
    assert_eq!(fs::read(folder.join("keys/nostr.key")).unwrap(), b"secret");
    assert_eq!(fs::read(folder.join("usher.db")).unwrap(), DATABASE);
    let mode = |name| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("keys"), mode("keys/nostr.key"), mode("usher.db")), (0o700, 0o600, 0o600));
}

#[test]
fn backups_are_read_only_with_the_right_key() {
    let text_of =
        |identity: &age::x25519::Identity| secrecy::ExposeSecret::expose_secret(&identity.to_string()).to_owned();
    let identity = age::x25519::Identity::generate();
    let text = text_of(&identity);
    let recipients = [identity.to_public().to_string()];
    let identities = |text: &str| Key::of_identity_file(&format!("# a comment\n{text}\n")).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let bytes = backup(&Protection::of_recipients(&recipients).unwrap());
    restore(&bytes, &identities(&text), folder.path()).unwrap();
    check(folder.path());
    assert!(!bytes.windows(6).any(|part| part == b"secret"));
    let other = text_of(&age::x25519::Identity::generate());
    assert!(refusal(&bytes, &identities(&other)).contains("other recipients"));
    assert!(refusal(&bytes, &Key::Passphrase(passphrase("x"))).contains("--identity-file"));
    assert!(refusal(&bytes, &Key::None).contains("--identity-file"));

    let folder = tempfile::tempdir().unwrap();
    let bytes = backup(&Protection::Passphrase(passphrase("correct horse")));
    restore(&bytes, &Key::Passphrase(passphrase("correct horse")), folder.path()).unwrap();
    check(folder.path());
    assert_eq!(refusal(&bytes, &Key::Passphrase(passphrase("battery"))), "wrong passphrase");
    assert!(refusal(&bytes, &identities(&text)).contains("--passphrase-file"));

    let folder = tempfile::tempdir().unwrap();
    let bytes = backup(&Protection::None);
    restore(&bytes, &Key::None, folder.path()).unwrap();
    check(folder.path());
    assert!(refusal(&bytes, &Key::Passphrase(passphrase("x"))).contains("not encrypted"));
    for wrong in ["", "age1nonsense", "AGE-SECRET-KEY-1"] {
        assert!(Protection::of_recipients(&[wrong.to_owned()]).is_err(), "{wrong}");
        assert!(Key::of_identity_file(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_backup_that_is_cut_or_changed_anywhere_is_refused() {
    let identity = age::x25519::Identity::generate();
    let key = Key::Identities(vec![Box::new(identity.clone())]);
    let bytes = backup(&Protection::of_recipients(&[identity.to_public().to_string()]).unwrap());
    for length in (0..bytes.len()).step_by(9973).chain([bytes.len() - 1, bytes.len() - 17]) {
        refusal(&bytes[..length], &key);
    }
    for place in (0..bytes.len()).step_by(9973).chain([bytes.len() - 1]) {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        refusal(&changed, &key);
    }
    let more = [&bytes[..], b"x"].concat();
    refusal(&more, &key);
    // Without encryption the checksums detect changes.
    let plain = backup(&Protection::None);
    for length in (0..plain.len() - 1024).step_by(9973) {
        refusal(&plain[..length], &Key::None);
    }
    let mut changed = plain.clone();
    let middle = plain.len() / 2;
    changed[middle] ^= 1;
    assert!(refusal(&changed, &Key::None).contains("SHA-256"), "{}", refusal(&changed, &Key::None));
    assert!(refusal(b"nonsense", &Key::None).contains("not a backup"));
    let letters: Vec<u8> = (0..5000_u32).map(|place| b'a' + (place % 26) as u8).collect();
    assert!(refusal(&letters, &Key::None).contains("not a backup"), "{}", refusal(&letters, &Key::None));
    assert!(refusal(b"-----BEGIN AGE ENCRYPTED FILE-----\n", &Key::None).contains("ASCII-armored"));
}

/// An entry of a hostile tar file: `listed` and `bytes` in the manifest, `name`, `kind` and `size` in the tar header.
struct Hostile<'a> {
    listed: &'a str,
    name: &'a [u8],
    kind: EntryType,
    bytes: u64,
    size: u64,
}

fn hostile(entry: &Hostile<'_>) -> Vec<u8> {
    let content = b"content";
    let manifest = serde_json::json!({
        "format": 1, "version": "9", "commit": "c", "created_at": 1, "data_dir": "/", "database": {"engine": "postgresql"},
        "files": [{"name": entry.listed, "bytes": entry.bytes, "sha256": hex::encode(Sha256::digest(content))}],
    });
    let mut tar = Builder::new(Vec::new());
    add(&mut tar, MANIFEST.as_bytes(), EntryType::Regular, None, manifest.to_string().as_bytes());
    add(&mut tar, entry.name, entry.kind, Some(entry.size), content);
    tar.into_inner().unwrap()
}

fn add(tar: &mut Builder<Vec<u8>>, name: &[u8], kind: EntryType, size: Option<u64>, content: &[u8]) {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_mode(0o777);
    header.set_size(size.unwrap_or(content.len() as u64));
    header.as_ustar_mut().unwrap().linkname[..11].copy_from_slice(b"/etc/passwd");
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

#[test]
fn a_hostile_tar_file_is_refused() {
    let good = Hostile { listed: "x", name: b"x", kind: EntryType::Regular, bytes: 7, size: 7 };
    let folder = tempfile::tempdir().unwrap();
    restore(&hostile(&good), &Key::None, folder.path()).unwrap();
    assert_eq!(fs::read(folder.path().join("x")).unwrap(), b"content");
    assert_eq!(fs::metadata(folder.path().join("x")).unwrap().permissions().mode() & 0o777, 0o600);

    let long = "x/".repeat(200) + "x";
    let names = ". .. /etc/passwd ../x a/../../x a/./x ./x a//x a/ lightning lightning/node.db usher.db-wal usher.db-journal \
                 usher.db.lock";
    for name in names.split_whitespace().chain(["", "a\nb", "a\u{1b}[2J", &long, MANIFEST]) {
        // In both the manifest and the tar file.
        let both = hostile(&Hostile { listed: name, name: &name.as_bytes()[..name.len().min(100)], ..good });
        assert!(refusal(&both, &Key::None).contains("the name"), "{name}: {}", refusal(&both, &Key::None));
        // Only in the tar file.
        let one = hostile(&Hostile { name: &name.as_bytes()[..name.len().min(100)], ..good });
        assert!(refusal(&one, &Key::None).contains("manifest"), "{name}: {}", refusal(&one, &Key::None));
    }
    // Links, devices, a FIFO, a folder, a continued file, pax headers, GNU long names and sparse files.
    for kind in b"1234567xgLKS" {
        let kind = EntryType::new(*kind);
        let error = refusal(&hostile(&Hostile { kind, ..good }), &Key::None);
        assert!(error.contains("not a regular file"), "{kind:?}: {error}");
    }
    // Sizes that differ from the manifest or exceed the file.
    assert!(refusal(&hostile(&Hostile { bytes: 6, ..good }), &Key::None).contains("size"));
    assert!(refusal(&hostile(&Hostile { size: 6, ..good }), &Key::None).contains("size"));
    let huge = Hostile { bytes: u64::MAX / 4, size: u64::MAX / 4, ..good };
    refusal(&hostile(&huge), &Key::None);
    // A file that the manifest does not list.
    let mut tar = Builder::new(Vec::new());
    let manifest = r#"{"format":1,"version":"1","commit":"","created_at":1,"data_dir":"","database":{"engine":"postgresql"},"files":[]}"#;
    add(&mut tar, MANIFEST.as_bytes(), EntryType::Regular, None, manifest.as_bytes());
    add(&mut tar, b"x", EntryType::Regular, None, b"y");
    assert!(refusal(&tar.into_inner().unwrap(), &Key::None).contains("more files"));
    // A newer format with other fields.
    let mut tar = Builder::new(Vec::new());
    add(&mut tar, MANIFEST.as_bytes(), EntryType::Regular, None, br#"{"format":2,"version":"0.9.0","commit":"def"}"#);
    let error = refusal(&tar.into_inner().unwrap(), &Key::None);
    assert!(error.contains("format 2, made by version 0.9.0 (def)"), "{error}");
    // Two files of one name, and a tar file without manifest.
    let twice = vec![source("a", b"1"), source("a", b"2")];
    let error = write(Vec::new(), &Protection::None, description(), twice).expect_err("refused").to_string();
    assert!(error.contains("two files"), "{error}");
    let mut tar = Builder::new(Vec::new());
    add(&mut tar, b"etc/passwd", EntryType::Regular, None, b"x");
    assert!(refusal(&tar.into_inner().unwrap(), &Key::None).contains("not a backup"));
}

/// The `age` crate parses a header in quadratic time.
#[test]
fn a_long_header_is_refused_and_all_recipients_fit() {
    let identity = age::x25519::Identity::generate();
    let recipients = vec![identity.to_public().to_string(); 100];
    let bytes = backup(&Protection::of_recipients(&recipients).unwrap());
    let text = identity.to_string();
    let key = Key::of_identity_file(secrecy::ExposeSecret::expose_secret(&text)).unwrap();
    restore(&bytes, &key, tempfile::tempdir().unwrap().path()).unwrap();
    assert!(Protection::of_recipients(&[recipients.as_slice(), &recipients[..1]].concat()).is_err());
    let stanza = format!("-> x y\n{}\n", "A".repeat(63));
    let endless = format!("age-encryption.org/v1\n{}", stanza.repeat(1_000_000));
    assert!(refusal(endless.as_bytes(), &key).contains("header of at most"));
}

#[test]
fn age_and_tar_read_backups() {
    let identity = age::x25519::Identity::generate();
    let bytes = backup(&Protection::of_recipients(&[identity.to_public().to_string()]).unwrap());
    let decryptor = age::Decryptor::new(&bytes[..]).unwrap();
    let mut tar = Vec::new();
    decryptor.decrypt(std::iter::once(&identity as _)).unwrap().read_to_end(&mut tar).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(&tar[..]).unpack(folder.path()).unwrap();
    assert_eq!(fs::read(folder.path().join("usher.db")).unwrap(), DATABASE);
}
