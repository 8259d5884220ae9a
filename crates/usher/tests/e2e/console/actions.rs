//! Each action of each screen, against the real service: the screen says what came of it, and the audit log who did it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::stage::{HOSTILE, REFUSED, Stage};
use super::window::Window;
use crate::harness::{EXTENSION_BUTTON, has, until};

/// What a person does.
enum Hand {
    Press(&'static str),
    /// The button in the row, entry or card with this text.
    Near(&'static str, String),
    Fill(&'static str, String),
    /// The button of the dialog that does it.
    Submit,
    See(String),
}

fn near(name: &'static str, part: impl ToString) -> Hand {
    Hand::Near(name, part.to_string())
}

fn fill(label: &'static str, value: impl ToString) -> Hand {
    Hand::Fill(label, value.to_string())
}

fn see(text: impl ToString) -> Hand {
    Hand::See(text.to_string())
}

/// An action: the screen, what the person does, and its name in the audit log.
type Action = (String, Vec<Hand>, &'static str);

fn act(screen: impl ToString, hands: impl Into<Vec<Hand>>, audited: &'static str) -> Action {
    (screen.to_string(), hands.into(), audited)
}

const SUBMIT: &str = "(() => { const button = document.querySelector('dialog[open] form button[type=submit]:not([disabled])'); button?.click(); return \
     button !== null; })()";

const CLOSED: &str = "(document.querySelector('dialog[open] button[aria-label=Close]')?.click(), document.querySelector('dialog[open]') === null)";

/// Does all of it as the operator with this name.
async fn perform(stage: &Stage, window: &mut Window, name: &str, actions: Vec<Action>) {
    for (screen, hands, audited) in actions {
        if !screen.is_empty() {
            window.go(&screen).await;
        }
        for hand in &hands {
            match hand {
                Hand::Press(name) => window.press(name).await,
                Hand::Near(name, part) => window.press_near(name, part).await,
                Hand::Fill(label, value) => window.fill(label, value).await,
                Hand::Submit => window.until(SUBMIT).await,
                Hand::See(text) => window.sees(text).await,
            }
        }
        let entry = [format!("operator:{name}"), audited.to_owned(), "ok".to_owned()];
        if !audited.is_empty() {
            until(audited, async || stage.last_entry().await == entry).await;
        }
        // What a dialog still shows is read, and closed.
        window.until(CLOSED).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_action_of_each_screen_does_what_it_says() {
    let stage = Stage::start().await;
    let [viewer, support, admin] = stage.people.all();
    let windows = [Window::chromium(viewer).await, Window::chromium(support).await, Window::chromium(admin).await];
    walk(&stage, windows).await;
}

/// Debian's firefox-esr, in the same way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "scripts/nightly installs Firefox"]
async fn each_action_works_in_firefox() {
    let stage = Stage::start().await;
    let [viewer, support, admin] = stage.people.all();
    let windows = [Window::firefox(viewer).await, Window::firefox(support).await, Window::firefox(admin).await];
    walk(&stage, windows).await;
}

/// What there is to act on.
struct Things {
    tea: String,
    large: String,
    other: String,
    subscriptions: [String; 2],
    checks: [String; 3],
    failed: String,
}

impl Things {
    async fn make(stage: &Stage) -> Self {
        let tea = stage.paid(1_000, "Tea", "tea").await;
        let [large, other] = [stage.paid(50_000, HOSTILE, "large").await, stage.paid(50_001, "Rent", REFUSED).await];
        let app = json!({ "client_id": "wiki", "name": shown(), "redirect_uris": ["https://wiki.example/cb"] });
        for (path, body) in [
            ("/payment-links", json!({ "amount": 5, "currency": "sats", "description": HOSTILE })),
            ("/oidc/clients", app),
            ("/keys", json!({ "name": "shop", "scopes": ["login"] })),
        ] {
            stage.api.post(path, &body).await.unwrap();
        }
        // Until the refused event is given up.
        stage.advance(4 * 86_400).await;
        let failed = stage.api.get("/webhooks/deliveries?status=failed").await.unwrap();
        let failed = failed["deliveries"][0]["id"].as_str().unwrap_or_else(|| panic!("{failed}")).to_owned();
        stage.ticket().await;
        let subscriptions = [stage.subscription().await, stage.subscription().await];
        let checks = [stage.age_check().await, stage.age_check().await, stage.age_check().await];
        Self { tea, large, other, subscriptions, checks, failed }
    }
}

/// Without what names may not have.
fn shown() -> &'static str {
    HOSTILE.get(..90).unwrap()
}

async fn walk(stage: &Stage, [mut viewer, mut support, mut admin]: [Window; 3]) {
    let things = Things::make(stage).await;
    for (window, screen) in [(&mut viewer, "approvals"), (&mut support, "links"), (&mut admin, "age-checks")] {
        window.load(&format!("{}/console/{screen}", stage.url)).await;
        window.log_in(&format!("/console/{screen}")).await;
    }
    // Two decide at once: the second is told.
    admin.press_near("Approve…", &things.checks[0]).await;
    perform(stage, &mut support, "Sam", of_support(&things)).await;
    admin.press("Approve").await;
    admin.until("document.querySelector('dialog [role=alert]') !== null").await;
    admin.press("Cancel").await;

    are_offered_what_they_may(stage, &things, [&mut viewer, &mut support, &mut admin]).await;
    let decided = vec![
        act("/approvals", [near("Approve…", "20,000 sat"), Hand::Press("Approve 20,000 sat")], "decideApproval"),
        act(
            "/approvals",
            [near("Decline…", "50,001 sat"), Hand::Press("Decline"), see("Nothing waits")],
            "decideApproval",
        ),
    ];
    perform(stage, &mut viewer, "Vera", decided).await;
    agree(stage, &mut admin).await;
    perform(stage, &mut admin, "Ada", of_admin(stage)).await;
    let refunds = stage.api.get(&format!("/payments?q={}", things.large)).await.unwrap();
    assert_eq!(refunds["payments"][0]["refund_of"], *things.large, "{refunds}");
    stage.until_status(refunds["payments"][0]["stream_id"].as_str().unwrap(), "paid").await;
    for window in [&mut viewer, &mut support, &mut admin] {
        assert_eq!(window.evaluate("policyViolations").await, json!([]));
        assert_eq!(window.evaluate("document.title.includes('owned')").await, json!(false));
    }
    // Five minutes later a key needs a login again, which returns to the screen.
    stage.advance(301).await;
    admin.go("/keys").await;
    new_key(&mut admin).await;
    admin.until("location.pathname === '/console/step-up'").await;
    admin.log_in("/console/keys").await;
    new_key(&mut admin).await;
    admin.sees("usher_live_").await;
    admin.press("Close").await;
    admin.go("/account").await;
    admin.press("Log out").await;
    admin.until("document.body.dataset.state === 'logged-out'").await;
}

/// Logs in to an app as a user who agrees to what it is given, and comes back to the console.
async fn agree(stage: &Stage, window: &mut Window) {
    let asked = "client_id=wiki&response_type=code&scope=openid&state=s&redirect_uri=https%3A%2F%2Fwiki.example%2Fcb&\
                 code_challenge_method=S256&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    window.load(&format!("{}/oauth/authorize?{asked}", stage.url)).await;
    window.until(&has(EXTENSION_BUTTON)).await;
    window.evaluate("(document.querySelector('#other-ways').open = true)").await;
    window.evaluate(&format!("(document.querySelector('{EXTENSION_BUTTON}').click(), true)")).await;
    window
        .until("(() => { const button = document.querySelector('button[value=allow]'); button?.click(); return button !== null; })()")
        .await;
    until("the consent", async || {
        let consents = stage.api.get("/oidc/consents").await.unwrap();
        consents["consents"].as_array().is_some_and(|consents| consents.len() == 1)
    })
    .await;
    window.load(&format!("{}/console/apps", stage.url)).await;
    window.until(IS_READ).await;
}

pub(super) async fn new_key(window: &mut Window) {
    window.press("New key").await;
    window.fill("Name", "till").await;
    window.fill("login", "").await;
    window.press("Create key").await;
}

fn of_support(things: &Things) -> Vec<Action> {
    let Things { tea, large, other, subscriptions, checks, failed } = things;
    let new_link = [
        Hand::Press("New link"),
        fill("What it is for", HOSTILE),
        fill("Price in sats", "1 500"),
        Hand::Press("Create link"),
        see("1,500 sat"),
    ];
    let refund = [
        Hand::Press("Refund…"),
        fill("Your reference", "=1+1"),
        Hand::Press("Refund 1,000 sat"),
        Hand::Press("Show the refund"),
        see("Refund of"),
    ];
    let part = [
        Hand::Press("Refund…"),
        fill("Amount in sats", "20000"),
        Hand::Press("Refund 20,000 sat"),
        see("The refund has begun"),
    ];
    vec![
        act("/links", new_link, "createPaymentLink"),
        act("", [Hand::Press("Close…"), Hand::Press("Close link"), see("Closed")], "closePaymentLink"),
        act(format!("/payments/{tea}"), refund, "refundPayment"),
        act(format!("/payments/{large}"), part, "refundPayment"),
        act(
            format!("/payments/{other}"),
            [Hand::Press("Refund…"), Hand::Press("Refund 50,001 sat"), see("The refund has begun")],
            "refundPayment",
        ),
        act(
            format!("/subscriptions/{}", subscriptions[0]),
            [Hand::Press("Close…"), Hand::Press("Close subscription"), see("Closed by you")],
            "closeSubscription",
        ),
        act("/age-checks", [near("Approve…", &checks[0]), Hand::Press("Approve")], "decideVerificationSession"),
        act(
            "/age-checks",
            [near("Reject…", &checks[1]), fill("Reason", shown()), Hand::Press("Reject")],
            "decideVerificationSession",
        ),
        act("/webhooks", [Hand::Press("Send a test event…"), Hand::Press("Send"), see("is on its way")], "testWebhook"),
        act(
            "/webhooks",
            [Hand::Press("Send all again…"), Hand::Submit, see("Nothing has failed")],
            "retryWebhookDelivery",
        ),
        act(
            format!("/webhooks/{failed}"),
            [see("500 Internal Server Error"), Hand::Press("Send again…"), Hand::Press("Send again"), see("Pending")],
            "retryWebhookDelivery",
        ),
    ]
}

fn of_admin(stage: &Stage) -> Vec<Action> {
    let user = &stage.user;
    let new_app = [
        Hand::Press("New app"),
        fill("Client id", "forge"),
        fill("Name", shown()),
        fill("Users come back to", "https://forge.example/cb"),
        Hand::Press("Create app"),
        see("Its secret is shown this once"),
    ];
    let new_key = [
        Hand::Press("New key"),
        fill("Name", "till"),
        fill("payments:send", ""),
        fill("At most a day", "1000"),
        Hand::Press("Create key"),
        see("usher_live_"),
    ];
    let rotated = [
        near("Rotate…", "till"),
        fill("The former secret", "at once"),
        Hand::Press("Make a new secret"),
        see("usher_live_"),
    ];
    let changed = [
        near("Change…", "forge"),
        fill("Give it a new secret", ""),
        Hand::Press("Save"),
        see("Its secret is shown this once"),
    ];
    let relay = "ws://127.0.0.1:9";
    vec![
        act(
            "/tickets",
            [
                near("Reclaim…", "5 multi"),
                Hand::Press("Reclaim"),
                see("Every ticket that was sent"),
                see("counts no withdrawals"),
            ],
            "reclaimTicket",
        ),
        act("/apps", [near("Revoke…", "wiki"), Hand::Press("Revoke")], "revokeOidcConsent"),
        act("/apps", new_app, "createOidcClient"),
        act("/apps", changed, "changeOidcClient"),
        act("/apps", [near("Remove…", "forge"), Hand::Press("Remove app")], "deleteOidcClient"),
        act("/keys", new_key, "createKey"),
        act("/keys", rotated, "rotateKey"),
        act("/keys", [near("Revoke…", "till"), Hand::Press("Revoke key")], "revokeKey"),
        act(
            "/relays",
            [Hand::Press("Add a relay"), fill("Address", relay), Hand::Press("Add"), see(relay)],
            "addRelay",
        ),
        act("/relays", [near("Remove…", relay), Hand::Press("Remove")], "removeRelay"),
        act(
            "/settings",
            [fill("About", shown()), Hand::Press("Publish…"), Hand::Press("Publish"), see("Published")],
            "publishProfile",
        ),
        act(
            "/settings?tab=values",
            [
                fill("Search in the settings", "approval_above"),
                Hand::Press("How to change"),
                see("approval_above_millisats = 10000000"),
            ],
            "",
        ),
        act(
            "/settings?tab=operators",
            [Hand::Press("Invite"), fill("Name", "Otto"), Hand::Press("Make an invitation"), see("/console/invite/")],
            "inviteOperator",
        ),
        act(
            format!("/users/{user}"),
            [
                Hand::Press("Erase…"),
                fill("The first eight", &user[..8]),
                Hand::Press("Erase for ever"),
                see("The user is erased"),
            ],
            "eraseUser",
        ),
        act(
            "/audit",
            [fill("Search in the entries", "eraseuser"), near("Erase user", "Ada"), see("Erase user, number")],
            "",
        ),
    ]
}

/// What changes something, by screen and name: in the order of the screens, as the roles have it.
const OFFERED: [(&str, &str); 26] = [
    ("admin support", "links New link"),
    ("admin support", "payments Refund…"),
    ("admin support", "subscriptions Close…"),
    ("admin support", "users Erase…"),
    ("viewer", "approvals Decline…"),
    ("viewer", "approvals Approve…"),
    ("admin support", "age-checks Reject…"),
    ("admin support", "age-checks Approve…"),
    ("admin support", "webhooks Send a test event…"),
    ("admin support", "webhooks Send again…"),
    ("admin", "tickets Reclaim…"),
    ("admin", "apps New app"),
    ("admin", "apps Change…"),
    ("admin", "apps Remove…"),
    ("admin", "keys New key"),
    ("admin", "keys Rotate…"),
    ("admin", "keys Revoke…"),
    ("admin", "relays Add a relay"),
    ("admin", "relays Remove…"),
    ("admin", "settings Publish…"),
    ("admin", "settings Invite"),
    // Changes nothing.
    ("admin support viewer", "payments CSV"),
    ("admin support viewer", "payments Receipt"),
    ("admin support viewer", "apps Settings"),
    ("admin support viewer", "settings How to change"),
    ("admin support viewer", "account Log out"),
];

async fn are_offered_what_they_may(stage: &Stage, things: &Things, windows: [&mut Window; 3]) {
    let screens = [
        "/links".to_owned(),
        "/payments".to_owned(),
        format!("/payments/{}", things.tea),
        format!("/payments/{}", things.large),
        format!("/subscriptions/{}", things.subscriptions[1]),
        format!("/users/{}", stage.user),
        "/approvals".to_owned(),
        "/age-checks".to_owned(),
        "/webhooks".to_owned(),
        format!("/webhooks/{}", things.failed),
        "/wallet".to_owned(),
        "/tickets".to_owned(),
        "/apps".to_owned(),
        "/keys".to_owned(),
        "/relays".to_owned(),
        "/settings".to_owned(),
        "/settings?tab=operators".to_owned(),
        "/settings?tab=values".to_owned(),
        "/account".to_owned(),
    ];
    for (role, window) in ["viewer", "support", "admin"].into_iter().zip(windows) {
        let mut offered = BTreeSet::new();
        for screen in &screens {
            window.go(screen).await;
            window.until(IS_READ).await;
            let names = window.evaluate(BUTTONS).await;
            let place = screen.split(['/', '?']).nth(1).unwrap();
            offered.extend(names.as_array().unwrap().iter().map(|name| format!("{place} {}", name.as_str().unwrap())));
        }
        let may = OFFERED.iter().filter(|(roles, _)| roles.split(' ').any(|allowed| allowed == role));
        let may: BTreeSet<_> = may.map(|(_, name)| (*name).to_owned()).collect();
        assert_eq!(offered, may, "{role}");

        let refused = json!([403, "role_not_allowed"]);
        let (refund, approval) = (format!("/payments/{}/refund", things.other), format!("/approvals/{}", things.other));
        for (who, method, path) in [
            ("viewer", "POST", "/payment-links"),
            ("viewer", "POST", &refund),
            ("viewer", "POST", "/webhooks/test"),
            ("viewer", "DELETE", &format!("/users/{}", stage.user)),
            ("viewer support", "POST", "/keys"),
            ("viewer support", "POST", "/oidc/clients"),
            ("viewer support", "POST", "/relays"),
            ("viewer support", "PUT", "/profile"),
            ("viewer support", "POST", "/operators/invitations"),
            ("viewer support", "POST", "/cashu/withdraw"),
            ("viewer support", "POST", "/wallet/send"),
            ("support admin", "POST", &approval),
        ] {
            if who.split(' ').any(|refused| refused == role) {
                assert_eq!(window.call(method, path, &json!({})).await, refused, "{role} {method} {path}");
            }
        }
    }
}

/// Nothing is being read.
pub(super) const IS_READ: &str =
    "document.querySelector('main h1') !== null && document.querySelector('main .loading') === null";

/// The names of all buttons of the screen but those of filters and copies.
const BUTTONS: &str =
    "[...document.querySelectorAll('main :is(a, button).button')].map((element) => element.textContent.trim())";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_opens_closes_and_sends_from_the_embedded_node() {
    let stage = Stage::embedded().await;
    stage.paid(150_000, HOSTILE, "first").await;
    let mut admin = Window::chromium(&stage.people.admin).await;
    admin.load(&format!("{}/dev/console", stage.url)).await;
    admin.until(IS_READ).await;
    let cost = [
        Hand::Press("What does receiving cost?"),
        fill("Amount in sats", "20000"),
        Hand::Press("Ask"),
        see("20,000 sat cost nothing"),
    ];
    let actions = vec![
        act("/wallet", cost, ""),
        act("/wallet", [Hand::Press("Address"), Hand::Press("Show an address"), see("bcrt1")], "createAddress"),
        act("/wallet", [Hand::Press("Close…"), Hand::Press("Close channel"), see("No channels yet")], "closeChannel"),
    ];
    perform(&stage, &mut admin, "Developer", actions).await;
    let on_chain = async |part: &str, is_wanted: fn(u64) -> bool| {
        until(part, async || {
            let info = stage.api.get("/wallet/info").await.unwrap();
            is_wanted(info["node"].pointer(part).and_then(Value::as_u64).unwrap())
        })
        .await;
    };
    on_chain("/on_chain/spendable", |spendable| spendable > 100_000_000).await;
    admin.load(&format!("{}/console/wallet", stage.url)).await;
    let send = [
        Hand::Press("Send on chain…"),
        // Somebody's (BIP 173).
        fill("Address", "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"),
        fill("Amount in sats", "20000"),
        Hand::Press("Send 20,000 sat"),
        see("On-chain payment"),
    ];
    perform(&stage, &mut admin, "Developer", vec![act("", send, "sendOnChain")]).await;
    on_chain("/pending/sending", |sending| sending == 0).await;
    let open = [
        Hand::Press("Open a channel…"),
        fill("Amount in sats", "60000"),
        Hand::Press("Open with 60,000 sat"),
        see("opened by you"),
    ];
    let forced = [Hand::Press("Close…"), fill("By force", ""), Hand::Press("Close by force"), see("No channels yet")];
    let actions = vec![act("/wallet", open, "openChannel"), act("/wallet", forced, "closeChannel")];
    perform(&stage, &mut admin, "Developer", actions).await;
    assert_eq!(admin.evaluate("policyViolations").await, json!([]));
}
