//! The page of a reusable login in real browsers, on the real binary: one user after the other at one device, remote signers (npm
//! `@nostr-dev-kit/ndk`), what other sites can do with it, and crowds and floods.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};
use usher_protocol::{Keys, PublicKey};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::Policy;
use usher_test_tools::{Browser, NdkSigner};

use super::on_the_page::{is_for_everybody, start, state_is};
use super::remote_signers::{name_signer, use_a_signer};
use crate::harness::{Api, LONG, TestUsher, wallet_for};

async fn service() -> (EmbeddedRelay, TestUsher) {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("NOSTR__ALLOW_PRIVATE_RELAYS", true);
    (relay, builder.start().await)
}

/// The app's view of a stream, by `/ws`.
struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn follow(api: &Api, stream: &str) -> Self {
        let address = api.base.strip_prefix("http://").unwrap();
        let connection = TcpStream::connect(address).await.unwrap();
        let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {}", api.token).parse().unwrap());
        let (mut socket, _) = client_async(request, connection).await.unwrap();
        let subscribe = json!({ "id": "1", "cmd": "subscribe", "params": { "stream_id": stream, "after": 0 } });
        socket.send(Message::text(subscribe.to_string())).await.unwrap();
        Self(socket)
    }

    /// The next event: its index, what happened, to whom, and by which method.
    async fn next(&mut self) -> (u64, String, String, Value) {
        loop {
            let message = tokio::time::timeout(LONG, self.0.next()).await.expect("an event in time").unwrap().unwrap();
            let Message::Text(text) = message else { continue };
            let said: Value = serde_json::from_str(&text).unwrap();
            if said["type"] == "event" {
                let data = &said["data"];
                let what = data["status"].as_str().unwrap_or("named").to_owned();
                let key = data["main_key"].as_str().unwrap_or_default().to_owned();
                return (said["index"].as_u64().unwrap(), what, key, data["method"].clone());
            }
        }
    }
}

async fn open_logins(api: &Api) -> u64 {
    api.metric("usher_operations_open{kind=\"login\"}").await
}

