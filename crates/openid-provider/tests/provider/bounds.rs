//! What anybody can make the provider store, and how it ends.

use usher_engine::ClientNetwork;
use usher_engine::ports::{OpenIdQuota, OpenIdStore as _};
use usher_openid_provider::LoginOutcome;
use usher_testing::until;

use crate::fixture::{Browser, CALLBACK, Fixture, authorize_with, listed};

const MEBIBYTE: u64 = 1024 * 1024;

fn network(number: u8) -> ClientNetwork {
    ClientNetwork::Network([192, 0, 2, number].into())
}

fn large() -> String {
    authorize_with(&[("state", &"\"".repeat(8_192)), ("nonce", &"\"".repeat(1_024))])
}

async fn begin(fixture: &Fixture, network: ClientNetwork, path: &str) -> Browser {
    let mut browser = fixture.browser();
    let begun = browser.get_from(fixture, network, path).await;
    assert!(begun.location().contains("/login/"), "{begun:?}");
    let number = fixture.logins.begun.lock().len();
    browser.cookies.insert(format!("of_login-{number}"), "1".to_owned());
    browser
}

/// Whether the rows in total, or those of this visitor, are within this limit.
async fn fits(fixture: &Fixture, quota: OpenIdQuota, visitor: Option<&str>, most: u64) -> bool {
    fixture.store.openid_records_over(quota, visitor, most, 0, 1).await.unwrap().bytes == 0
}

/// One address cannot occupy the places of others, and the total is limited; also after a restart.
#[tokio::test]
async fn flood_of_requests_ends_the_oldest_of_its_own_address() {
    let mut fixture = Fixture::start().await;
    let mut honest = begin(&fixture, network(1), &authorize_with(&[])).await;
    let honest_return = fixture.login_return();
    // Behind a proxy without forwarding headers, all clients count as one visitor: open pages stay.
    let mut at_page = begin(&fixture, network(2), &authorize_with(&[])).await;
    let at_page_return = fixture.login_return();
    fixture.logins.open_pages.lock().insert("login-2".to_owned());
    let mut flooding = begin(&fixture, network(2), &large()).await;
    let flood_return = fixture.login_return();
    let before = fixture.database().len() as u64;
    for round in 0..3 {
        for _ in 0..120 {
            begin(&fixture, network(2), &large()).await;
        }
        assert!(fits(&fixture, OpenIdQuota::Requests, Some(&listed(network(2))), 2 * MEBIBYTE).await, "{round}");
        fixture.restart().await;
    }
    assert!(!fits(&fixture, OpenIdQuota::Requests, Some(&listed(network(2))), MEBIBYTE).await, "it is not empty");
    // The database has a log of some MB as well.
    let grown = fixture.database().len() as u64 - before;
    assert!(grown < 10 * MEBIBYTE, "{grown}");
    // What is removed takes its login along.
    let kept = fixture.logins.kept.lock().len();
    assert!((80..150).contains(&kept), "{kept}");
    flooding.get(&fixture, &flood_return).await.is_page(404);
    assert!(at_page.get(&fixture, &at_page_return).await.location().ends_with("/login/login-2"));
    fixture.decide_nth(1, LoginOutcome::Declined);
    let told = honest.get(&fixture, &honest_return).await;
    told.is_error("access_denied");
}

