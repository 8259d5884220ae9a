//! What is written to disk has no secret of a user's passkey.

use serde_json::{Value, json};

use super::{BEGIN, Fixture, PASSPHRASE};
use crate::harness::{files_below, text};

/// Notes what the authenticator evaluates.
const SPY: &str = "for (const kind of ['get', 'create']) {
    const original = navigator.credentials[kind].bind(navigator.credentials);
    navigator.credentials[kind] = async options => {
        const credential = await original(options);
        const output = credential?.getClientExtensionResults().prf?.results?.first;
        if (output) window.output = [...new Uint8Array(output)].map(byte => byte.toString(16).padStart(2, '0')).join('');
        return credential;
    };
}";

/// Whoever has the machine's files has no user's key; the log has not even what opens a page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_database_nor_log_has_a_secret() {
    let mut fixture = Fixture::start_with(true, |builder| builder.log_level("trace")).await;
    fixture.browser.run_on_every_page(SPY).await;
    let login = fixture.open_login().await;
    fixture.press(BEGIN).await;
    fixture.approved(&login).await;
    let mut outputs = vec![fixture.browser.evaluate("window.output").await];
    let file = fixture.save().await;

    // A second passkey, for which the key is wrapped.
    let second = fixture.open_passkey_page().await;
    fixture.press("[data-passkey=open]").await;
    fixture.press("[data-passkey=reveal]").await;
    fixture.browser.until("document.getElementById('passkey-nsec').textContent.startsWith('nsec1')").await;
    let nsec = text(&mut fixture.browser, "document.getElementById('passkey-nsec').textContent").await;
    fixture.press("[data-passkey=add]").await;
    fixture.approved(&second).await;
    fixture.log_in().await;
    outputs.push(fixture.browser.evaluate("window.output ?? null").await);

    // Somebody whose browser is no browser.
    let (http, stranger) = (fixture.usher.api().http, super::start(&fixture.usher.api(), json!({})).await);
    let opened = http.get(&stranger.page_url).send().await.unwrap();
    let cookie = opened.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let mut challenges = Vec::new();
    for kind in ["get", "create"] {
        let sent = |rest: &str, body: Value| {
            http.post(format!("{}/passkey{rest}", stranger.page_url)).header("cookie", &cookie).json(&body).send()
        };
        let options: Value = sent("/options", json!({ "kind": kind })).await.unwrap().json().await.unwrap();
        challenges.push(options["challenge"].as_str().unwrap().to_owned());
        let proof = json!({ "kind": kind, "passkey": { "type": "x".repeat(9_000) }, "event": {} });
        assert_eq!(sent("", proof).await.unwrap().status(), 422);
    }

    let secret = fixture.usher.says(&["key", "from-nsec", &nsec]).await.trim().to_owned();
    fixture.usher.stop().await;
    let database = rusqlite::Connection::open(fixture.usher.data_dir().join("usher.db")).unwrap();
    let count =
        |what: &str| database.query_row(&format!("SELECT count({what}) FROM passkeys"), [], |row| row.get::<_, u64>(0));
    assert_eq!((count("*").unwrap(), count("wrapped_key").unwrap()), (2, 1));
    drop(database);

    let outputs: Vec<_> = outputs.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    assert!(!outputs.is_empty() && outputs.iter().all(|output| output.len() == 64), "{outputs:?}");
    let keys: Vec<_> = outputs.into_iter().chain([secret]).collect();
    let mut secrets: Vec<Vec<u8>> = keys.iter().map(|key| key.clone().into_bytes()).collect();
    secrets.extend(keys.iter().map(|key| hex::decode(key).unwrap()));
    secrets.extend([nsec.as_str(), file.trim(), PASSPHRASE].map(|text| text.as_bytes().to_vec()));
    for (file, content) in files_below(fixture.usher.data_dir().parent().unwrap()) {
        for secret in &secrets {
            let has = content.windows(secret.len()).any(|part| part == secret);
            assert!(!has, "{:?} is in {file}", String::from_utf8_lossy(secret));
        }
    }
    let log = fixture.usher.log();
    let of_pages = [&login, &second, &stranger].map(|login| login.page_url.rsplit('/').next().unwrap().to_owned());
    let cookie = cookie.split('=').nth(1).unwrap().to_owned();
    for secret in of_pages.into_iter().chain(challenges).chain([cookie]) {
        assert!(!log.contains(&secret), "{secret} is in the log");
    }
    assert!(!log.contains(&"x".repeat(1_000)), "what somebody sends does not fill the log");
}
