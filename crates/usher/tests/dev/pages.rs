//! Pages for a browser, and phones in the local network.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{Running, stderr, stdout};
use crate::fixture::{PAGES, Tour, banner, dev, fetch, field, last_status, rows, start, wait_for_page};

#[test]
fn the_user_pays_on_a_payment_page_and_gets_further_pages() {
    let (mut running, mut stdin, banner) = start(None);
    let page = field(&banner, "payment").to_owned();
    let html = wait_for_page(&page, "data-state=\"waiting\"");
    let invoice = html.split("id=\"invoice\" readonly value=\"").nth(1).unwrap().split('"').next().unwrap();
    writeln!(stdin, "pay {invoice}").unwrap();
    running.wait_for("The wallet paid 10,000 msat.");
    wait_for_page(&page, "data-state=\"paid\"");
    let before = running.said.len();
    writeln!(stdin, "pages").unwrap();
    running.wait_for("  age check  http");
    let further = running.said[before..].to_owned();
    let other = field(&further, "payment");
    assert!(other != page && fetch(other).contains("<html"), "{further}");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn with_lan_phones_reach_pages_and_relay_and_nothing_else() {
    // An address of this machine that is not the one of the API, as in a network.
    let mut command = dev(None);
    command.arg("--lan=127.0.0.2").stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut stdin = running.stdin();
    let banner = banner(&mut running);
    assert!(rows(&banner) < 24, "{} rows:\n{banner}", rows(&banner));
    assert!(banner.contains("Everybody in this network can open these; the API is on this machine only:"), "{banner}");
    let relay = field(&banner, "relay").strip_suffix(" (everybody in this network can use it)").unwrap();
    assert!(relay.starts_with("ws://127.0.0.2:"), "{banner}");
    let url = field(&banner, "wallet");
    assert!(url.contains("relays=ws%3A%2F%2F127.0.0.2%3A"), "{banner}");
    for (name, folder) in PAGES {
        let page = field(&banner, name);
        assert!(page.starts_with("http://127.0.0.2:") && page.contains(&format!("/{folder}/")), "{banner}");
        assert!(fetch(page).contains("<html"), "{page}");
    }
    let base = field(&banner, "base URL");
    assert!(base.starts_with("http://127.0.0.1:"), "{banner}");
    let token = format!("Authorization: Bearer {}", field(&banner, "token"));
    let status = |url: &str| {
        let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", &token, url];
        stdout(&Command::new("curl").args(arguments).output().unwrap())
    };
    let (at_pages, _) = field(&banner, "login page").split_once("/login/").unwrap();
    assert_eq!(status(&format!("{base}/version")), "200");
    assert_eq!(status(&format!("{at_pages}/version")), "404");
    assert_eq!(status(&format!("{at_pages}/docs")), "404");
    assert_eq!(status(&format!("{}/version", base.replace("127.0.0.1", "127.0.0.2"))), "000", "nobody listens there");
    // A user logs in over the relay.
    writeln!(stdin, "scan").unwrap();
    running.wait_for("introduced itself");
    let tour = Tour::show(&mut running, &mut stdin);
    let events = tour.paste(tour.block("/authenticate-key"));
    assert_eq!(last_status(&events), "approved", "{events}");
    writeln!(stdin, "quit").unwrap();
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn without_an_address_in_a_local_network_it_says_so() {
    for (address, complaint) in [
        ("8.8.8.8", "8.8.8.8 is not an address of a local network"),
        ("0.0.0.0", "0.0.0.0 is not an address of a local network"),
        ("169.254.213.7", "169.254.213.7 is not an address of this machine"),
    ] {
        let refused = dev(None).arg(format!("--lan={address}")).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(stderr(&refused).contains(complaint), "{}", stderr(&refused));
    }
}