/// All of an address are in use: its newcomers are refused, and nobody else is. When all there is is taken by pages that stay open,
/// who comes from elsewhere displaces the oldest of the network that has the most.
#[tokio::test]
async fn open_pages_keep_out_newcomers_of_their_own_address_alone() {
    let fixture = Fixture::start().await;
    let mut begun = 0;
    let mut fill = async |network: ClientNetwork| -> usize {
        for number in 0.. {
            let reply = fixture.browser().get_from(&fixture, network, &large()).await;
            begun += 1;
            if reply.location().contains("/login/") {
                fixture.logins.open_pages.lock().insert(format!("login-{begun}"));
                continue;
            }
            assert!(reply.location().starts_with(&format!("{CALLBACK}?error=temporarily_unavailable&")), "{reply:?}");
            assert!(!fixture.logins.kept.lock().contains(&format!("login-{begun}")), "it leaves no login");
            return number;
        }
        unreachable!()
    };
    let most = 90;
    for number in 1..=8 {
        let filled = fill(network(number)).await;
        assert!((most..most + 20).contains(&filled), "{filled}");
        assert_eq!(fill(network(number)).await, 0);
    }
    let kept = || fixture.logins.kept.lock().clone();
    assert_eq!(kept().len(), fixture.logins.open_pages.lock().len(), "none has ended");
    // One page is closed.
    fixture.logins.open_pages.lock().remove("login-1");
    begin(&fixture, network(1), &large()).await;
    assert!(!kept().contains("login-1"));
    let (before, elsewhere) = (kept(), ClientNetwork::at("2001:db8::1".parse().unwrap()));
    for number in 0..20 {
        begin(&fixture, elsewhere, &large()).await;
        let login = format!("login-{}", fixture.logins.begun.lock().len());
        fixture.logins.open_pages.lock().insert(login);
        assert_eq!(kept().difference(&before).count(), number + 1, "none of them has ended");
    }
    assert!(kept().len() < before.len() + 20, "others have");
    assert!(fits(&fixture, OpenIdQuota::Requests, None, 16 * MEBIBYTE).await);
}

/// With a key: a session begins request after request. Their codes and questions are bounded like those without.
#[tokio::test]
async fn sessions_do_not_lift_the_bound() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    fixture.code(&mut browser).await;
    let mut codes = Vec::new();
    for number in 0..250 {
        let prompt = if number % 2 == 0 { "consent" } else { "" };
        let path = format!("{}&prompt={prompt}", large());
        codes.push(browser.get_from(&fixture, network(3), &path).await.parameter("code"));
    }
    assert!(fits(&fixture, OpenIdQuota::Requests, Some(&listed(network(3))), 2 * MEBIBYTE).await);
    assert!(fits(&fixture, OpenIdQuota::Requests, None, 3 * MEBIBYTE).await);
    let newest = codes.into_iter().flatten().next_back().unwrap();
    let tokens = fixture.redeem(&newest).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    // Tokens count where their code was asked for.
    assert!(!fits(&fixture, OpenIdQuota::Grants, Some(&listed(network(3))), 0).await);
}

/// A login whose user never came back goes with its request.
#[tokio::test]
async fn expired_request_takes_its_login_along() {
    let mut fixture = Fixture::start().await;
    begin(&fixture, network(2), &authorize_with(&[])).await;
    fixture.approve(1);
    fixture.clock.turn(std::time::Duration::from_secs(100 * 60));
    fixture.restart().await;
    until("the login is removed", async || fixture.logins.kept.lock().is_empty()).await;
}

/// `state` and `nonce` come back as they were sent, so they are stored: at most 8,192 and 1,024 bytes of printable ASCII.
#[tokio::test]
async fn state_and_nonce_are_bounded_and_printable() {
    let fixture = Fixture::start().await;
    for (name, most) in [("state", 8_192), ("nonce", 1_024)] {
        let fits = "~ ".repeat(most / 2);
        let begun = fixture.browser().get(&fixture, &authorize_with(&[(name, &fits)])).await;
        assert!(begun.location().contains("/login/"), "{name}: {begun:?}");
        for value in [&"x".repeat(most + 1), "\u{1}", "a\nb", "\u{7f}", "ü"] {
            let refused = fixture.browser().get(&fixture, &authorize_with(&[(name, value)])).await;
            refused.is_error("invalid_request");
            let expected = if name == "state" { value } else { "the state" };
            assert_eq!(refused.parameter("state").as_deref(), Some(expected), "an error has the state that came");
        }
    }
    let twice = format!("{}&state=other", authorize_with(&[]));
    let refused = fixture.browser().get(&fixture, &twice).await;
    refused.is_error("invalid_request");
    assert_eq!(refused.parameter("state").as_deref(), Some("the state"));
}
