//! The console under attack and under load: books of 10,000 payments with the strings of strangers, other sites, and sessions that
//! end in the middle.

use rusqlite::{Connection, params};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use usher_protocol::Keys;
use usher_testing::{TcpServer, read_request};

use super::actions::{IS_READ, new_key};
use super::stage::{HOSTILE, Stage};
use super::window::Window;
use crate::harness::now;

/// Payments in the books.
const PAYMENTS: u64 = 10_000;

/// More than the newest page of the books, and less than all of them, in bytes on the wire.
const ONE_PAGE: u64 = 1_000_000;

/// Fills the books with payments of one second each, the last one now; the descriptions are what an older version, or an import,
/// may have let in.
fn fill_books(stage: &Stage) {
    let long = "x".repeat(10_000);
    let strings = [
        HOSTILE,
        "\u{1}\u{1b}[31mred\u{7f}",
        &long,
        "javascript:document.title='owned'",
        "@SUM(1+1)",
        "-2+3",
        "\u{202e}\u{2066}evil",
        "one\r\n\ttwo",
        "\u{e0041}\u{feff}hidden",
    ];
    let mut books = Connection::open(stage.folder.path().join("usher.db")).unwrap();
    let transaction = books.transaction().unwrap();
    let row = "INSERT INTO payment_records (stream, kind, status, amount, settled, description, reference, created_at, changed_at) \
               VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?7)";
    {
        let mut row = transaction.prepare(row).unwrap();
        for number in 0..PAYMENTS {
            let at = (now() - number) * 1_000;
            let stream = (u128::from(at) << 80) | (0x7000_8000 << 48) | u128::from(number);
            let (kind, status) = if number % 1_000 == 999 { ("invoice", "paid") } else { ("payment", "not_paid") };
            let string = strings[usize::try_from(number).unwrap() % strings.len()];
            let string = if number == PAYMENTS - 2 { "The needle in the books" } else { string };
            let reference = string.chars().take(64).collect::<String>();
            let amount = i64::try_from(number + 1).unwrap() * 1_000;
            let at = i64::try_from(at).unwrap();
            row.execute(params![stream.to_be_bytes(), kind, status, amount, string, reference, at]).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// Whether the screen has become what a string of somebody says, or shows a character that hides or reorders others.
const HARM: &str = r"({
    title: document.title.includes('owned'), pictures: document.images.length, scripts: document.scripts.length - 1, policyViolations,
    links: [...document.querySelectorAll('a')].map(({ href }) => href).filter((href) => !href.startsWith(location.origin + '/console')),
    hidden: /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]/.test(document.body.innerText),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
})";

