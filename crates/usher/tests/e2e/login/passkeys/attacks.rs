//! What others can do with a user's passkey: other pages of the same host, frames, whoever has the database and the log.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use usher_protocol::Keys;
use usher_protocol::keys::parse_secret_key;
use usher_test_tools::TcpServer;

use super::{Fixture, PASSPHRASE};
use crate::login::on_the_page::state_is;

/// What the page of the passkey does: it asks for the passkey, and derives the key of its output (ADR 6). The key as hex.
const STEAL: &str = "(async () => {
    const bytes = text => new TextEncoder().encode(text);
    const first = await crypto.subtle.digest('SHA-256', bytes('usher passkey prf v1'));
    const publicKey = { challenge: new Uint8Array(32), rpId: 'localhost', userVerification: 'required', extensions: { prf: { eval: { first } } } };
    const credential = await navigator.credentials.get({ publicKey });
    const output = credential.getClientExtensionResults().prf.results.first;
    const key = await crypto.subtle.importKey('raw', output, 'HKDF', false, ['deriveBits']);
    const how = { name: 'HKDF', hash: 'SHA-256', salt: bytes('usher passkey v1'), info: bytes('nostr key\\0localhost\\0' + '0') };
    const secret = new Uint8Array(await crypto.subtle.deriveBits(how, key, 256));
    return [...secret].map(byte => byte.toString(16).padStart(2, '0')).join('');
})().catch(error => error.name)";

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

/// A server of somebody else on this machine, which sends this page.
async fn somebody_else(page: String) -> TcpServer {
    TcpServer::start(move |mut stream| {
        let page = page.clone();
        async move {
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    page.len()
                );
                let _ = stream.write_all([head, page].concat().as_bytes()).await;
            }
        }
    })
    .await
}

/// Why the pages need a host of their own: ports and paths do not part RP ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_page_of_the_same_host_gets_the_key_of_who_confirms_there_and_no_other_host_does() {
    let mut fixture = Fixture::start(true).await;
    let main_key = fixture.register().await;
    let other = somebody_else("<!doctype html><title>Other</title>".to_owned()).await;
    for (host, is_same) in [("localhost", true), ("127.0.0.1", false), ("other.localhost", false)] {
        fixture.browser.open(&format!("http://{host}:{}/", other.port())).await;
        fixture.browser.until("document.title === 'Other'").await;
        let stolen = fixture.browser.evaluate(STEAL).await;
        let stolen = stolen.as_str().unwrap();
        let key = parse_secret_key(stolen).ok().map(|secret| Keys::new(secret).public_key().to_hex());
        assert_eq!(key, is_same.then(|| main_key.clone()), "{host}: {stolen}");
        if !is_same {
            assert_eq!(stolen, "SecurityError", "{host}");
        }
    }
}

/// Neither in a frame nor with requests of its own does another page get anywhere, not even with the same site's cookies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_not_framed_and_other_pages_change_nothing() {
    let mut fixture = Fixture::start(true).await;
    let login = fixture.open_login().await;
    let fresh = super::start(&fixture.usher.api(), json!({})).await;
    let frames = [&login.page_url, &fresh.page_url, &format!("{}/passkey", login.page_url)];
    let frames = frames.map(|url| {
        format!("<iframe src='{url}' allow='publickey-credentials-get *; publickey-credentials-create *'></iframe>")
    });
    let other = somebody_else(format!("<!doctype html><title>Other</title>{}", frames.concat())).await;
    fixture.browser.open(&format!("http://localhost:{}/", other.port())).await;
    fixture.browser.until("document.readyState === 'complete' && document.title === 'Other'").await;
    let blocked =
        fixture.browser.complaints().into_iter().map(Value::to_string).filter(|text| text.contains("frame")).count();
    assert!(blocked >= 1, "{:?}", fixture.browser.complaints());
    for (rest, body) in [("/options", "{\"kind\":\"get\"}"), ("/wrapped-key", "{\"id\":\"AAAA\"}"), ("", "{}")] {
        for (kind, expected) in [("text/plain", "opaque"), ("application/json", "TypeError")] {
            let mode = if kind == "text/plain" { "no-cors" } else { "cors" };
            let sent = format!(
                "fetch('{}/passkey{rest}', {{ method: 'POST', mode: '{mode}', credentials: 'include',
                    headers: {{ 'content-type': '{kind}' }}, body: '{body}' }}).then(response => response.type, error => error.name)",
                login.page_url
            );
            assert_eq!(fixture.browser.evaluate(&sent).await, expected, "{rest} {kind}");
        }
    }
    // The login that was only framed belongs to nobody yet.
    fixture.browser.open(&fresh.page_url).await;
    fixture.browser.until(&state_is("waiting")).await;
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files
}

/// Whoever has the machine's files has no user's key; the log has not even what opens a page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_database_nor_log_has_a_secret() {
    let mut fixture = Fixture::start_with(true, |builder| builder.log_level("trace")).await;
    fixture.browser.run_on_every_page(SPY).await;
    let login = fixture.open_login().await;
    fixture.make_passkey().await;
    fixture.browser.until("document.querySelector('#passkey-save:not([hidden])') !== null").await;
    let mut outputs = vec![fixture.browser.evaluate("window.output").await];
    fixture.type_into("#passkey-passphrase", PASSPHRASE).await;
    fixture.press("#passkey-save [data-passkey=save-and-go-on]").await;
    let file = fixture.saved().await;
    fixture.approved(&login).await;

    // A second passkey, for which the key is wrapped.
    let second = fixture.open_passkey_page().await;
    fixture.press("[data-passkey=open]").await;
    fixture.press("[data-passkey=reveal]").await;
    fixture.browser.until("document.getElementById('passkey-nsec').textContent.startsWith('nsec1')").await;
    let nsec = fixture.browser.evaluate("document.getElementById('passkey-nsec').textContent").await;
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

    let hex = fixture.usher.command(&["key", "from-nsec", nsec.as_str().unwrap()]).output().unwrap();
    let secret = String::from_utf8(hex.stdout).unwrap().trim().to_owned();
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
    secrets.extend(keys.iter().map(|key| {
        let digits: Vec<_> = key.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap()).collect();
        digits.iter().map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }));
    let texts = [nsec.as_str().unwrap(), file.trim(), PASSPHRASE];
    secrets.extend(texts.map(|text| text.as_bytes().to_vec()));
    let has = |content: &[u8], secret: &[u8]| content.windows(secret.len()).any(|part| part == secret);
    let files = files_below(fixture.usher.data_dir().parent().unwrap());
    assert!(
        files.iter().any(|file| file.ends_with("usher.db")) && files.iter().any(|file| file.ends_with("log")),
        "{files:?}"
    );
    for file in files {
        let content = std::fs::read(&file).unwrap();
        for secret in &secrets {
            assert!(!has(&content, secret), "{:?} is in {}", String::from_utf8_lossy(secret), file.display());
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
