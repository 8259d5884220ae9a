//! What a login's page does in a real browser while it waits: in several tabs, in the background and across restarts behind a proxy.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;
use usher_testing::{Browser, TcpServer};

use super::on_the_page::{service, start};
use crate::harness::{EXTENSION_BUTTON, LONG, TestUsher, is_for_everybody, state_is, wallet_for};

/// Text that only a page has that was not loaded anew.
const MARK: &str = "window.mark = 'the same page'";
const IS_MARKED: &str = "window.mark === 'the same page'";

/// What nginx and Caddy do while the service does not listen: they respond with an error page of their own.
async fn forward(mut client: TcpStream, upstream: Arc<OnceLock<String>>) {
    match TcpStream::connect(upstream.get().unwrap()).await {
        Ok(mut server) => {
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        }
        Err(_) => {
            let _ = client.read(&mut [0; 4096]).await;
            let page = "<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>";
            let head = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nConnection: close\r\n";
            let response = format!("{head}Content-Length: {}\r\n\r\n{page}", page.len());
            let _ = client.write_all(response.as_bytes()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_behind_a_proxy_loses_no_page() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let upstream = Arc::new(OnceLock::new());
    let to = Arc::clone(&upstream);
    let proxy = TcpServer::start(move |client| forward(client, Arc::clone(&to))).await;
    let builder = TestUsher::builder().relays(&[relay.url()]);
    let mut usher = builder.set("PAGES__PUBLIC_URL", format!("http://{}", proxy.address())).start().await;
    let api = usher.api();
    upstream.set(api.base.strip_prefix("http://").unwrap().to_owned()).unwrap();
    let login = start(&api, json!({})).await;
    let mut browser = Browser::start().await;
    browser.open(&login.page_url).await;
    // Its scripts have loaded.
    browser.until("document.getElementById('countdown')?.textContent.startsWith('Time left: ')").await;
    browser.until("document.readyState === 'complete'").await;
    browser.evaluate(MARK).await;

    usher.kill();
    browser.until("document.body?.innerText.includes('Connecting again')").await;
    is_for_everybody(&mut browser).await;
    // Longer than one attempt.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(browser.evaluate("document.body.dataset.state").await, json!("waiting"));
    assert_eq!(browser.evaluate("document.querySelector('.qr') !== null").await, json!(true));

    usher.restart().await;
    browser.until("!document.body.innerText.includes('Connecting again')").await;
    let wallet = wallet_for(Policy::silent()).await;
    wallet.open(&login.url.parse().unwrap(), LONG).await.unwrap();
    let request = wallet.next_request(LONG).await.unwrap();
    browser.until(&state_is("asking")).await;
    wallet.approve(&request).unwrap();
    browser.until(&state_is("approved")).await;
    assert_eq!(browser.evaluate(IS_MARKED).await, json!(true));
    is_for_everybody(&mut browser).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_waiting_tabs_do_not_stop_the_ninth_login() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let mut tabs: Vec<Browser> = Vec::new();
    let mut logins = Vec::new();
    for _ in 0..8 {
        let login = start(&api, json!({})).await;
        let mut tab = match tabs.last() {
            None => Browser::start().await,
            Some(tab) => tab.another_tab().await,
        };
        tab.open(&login.page_url).await;
        tab.until(&state_is("waiting")).await;
        tabs.push(tab);
        logins.push(login);
    }
    let keys = Keys::generate();
    let mut ninth = tabs[0].another_tab().await;
    ninth.install_extension(&keys.secret_key().to_secret_hex()).await;
    let login = start(&api, json!({})).await;
    ninth.open(&login.page_url).await;
    ninth.click(EXTENSION_BUTTON).await;
    ninth.until(&state_is("approved")).await;
    assert_eq!(api.finished(&login.stream).await.pop().unwrap().status(), "approved");
    // The others know, wherever they were.
    tabs[3].until("document.body.innerText.includes('You have logged in in another tab.')").await;
    is_for_everybody(&mut tabs[3]).await;

    // A page in the background is up to date once its user looks at it, and it does not wait until then.
    tabs[0].evaluate(MARK).await;
    let wallet = wallet_for(Policy::silent()).await;
    wallet.open(&logins[0].url.parse().unwrap(), LONG).await.unwrap();
    let request = wallet.next_request(LONG).await.unwrap();
    tabs[0].bring_to_front().await;
    tabs[0].until(&state_is("asking")).await;
    ninth.bring_to_front().await;
    wallet.approve(&request).unwrap();
    tabs[0].until(&state_is("approved")).await;
    assert_eq!(tabs[0].evaluate(IS_MARKED).await, json!(true));
}