/// Keeps what the page offers as a file.
const FILES: &str = "URL.createObjectURL = (blob) => (blob.text().then((text) => { window.file = text; }), 'data:,');";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_of_thousands_and_strings_of_strangers_stay_harmless() {
    let stage = Stage::start().await;
    stage.paid(1_000, HOSTILE, "first").await;
    stage.subscription().await;
    stage.age_check().await;
    stage.ticket().await;
    let link = json!({ "amount": 5, "currency": "sats", "description": HOSTILE });
    let link = stage.api.post("/payment-links", &link).await.unwrap();
    fill_books(&stage);

    let mut admin = Window::chromium(&stage.people.admin).await;
    admin.run_on_every_page(FILES).await;
    admin.load(&format!("{}/console", stage.url)).await;
    admin.log_in("/console").await;
    admin.until(IS_READ).await;
    let before = admin.browser().received_bytes();
    admin.go("/payments").await;
    admin.until("document.querySelectorAll('main tbody tr').length === 100").await;
    let received = admin.browser().received_bytes() - before;
    assert!(received < ONE_PAGE, "{received} bytes for the newest payments");
    admin.press("Older").await;
    admin
        .until("location.search.includes('after=') && document.querySelectorAll('main tbody tr').length === 100")
        .await;
    stage.paid(777, "Fresh", "fresh").await;
    admin.press("Newest").await;
    admin.sees("Fresh").await;
    stage.paid(778, "By itself", "fresh").await;
    admin.sees("By itself").await;
    for (path, found) in
        [("?q=needle", "The needle in the books"), ("?direction=out", "10,000 sat"), ("?q=%40SUM(1%2B1)", "@SUM(1+1)")]
    {
        admin.go(&format!("/payments{path}")).await;
        admin.sees(found).await;
    }
    admin.go("/payments").await;
    admin.press("CSV").await;
    admin.until("window.file !== undefined").await;
    let formulas = "file.trim().split('\\n').flatMap((line) => line.split(',')).filter((cell) => /^\"?[=+@\\-]/.test(cell)).length";
    assert_eq!(admin.evaluate(formulas).await, json!(0));
    assert!(admin.evaluate("file.split('\\n').length").await.as_u64() > Some(PAYMENTS));

    let payments = stage.api.get("/payments?q=first").await.unwrap();
    let payment = payments["payments"][0]["stream_id"].as_str().unwrap().to_owned();
    let subscriptions = stage.api.get("/subscriptions").await.unwrap();
    let subscription = subscriptions["subscriptions"][0]["subscription_id"].as_str().unwrap().to_owned();
    let screens = [
        String::new(),
        "/payments".to_owned(),
        format!("/payments/{payment}"),
        format!("/receipts/{payment}"),
        "/links".to_owned(),
        format!("/links/{}", link["stream_id"].as_str().unwrap()),
        "/subscriptions".to_owned(),
        format!("/subscriptions/{subscription}"),
        "/logins".to_owned(),
        format!("/users/{}", stage.user),
        "/approvals".to_owned(),
        "/age-checks".to_owned(),
        "/webhooks?status=delivered".to_owned(),
        format!("/webhooks/{payment}:0"),
        "/wallet".to_owned(),
        "/tickets".to_owned(),
        "/apps".to_owned(),
        "/keys".to_owned(),
        "/relays".to_owned(),
        "/audit".to_owned(),
        "/settings".to_owned(),
        "/settings?tab=operators".to_owned(),
        "/settings?tab=values".to_owned(),
        "/account".to_owned(),
        "/nothing".to_owned(),
    ];
    let harmless = json!({
        "title": false, "pictures": 0, "scripts": 0, "policyViolations": [], "links": [], "hidden": false, "wide": 0,
    });
    for is_dark in [false, true] {
        if is_dark {
            admin.browser().prefer_dark().await;
        }
        for screen in &screens {
            admin.go(screen).await;
            admin.until(IS_READ).await;
            assert_eq!(admin.evaluate(HARM).await, harmless, "{screen}");
            let browser = admin.browser();
            let faults = if is_dark { browser.contrast_faults().await } else { browser.accessibility_faults().await };
            assert_eq!(faults, [] as [&str; 0], "{screen}, dark: {is_dark}");
        }
    }
    admin.browser().show_as(390, 844, true).await;
    for screen in &screens {
        admin.go(screen).await;
        admin.until(IS_READ).await;
        assert_eq!(admin.evaluate(HARM).await, harmless, "{screen} on a phone");
    }
}

