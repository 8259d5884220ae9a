//! What the commands of the reference wallet (`usher wallet`) promise, and no example of the documentation shows.

use std::path::Path;

use serde_json::Value;
use usher_mint::{Mint, MintOptions};
use usher_protocol::Keys;

use crate::common::{stderr, stdout, usher};

/// Runs the wallet to its end: whether it succeeds, and the lines that it printed, or what it says if it fails.
fn run(file: &Path, arguments: &[&str]) -> Result<Vec<Value>, String> {
    let output = usher().args(["wallet", "--json", "--wallet"]).arg(file).args(arguments).output().unwrap();
    if !output.status.success() {
        return Err(stdout(&output) + &stderr(&output));
    }
    Ok(stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_stay_in_files_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [file, phone, tablet] = ["w.json", "phone.json", "tablet.json"].map(|name| folder.path().join(name));
    let mint = Mint::start(MintOptions::new().auth_token("let me in")).await.unwrap();
    run(&file, &["new", "--relay", "ws://127.0.0.1:1"]).unwrap();
    let before = std::fs::read(&file).unwrap();
    assert!(run(&file, &["new"]).unwrap_err().contains("already exists"));
    assert_eq!(std::fs::read(&file).unwrap(), before, "it is not overwritten");
    let key = serde_json::from_slice::<Value>(&before).unwrap()["secret_key"].as_str().unwrap().to_owned();

    let (account, secret) = (Keys::generate().public_key().to_hex(), Keys::generate().secret_key().to_secret_hex());
    let url = format!("nostr+walletconnect://{account}?relay=ws://127.0.0.1:1&secret={secret}");
    run(&file, &["connect", &url]).unwrap();
    let mut said = run(&file, &["connect", &format!("https://example.org/{secret}")]).unwrap_err();
    for token in ["an old one", "let me in"] {
        said += &format!("{:?}", run(&file, &["mint-token", &format!("{}/", mint.url()), token]).unwrap());
    }
    said += &format!("{:?}", run(&file, &["tickets"]));

    let main = file.to_str().unwrap();
    let device = run(&phone, &["new", "--device-of", main, "--name", "phone"]).unwrap().remove(0);
    let shown = run(&file, &["show"]).unwrap().remove(0);
    assert_eq!((&device["main_key"], &device["relays"]), (&shown["public_key"], &shown["relays"]));
    assert_ne!(device["public_key"], device["main_key"]);
    let of_a_device = run(&tablet, &["new", "--device-of", phone.to_str().unwrap()]).unwrap_err();
    assert!(of_a_device.contains("only a wallet with the main key"), "{of_a_device}");

    said += &shown.to_string();
    // Without --json, which comes first.
    said += &stdout(&usher().args(["wallet", "--wallet", main, "show"]).output().unwrap());
    assert!(said.contains("connected"), "{said}");
    for hidden in [key.as_str(), &secret, "let me in"] {
        assert!(!said.contains(hidden), "{said}");
    }
    #[cfg(unix)]
    for file in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "{:?}", file.path());
    }
}
