//! `usher dev`: the program that runs it, its folder, test mode, the tour, and the local network.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use usher_testing::Browser;

use crate::common::{self, Running, on, stderr, stdout, usher};
use crate::local_instance::squat_with;

/// `usher dev` on free ports, so that tests run beside each other and beside a real one.
pub(crate) fn dev(folder: &Path) -> Command {
    // Its files are private whatever the umask.
    let program = usher();
    let mut command = Command::new("sh");
    command.env_clear().args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(program.get_program());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["dev", "--port", "0", "--relay-port", "0", "--data-dir"]).arg(folder);
    command
}

/// Starts it; its banner. What it logs meanwhile, on standard error, begins with the time.
pub(crate) fn start(command: Command) -> (Running, String) {
    let mut running = Running::start(command);
    running.wait_for("Open the start page");
    let lines = running.said.lines().skip_while(|line| !line.starts_with("Usher is running"));
    let banner = lines.filter(|line| !line.starts_with("20")).flat_map(|line| [line, "\n"]).collect();
    (running, banner)
}

fn curl(arguments: &[&str]) -> String {
    stdout(&Command::new("curl").arg("-s").args(arguments).output().unwrap())
}

pub(crate) fn field<'a>(banner: &'a str, name: &str) -> &'a str {
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
    let base = field(&banner, "base URL");
    let (page, _) = offers(base, field(&banner, "token"));
    let (at_pages, _) = page.split_once("/login/").unwrap();
    assert!(at_pages.starts_with("http://127.0.0.2:") && page.contains("test-wallet"), "{page}");
    assert_eq!([base, at_pages].map(|at| status(&format!("{at}/phone"))), ["200", "404"]);
    assert_eq!(status(&format!("{base}/version")), "200");
    assert_eq!(status(&format!("{at_pages}/version")), "404");
    assert_eq!(status(&format!("{}/version", base.replace("127.0.0.1", "127.0.0.2"))), "000", "nobody listens there");
    running.stop();
}

#[test]
fn in_a_container_it_warns_of_a_published_port() {
    for (arguments, warns) in [(&["--container"][..], true), (&[], false)] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = dev(folder.path());
        command.args(arguments);
        let (running, banner) = start(command);
        assert_eq!(banner.contains("-p 127.0.0.1:"), warns, "{banner}");
        running.stop();
    }
}