/// A page of another program on this machine: browsers send it the cookies of the same host.
async fn other_site() -> TcpServer {
    TcpServer::start(|mut socket| async move {
        while read_request(&mut socket).await.is_some() {
            let page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\nevil";
            let _ = socket.write_all(page).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_end_in_the_middle_and_other_sites_cannot_use_them() {
    let stage = Stage::start().await;
    let keys = "/console/keys";
    let mut admin = Window::chromium(&stage.people.admin).await;
    admin.load(&format!("{}{keys}", stage.url)).await;
    admin.log_in(keys).await;

    // Other sites, on this host and on another one.
    let other = other_site().await;
    let port = other.address().port();
    let attack = format!(
        "(async () => {{
            const send = (method, mode, headers) => fetch('{}/console/api/payment-links', {{ method, mode, headers, credentials: 'include',
                body: JSON.stringify({{ amount: 1, currency: 'sats', description: 'evil' }}) }}).then(({{ type }}) => type, () => 'failed');
            const frame = document.createElement('iframe');
            frame.src = '{}/console';
            document.body.append(frame);
            await new Promise((done) => {{ frame.onload = done; frame.onerror = done; }});
            return [await send('POST', 'no-cors', {{}}), await send('POST', 'cors', {{ 'Usher-Console': '1', 'Content-Type': 'application/json' }})];
        }})()",
        stage.url, stage.url
    );
    let form = format!(
        "{{ const form = document.createElement('form'); form.method = 'POST'; form.enctype = 'text/plain';
            form.action = '{}/console/api/payment-links'; const field = document.createElement('input');
            field.name = '{{\"amount\":1,\"currency\":\"sats\",\"description\":\"evil\",\"request_id\":\"'; field.value = '\"}}';
            form.append(field); document.body.append(form); form.submit(); }}",
        stage.url
    );
    for host in ["localhost", "127.0.0.1"] {
        let tab = admin.browser();
        tab.open(&format!("http://{host}:{port}/")).await;
        tab.until("document.body?.textContent === 'evil'").await;
        assert_eq!(tab.evaluate(&attack).await, json!(["opaque", "failed"]), "{host}");
        let complaints = format!("{:?}", tab.complaints());
        assert!(complaints.contains("503") || complaints.contains("frame"), "{host}: {complaints}");
        tab.evaluate(&form).await;
        tab.until(
            "location.pathname.startsWith('/console/api') && document.body?.innerText.includes('route_not_found')",
        )
        .await;
    }
    assert_eq!(stage.api.get("/payment-links").await.unwrap()["links"], json!([]));
    admin.load(&format!("{}{keys}", stage.url)).await;
    admin.until(IS_READ).await;
    let own = "fetch('/console/api/payment-links', { method: 'POST', body: '{}' }).then(async (response) => (await response.json()).code)";
    assert_eq!(admin.evaluate(own).await, json!("route_not_found"), "the header is missing");
    let inline = "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'set'; } catch (error) { return error.name; } })()";
    assert_eq!(admin.evaluate(inline).await, json!("TypeError"), "Trusted Types");
    assert_eq!(admin.evaluate("document.cookie.includes('usher_operator')").await, json!(false));
    let cookie = admin.browser().cookie("usher_operator").await;
    assert_eq!(
        (&cookie["httpOnly"], &cookie["sameSite"], &cookie["path"]),
        (&json!(true), &json!("Strict"), &json!("/"))
    );

    // Ended from another browser while a dialog is open: the screen says so at once, and the login returns to it.
    let mut elsewhere = Window::chromium(&stage.people.admin).await;
    elsewhere.load(&format!("{}/console/account", stage.url)).await;
    elsewhere.log_in("/console/account").await;
    admin.press("New key").await;
    elsewhere.press("End").await;
    elsewhere.press("End session").await;
    admin.until("document.body.dataset.state === 'logged-out'").await;
    admin.log_in(keys).await;

    // A colleague with a passkey: invited, and asked for it again.
    let link = stage.says(&["console", "invite", "Ida", "--role", "admin"]);
    let mut colleague = Window::chromium(&Keys::generate()).await;
    let _device = colleague.browser().add_authenticator(true).await;
    colleague.load(link.trim()).await;
    colleague.log_in_by_passkey("/console").await;
    stage.advance(301).await;
    colleague.go("/keys").await;
    new_key(&mut colleague).await;
    colleague.log_in_by_passkey(keys).await;
    new_key(&mut colleague).await;
    colleague.sees("usher_live_").await;
    let actor = stage.last_entry().await;
    assert_eq!(actor, ["operator:Ida", "createKey", "ok"].map(str::to_owned));

    // Idle for half an hour, and an operator who is removed: the screens say so at once.
    stage.advance(1_801).await;
    for window in [&mut colleague, &mut admin, &mut elsewhere] {
        window.until("document.body.dataset.state === 'logged-out'").await;
    }
    colleague.log_in_by_passkey(keys).await;
    let operators = stage.api.get("/operators").await.unwrap();
    let ida = operators["operators"].as_array().unwrap().iter().find(|operator| operator["name"] == "Ida").unwrap();
    stage.says(&["console", "remove", ida["key"].as_str().unwrap()]);
    colleague.until("document.body.dataset.state === 'logged-out'").await;
}
