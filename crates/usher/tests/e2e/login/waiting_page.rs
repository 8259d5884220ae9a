//! What a login's page does in a real browser while it waits: in several tabs, in the background, across restarts behind a proxy,
//! and when its state changes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;
use usher_test_tools::Browser;

use super::on_the_page::{is_for_everybody, start, state_is};
use super::remote_signers::everybody;
use crate::harness::{LONG, TestTasks, TestUsher, wallet_for};

const EXTENSION_BUTTON: &str = "#extension:not([hidden]) button";
/// Text that only a page has that was not loaded anew.
const MARK: &str = "window.mark = 'the same page'";
const IS_MARKED: &str = "window.mark === 'the same page'";

async fn service() -> (EmbeddedRelay, TestUsher) {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("PAGES__RETURN_URLS", "http://127.0.0.1:9/app");
    (relay, builder.start().await)
}

/// A proxy as nginx and Caddy are: while the service does not listen, it responds with an error page of its own.
struct Proxy {
    url: String,
    upstream: Arc<OnceLock<String>>,
}

impl Proxy {
    async fn start(tasks: &TestTasks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let upstream = Arc::new(OnceLock::new());
        let to = Arc::clone(&upstream);
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                open.spawn(forward(client, Arc::clone(&to)));
            }
        });
        Self { url, upstream }
    }
}

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
    let tasks = TestTasks::default();
    let proxy = Proxy::start(&tasks).await;
    let builder = TestUsher::builder().relays(&[relay.url()]).set("PAGES__PUBLIC_URL", &proxy.url);
    let mut usher = builder.start().await;
    let api = usher.api();
    proxy.upstream.set(api.base.strip_prefix("http://").unwrap().to_owned()).unwrap();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_login_in_two_tabs_returns_to_the_app_once() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let login = start(&api, json!({ "return_url": "http://127.0.0.1:9/app" })).await;
    let keys = Keys::generate();
    let mut first = Browser::start().await;
    first.open(&login.page_url).await;
    first.until(&state_is("waiting")).await;
    let mut second = first.another_tab().await;
    second.install_extension(&keys.secret_key().to_secret_hex()).await;
    second.open(&login.page_url).await;
    second.click(EXTENSION_BUTTON).await;
    let returned = format!("http://127.0.0.1:9/app?stream_id={}", login.stream);
    let returned = second.until_requested(&returned).await;
    first.until(&state_is("approved")).await;
    first.bring_to_front().await;
    assert!(!first.requested().contains(&returned.as_str()), "the app gets its user once");
    assert_eq!(first.evaluate("document.querySelector('a.button').href").await, json!(returned));
    is_for_everybody(&mut first).await;
}

/// A phone: the code for the signer is on the screen, and the page stays where its user is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_code_for_a_signer_comes_into_view_and_the_page_stays_in_its_place() {
    let (_relay, _usher, mut signer, mut browser, _login) = everybody().await;
    signer.ask_to_confirm("https://signer.example/confirm?x=1");
    super::remote_signers::use_a_signer(&mut browser).await;
    browser.click("form:not(:has(input)) button").await;
    browser.until(&state_is("waiting-signer-listening")).await;
    let visible = "document.readyState === 'complete' && [...document.querySelectorAll('.qr')].filter(code => {
        const box = code.getBoundingClientRect();
        return code.checkVisibility() && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
    }).map(code => code.getAttribute('aria-label')).join() === 'QR code of the login, for your remote signer'";
    browser.until(visible).await;
    is_for_everybody(&mut browser).await;
    let link = "document.querySelector('a[href^=\"nostrconnect://\"]').href";
    let address = browser.evaluate(link).await.as_str().unwrap().to_owned();

    browser.evaluate(MARK).await;
    browser.evaluate("document.querySelector('a[href$=\"/signer\"]').focus({ preventScroll: true })").await;
    browser.evaluate("scrollTo(0, 200)").await;
    let place = "[document.activeElement.href, document.activeElement.getBoundingClientRect().top]";
    let before = browser.evaluate(place).await;
    assert_eq!(browser.evaluate("scrollY").await, json!(200));
    signer.open(&address);
    browser.until(&state_is("waiting-signer-confirming")).await;
    assert_eq!(browser.evaluate(IS_MARKED).await, json!(true), "nothing was loaded anew");
    assert_eq!(browser.evaluate(place).await[0], before[0], "the focus stays");
    // A page that is shorter now ends above it.
    let stayed = "scrollY === Math.min(200, document.documentElement.scrollHeight - innerHeight)";
    assert_eq!(browser.evaluate(stayed).await, json!(true), "the page stays in its place");
    is_for_everybody(&mut browser).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_user_types_survives_an_address_that_is_wrong() {
    let (_relay, _usher, _signer, mut browser, _login) = everybody().await;
    let wrong = "bunker://79be667ef9dcbbac55a06295ce870b07?relay=wss://relay.example&secret=<\"s&3>";
    super::remote_signers::name_signer(&mut browser, wrong).await;
    browser.until("document.body?.innerText.includes('This is not the address of a signer')").await;
    assert_eq!(browser.evaluate("document.getElementById('signer-address').value").await, json!(wrong));
    is_for_everybody(&mut browser).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_may_be_late_and_the_time_left_counts_down() {
    let (_relay, usher) = service().await;
    let login = start(&usher.api(), json!({})).await;
    let mut browser = Browser::start().await;
    let late = "setTimeout(() => { window.nostr = { signEvent: () => Promise.reject(new Error('no')) }; }, 4000)";
    browser.run_on_every_page(late).await;
    browser.open(&login.page_url).await;
    browser.until(&state_is("waiting")).await;
    let names = "[window.nostr, window.webln].map(global => typeof global).join()";
    assert_eq!(browser.evaluate(names).await, json!("undefined,undefined"), "no element is taken for an extension");
    let clock = "document.getElementById('countdown').textContent";
    browser.until(&format!("{clock}.startsWith('Time left: ')")).await;
    let before = browser.evaluate(clock).await;
    browser.until(&format!("{clock} !== {before}")).await;
    browser.click(EXTENSION_BUTTON).await;
    browser
        .until(
            "document.querySelector('#status p').textContent === document.getElementById('extension').dataset.refused",
        )
        .await;
    assert_eq!(browser.complaints(), [] as [&Value; 0]);
}
