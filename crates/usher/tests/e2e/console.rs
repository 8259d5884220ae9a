//! The console in a browser: a colleague accepts an invitation, strings of others stay text, other pages cannot use or frame
//! it, and a session that was ended elsewhere ends on the screen.

use serde_json::json;
use usher_protocol::Keys;
use usher_testing::Browser;

use crate::harness::{EXTENSION_BUTTON, TestUsher, has};

const HOSTILE: &str = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn colleague_is_invited_and_works_until_the_session_ends() {
    let port = usher_loopback_port::free().unwrap();
    let url = format!("http://localhost:{port}");
    let mut usher = TestUsher::builder().set("PAGES__LISTEN_PORT", port).set("PAGES__PUBLIC_URL", &url).start().await;
    let link = usher.says(&["console", "invite", HOSTILE.get(..40).unwrap(), "--role", "support"]).await;
    let mut browser = Browser::start().await;
    browser.install_extension(&Keys::generate().secret_key().to_secret_hex()).await;
    browser.open(link.trim()).await;
    browser.until("document.body.dataset.state === 'logged-out'").await;
    browser.click("form button").await;
    browser.until(&has(EXTENSION_BUTTON)).await;
    browser.click("#other-ways > summary").await;
    browser.click(EXTENSION_BUTTON).await;
    browser
        .until("location.pathname === '/console' && document.querySelector('#console nav, #console header') !== null")
        .await;

    // What the page's own program may send; a form of another page lacks the header.
    let close = |header: &str| {
        format!(
            "(async () => (await (await fetch('/console/api/payment-links/x', {{ method: 'DELETE', headers: {{ {header} }} \
             }})).json()).code)()"
        )
    };
    let marked = "'Usher-Console': '1'";
    assert_eq!(browser.evaluate(&close("")).await, json!("route_not_found"));
    assert_eq!(browser.evaluate(&close(marked)).await, json!("stream_not_found"));
    let begun = format!(
        "(async () => (await fetch('/console/api/login', {{ method: 'POST', body: '{{}}', headers: {{ {marked}, \
         'Content-Type': 'application/json' }} }})).status)()"
    );
    assert_eq!(browser.evaluate(&begun).await, json!(403), "it is no administrator's");
    let session = "(async () => (await (await fetch('/console/session')).json()))()";
    let found = browser.evaluate(session).await;
    assert_eq!((&found["role"], found["sessions"].as_array().unwrap().len()), (&json!("support"), 1));
    assert_eq!(browser.evaluate("document.cookie").await, json!(""), "no script reads the cookie");
    assert_ne!(browser.evaluate("document.title").await, json!("owned"));
    assert_eq!(browser.evaluate("document.querySelectorAll('#console img[src=x]').length").await, json!(0));
    let inline = "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'set'; } catch (error) { return error.name; } })()";
    assert_eq!(browser.evaluate(inline).await, json!("TypeError"), "Trusted Types");

    let operators = usher.api().get("/operators").await.unwrap();
    let key = operators["operators"][0]["key"].as_str().unwrap().to_owned();
    let removed = usher.says(&["console", "remove", &key]).await;
    assert_eq!(removed, "");
    browser.open(&format!("{url}/console/payments")).await;
    browser.until("document.body.dataset.state === 'logged-out'").await;
    usher.stop().await;
}