/// Without `return_url`, as on a tablet at a door. The app follows all of it over one WebSocket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_device_serves_one_user_after_the_other() {
    let (relay, usher) = service().await;
    let api = usher.api();
    let reusable = start(&api, json!({ "static_token": "door-2" })).await;
    let mut app = Socket::follow(&api, &reusable.stream).await;
    let mut tablet = Browser::start().await;
    tablet.open(&reusable.page_url).await;
    tablet.until(&state_is("waiting")).await;

    let wallet = wallet_for(Policy::silent()).await;
    let url = tablet.evaluate("document.querySelector('a.button').href").await.as_str().unwrap().to_owned();
    wallet.open(&url.parse().unwrap(), LONG).await.unwrap();
    let request = wallet.next_request(LONG).await.expect("a challenge");
    wallet.approve(&request).unwrap();
    tablet.until(&state_is("approved")).await;
    is_for_everybody(&mut tablet).await;
    let first = wallet.main_key().to_hex();
    assert_eq!(app.next().await, (0, "named".to_owned(), first.clone(), Value::Null));
    assert_eq!(app.next().await, (1, "approved".to_owned(), first, json!("wallet")));

    // The next, who leaves again, and a third, who asks their remote signer.
    tablet.click("a.button").await;
    tablet.until(&state_is("waiting")).await;
    tablet.click("form[action$=decline] button").await;
    tablet.until(&state_is("declined")).await;
    is_for_everybody(&mut tablet).await;
    tablet.click("a.button").await;
    tablet.until(&state_is("waiting")).await;
    let signer = NdkSigner::start(&[relay.url()]).await;
    name_signer(&mut tablet, &signer.bunker_url("s3cret")).await;
    tablet.until(&state_is("approved")).await;
    assert_eq!(app.next().await, (2, "named".to_owned(), signer.key.clone(), Value::Null));
    assert_eq!(app.next().await, (3, "approved".to_owned(), signer.key.clone(), json!("signer")));

    // And one who scans the poster, and refuses.
    let passer_by = wallet_for(Policy::silent()).await;
    passer_by.open(&reusable.url.parse().unwrap(), LONG).await.unwrap();
    let request = passer_by.next_request(LONG).await.expect("a challenge");
    passer_by.decline(&request, Some("not today")).unwrap();
    let key = passer_by.main_key().to_hex();
    assert_eq!(app.next().await, (4, "named".to_owned(), key.clone(), Value::Null));
    assert_eq!(app.next().await, (5, "declined".to_owned(), key, json!("wallet")));
    assert_eq!(tablet.cookies().await.len(), 4, "one of each login, and what was used last");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn remote_signers_log_in_on_the_page_across_a_crash() {
    let (relay, mut usher) = service().await;
    let api = usher.api();
    let reusable = start(&api, json!({ "static_token": "door-2" })).await;
    let mut app = Socket::follow(&api, &reusable.stream).await;
    let (mut scans, mut pastes) = (Browser::start().await, Browser::start().await);
    for browser in [&mut scans, &mut pastes] {
        browser.open(&reusable.page_url).await;
        browser.until(&state_is("waiting")).await;
    }
    // One shows a code, which is still good after a crash.
    let mut scanning = NdkSigner::start(&[relay.url()]).await;
    use_a_signer(&mut scans).await;
    scans.click("form:not(:has(input)) button").await;
    scans.until(&state_is("waiting-signer-listening")).await;
    let link = "document.querySelector('a[href^=\"nostrconnect://\"]').href";
    let address = scans.evaluate(link).await.as_str().unwrap().to_owned();
    scans.until("document.readyState === 'complete'").await;
    // The other's signer refuses.
    let mut refusing = NdkSigner::start(&[relay.url()]).await;
    refusing.refuse("sign_event");
    name_signer(&mut pastes, &refusing.bunker_url("s3cret")).await;
    pastes.until(&state_is("declined")).await;
    assert!(api.events(&reusable.stream).await.0.is_empty(), "nobody has proven a key");

    usher.restart().await;
    drop(app);
    app = Socket::follow(&api, &reusable.stream).await;
    while api.events(&reusable.stream).await.0.is_empty() {
        // What the signer sends before the service listens again is lost: its user scans again.
        scanning.open(&address);
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    scans.until(&state_is("approved")).await;
    assert_eq!(app.next().await, (0, "named".to_owned(), scanning.key.clone(), Value::Null));
    assert_eq!(app.next().await, (1, "approved".to_owned(), scanning.key.clone(), json!("signer")));
    assert!(!api.events(&reusable.stream).await.1);
    // The app can ask the same user again, by the same signer.
    let user = PublicKey::from_hex(&scanning.key).unwrap();
    let event = api.outcome(&api.authenticate(&user, &[]).await).await;
    assert_eq!((event.status(), event.main_key()), ("approved", scanning.key.as_str()));
    assert!(!usher.log().contains("s3cret"), "the address stays out of the log");
}

/// A form of another site, which a browser sends without the cookies of its logins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_sites_cannot_fill_a_browser_with_logins() {
    let (_relay, usher) = service().await;
    let api = usher.api();
    let reusable = start(&api, json!({ "static_token": "door-2" })).await;
    let keys = Keys::generate();
    let mut browser = Browser::start().await;
    browser.install_extension(&keys.secret_key().to_secret_hex()).await;
    let form = format!("data:text/html,<form method=post action='{}'></form>", reusable.page_url);
    for _ in 0..5 {
        browser.open(&form).await;
        browser.until("document.forms.length === 1").await;
        browser.evaluate("document.forms[0].submit()").await;
        // It is led to the page, as by a link, and from there to the one login that it has.
        browser.until(&state_is("waiting")).await;
        assert_eq!((open_logins(&api).await, browser.cookies().await.len()), (1, 1));
    }
    // The page's own button works, for browsers that show it.
    let enter = format!(
        "(() => {{ const form = document.createElement('form'); form.method = 'post'; form.action = {:?}; \
         document.body.append(form); form.submit(); }})()",
        reusable.page_url
    );
    browser.evaluate("document.body.dataset.state = 'left'").await;
    browser.evaluate(&enter).await;
    browser.until(&state_is("waiting")).await;
    browser.until("document.querySelector('#extension:not([hidden]) button') !== null").await;
    browser.click("#extension:not([hidden]) button").await;
    browser.until(&state_is("approved")).await;
    assert_eq!(api.at_least(&reusable.stream, 2).await[1].main_key(), keys.public_key().to_hex());
}

/// Behind a proxy that names whom it forwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crowd_at_one_address_comes_in_and_a_flood_does_not() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("PAGES__TRUSTED_PROXIES", "127.0.0.1");
    let usher = builder.start().await;
    let api = usher.api();
    let reusable = start(&api, json!({ "static_token": "door-2" })).await;
    let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let come = async |from: &str| {
        let response = http.get(&reusable.page_url).header("x-forwarded-for", from).send().await.unwrap();
        let retry_after = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), retry_after)
    };
    for _ in 0..60 {
        assert_eq!(come("203.0.113.1, 198.51.100.7").await, (303, None));
    }
    let mut refused = 0;
    for n in 0..200 {
        // What the client itself says does not help it.
        match come(&format!("203.0.113.{n}, 198.51.100.7")).await {
            (303, None) => {}
            (429, Some(seconds)) => {
                assert_eq!(seconds, "2");
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(refused > 50, "{refused} were refused");
    let open = open_logins(&api).await;
    assert_eq!(come("198.51.100.8").await, (303, None), "another address");
    assert_eq!(come("2001:db8::1").await, (303, None));
    assert_eq!(open_logins(&api).await, open + 2);
}