#[test]
fn another_program_at_port_3000_is_announced_and_gets_no_token() {
    // If it is taken, the other program gets no connection.
    let squatter = TcpListener::bind("127.0.0.1:3000").map(|listener| {
        squat_with(listener, |stream, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK");
        })
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = usher();
    command.args(["dev", "--relay-port", "0", "--data-dir"]).arg(folder.path());
    let (running, banner) = start(command);
    let base = field(&banner, "base URL");
    let port = base.rsplit_once(':').unwrap().1;
    let announced = format!("another program uses port 3000: the service is at port {port}");
    assert!(running.said.contains(&announced), "{}", running.said);

    let command = |arguments: &[&str]| {
        let mut command = usher();
        command.arg("--data-dir").arg(folder.path()).args(arguments);
        command
    };
    let commands = ["keys list", "payments export", "audit list", "oidc consents", "health --ready"];
    let ask = |arguments: &str| command(&arguments.split(' ').collect::<Vec<_>>()).output().unwrap();
    for arguments in commands {
        let output = ask(arguments);
        assert!(output.status.success(), "{arguments}: {}", stderr(&output));
    }
    if TcpListener::bind("[::1]:0").is_ok() {
        assert_eq!(curl(&[&format!("http://[::1]:{port}/health")]), "OK", "this is localhost, too");
    }
    let mut listening = Running::start(command(&["listen"]));
    listening.wait_for(&format!("listening to {base}"));
    running.stop();
    for arguments in commands {
        let output = ask(arguments);
        assert!(!output.status.success(), "{arguments}: {}", stdout(&output));
    }
    if let Ok((_, sent)) = squatter {
        let sent = String::from_utf8_lossy(&sent.lock().unwrap()).to_lowercase();
        assert!(sent.contains("get /health") && !sent.contains("authorization"), "{sent}");
    }
}

/// The login page of a service on a folder, and the statuses of a login that returns to this machine, and of one by
/// OpenID Connect.
fn offers(base: &str, token: &str) -> (String, [String; 2]) {
    let token = format!("Authorization: Bearer {token}");
    let login = |body: &str, more: &[&str]| {
        let (json, url) = ("Content-Type: application/json", format!("{base}/login"));
        curl(&[&["-H", &token, "-H", json, "-d", body, &url], more].concat())
    };
    let status = ["-o", "/dev/null", "-w", "%{http_code}"];
    let started: serde_json::Value = serde_json::from_str(&login("{}", &[])).unwrap();
    let asked = "response_type=code&scope=openid&client_id=demo&redirect_uri=http://127.0.0.1:5000/callback";
    let by_openid = curl(&[&status[..], &["-H", &token, &format!("{base}/oauth/authorize?{asked}")]].concat());
    let leads_back = login(r#"{"return_url":"http://localhost:8080/done"}"#, &status);
    let page = started["page_url"].as_str().unwrap();
    (format!("{page}\n{}", curl(&[page])), [leads_back, by_openid])
}

#[test]
fn only_usher_dev_is_in_test_mode_and_the_folder_s_settings_are_stronger() {
    let folder = tempfile::tempdir().unwrap();
    let (running, banner) = start(dev(folder.path()));
    let (base, token) = (field(&banner, "base URL"), field(&banner, "token"));
    let (page, [leads_back, by_openid]) = offers(base, token);
    assert!(page.starts_with("http://localhost:"), "where browsers have passkeys: {page}");
    for part in ["Test mode", "Demo Shop", "src=\"data:image/png"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!([&leads_back[..], &by_openid], ["200", "303"]);
    let elsewhere = "client_id=demo&redirect_uri=https://app.example/&response_type=code&scope=openid";
    assert!(curl(&["-i", &format!("{base}/oauth/authorize?{elsewhere}")]).starts_with("HTTP/1.1 400"));
    running.stop();

    let mut serve = on(folder.path());
    serve.env("SERVICE__NOSTR__RELAYS", "ws://127.0.0.1:9");
    let (running, address) = Running::serve(serve);
    let (page, statuses) = offers(&format!("http://{address}"), token);
    assert!(page.starts_with("http://127.0.0.1:"), "{page}");
    assert!(!page.contains("Test mode") && !page.contains("Demo Shop") && !page.contains("data:image/png"), "{page}");
    assert_eq!(statuses, ["422", "404"]);
    let authorization = format!("Authorization: Bearer {token}");
    for path in ["phone", "phone/events", "phone/phone.js", "start.js", "guides/login"] {
        let answer = curl(&["-H", &authorization, &format!("http://{address}/{path}")]);
        assert!(answer.contains("route_not_found"), "{path}: {answer}");
    }
    for page in ["login", "pay", "link", "refund", "handshake", "verify"] {
        let path = format!("http://{address}/{page}/01a22716-1529-730f-bfa4-0c3207e7dc00/x/test-wallet");
        let answer = curl(&["-X", "POST", "-H", &authorization, &path]);
        assert!(answer.contains("route_not_found"), "{page}: {answer}");
    }
    let home = curl(&[&format!("http://{address}/")]);
    assert!(home.contains("logs its users in here") && !home.contains("start.js") && !home.contains(token), "{home}");
    running.stop();

    let mut config = OpenOptions::new().append(true).open(folder.path().join("config.toml")).unwrap();
    let set = "public_url = \"http://127.0.0.1:1\"\nreturn_urls = [\"http://localhost:1/\"]";
    write!(config, "\n[profile]\nname = \"own\"\n\n[pages]\n{set}\n").unwrap();
    let (running, banner) = start(dev(folder.path()));
    let base = field(&banner, "base URL");
    let (login, _) = offers(base, token);
    let login = login.trim();
    assert!(login.starts_with("http://127.0.0.1:1/"), "{login}");
    let page = curl(&[&login.replace("http://127.0.0.1:1", base)]);
    assert!(page.contains("own") && !page.contains("Demo Shop") && page.contains("Test mode"), "{page}");
    assert_eq!(offers(base, token).1[0], "422");
    running.stop();
}

#[tokio::test]
async fn a_payment_is_tried_and_approved_in_the_phone_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let (running, banner) = start(dev(folder.path()));
    let (base, token) = (field(&banner, "base URL").to_owned(), field(&banner, "token").to_owned());
    let mut browser = Browser::start().await;
    let start_page = field(&banner, "start page");
    browser.open(start_page).await;
    browser.click("#try-payment").await;
    let phone = "document.querySelector('iframe').contentDocument.querySelector";
    browser.until(&format!("{phone}('#asks').innerText.includes('One coffee')")).await;
    let asks = browser.evaluate(&format!("{phone}('#asks').innerText")).await;
    for part in ["Demo Shop", "Payment", "10 sats"] {
        assert!(asks.as_str().unwrap().contains(part), "{part}: {asks}");
    }
    browser.evaluate(&format!("{phone}('[value=approve]').click()")).await;
    browser.until("document.querySelector('#events').innerText.includes('paid')").await;
    browser.until(&format!("{phone}('#past').innerText.includes('approved')")).await;

    let text = "<b onclick=alert(1)>";
    let body = format!(
        r#"{{"main_key":"{}","subkeys":[],"amount":1000,"currency":"millisats","description":"{text}"}}"#,
        field(&banner, "user")
    );
    let authorization = format!("Authorization: Bearer {token}");
    let ask = |arguments: &[&str]| curl(&[&["-H", "Content-Type: application/json"], arguments].concat());
    ask(&["-H", &authorization, "-d", &body, &format!("{base}/payments/single")]);
    browser.until(&format!("{phone}('#asks').innerText.includes('{text}')")).await;
    assert_eq!(browser.complaints(), [] as [&serde_json::Value; 0]);

    // Another site, and a name of another site that leads to this machine.
    let form = ["-d", "code=x", &format!("{base}/phone/open")];
    let own = format!("Origin: {base}");
    let status = ["-o", "/dev/null", "-w", "%{http_code}"];
    let statuses = [
        curl(&[&status[..], &["-H", &own], &form].concat()),
        curl(&[&status[..], &["-H", "Origin: https://evil.example"], &form].concat()),
        curl(&[&status[..], &["-H", &own, "-H", "Sec-Fetch-Site: cross-site"], &form].concat()),
        curl(&[&status[..], &["-H", "Host: evil.example:3000", &base]].concat()),
    ];
    assert_eq!(statuses, ["303", "404", "404", "404"]);
    running.stop();
}

#[test]
fn the_blocks_of_the_tour_can_be_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = dev(folder.path());
    command.stdin(Stdio::piped());
    let (mut running, _) = start(command);
    running.enter("scan");
    running.wait_for("introduced itself");
    let before = running.said.len();
    running.enter("tour");
    running.wait_for("Ctrl-C:");
    let paragraphs: Vec<_> = running.said[before..].split("\n\n").collect();
    let blocks = paragraphs.windows(2).filter(|pair| pair[0].trim_end().ends_with(':'));
    let script: String = blocks.flat_map(|pair| [pair[1], "\n"]).collect();
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    let said = stdout(&output);
    let shown = format!("{script}\n{said}\n{}", stderr(&output));
    for part in ["\"status\":\"approved\"", "/pay/", "/link/", "\"code\":\"token_already_spent\""] {
        assert!(said.contains(part), "{part}: {shown}");
    }
    assert_eq!(said.matches("\"status\":\"paid\"").count(), 2, "a payment and its refund: {shown}");
    running.stop();
}
