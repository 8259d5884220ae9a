//! Logging out.

use crate::fixture::{Fixture, authorize_with, encode};

const BYE: &str = "https://shop.example/bye";

async fn logged_in(fixture: &Fixture) -> (crate::fixture::Browser, String) {
    let mut browser = fixture.browser();
    let id_token = fixture.id_token(&mut browser).await;
    (browser, id_token)
}

fn end_session(parameters: &[(&str, &str)]) -> String {
    format!("/usher/oauth/end-session?{}", encode(parameters))
}

#[tokio::test]
async fn app_with_an_id_token_logs_out_at_once() {
    let fixture = Fixture::start().await;
    let (mut browser, id_token) = logged_in(&fixture).await;
    let stolen = browser.cookies.clone();
    let parameters = [("id_token_hint", id_token.as_str()), ("post_logout_redirect_uri", BYE), ("state", "a b")];
    let reply = browser.get(&fixture, &end_session(&parameters)).await;
    assert_eq!((reply.status, reply.location()), (303, "https://shop.example/bye?state=a+b"));
    assert!(!browser.cookies.contains_key("__Host-usher_session"));
    browser.cookies = stolen;
    let after = browser.get(&fixture, &authorize_with(&[])).await;
    // The session has ended, not only its cookie.
    assert!(after.location().starts_with("https://login.example/usher/login/"), "{after:?}");
    // Without a session there is nothing to ask.
    let mut nobody = fixture.browser();
    assert_eq!(nobody.get(&fixture, &end_session(&parameters)).await.status, 303);
    nobody.get(&fixture, &end_session(&[])).await.is_page(200);
}

#[tokio::test]
async fn without_one_the_user_is_asked() {
    let fixture = Fixture::start().await;
    let (mut browser, _) = logged_in(&fixture).await;
    let parameters = [("client_id", "shop"), ("post_logout_redirect_uri", BYE)];
    let page = browser.get(&fixture, &end_session(&parameters)).await;
    page.is_page(200);
    assert!(page.body.contains("The &#60;shop&#62; wants to log you out."), "{}", page.body);
    assert!(browser.cookies.contains_key("__Host-usher_session"));
    let confirmation = confirmation(&page.body);
    let form = [parameters[0], parameters[1], ("confirmation", confirmation.as_str())];
    let left = browser.post(&fixture, "/oauth/end-session", &form).await;
    left.is_page(200);
    assert!(left.body.contains(&format!("href=\"{BYE}\"")), "{}", left.body);
    assert!(!browser.cookies.contains_key("__Host-usher_session"));
}

fn confirmation(page: &str) -> String {
    let field = page.split("name=\"confirmation\" value=\"").nth(1).unwrap_or_else(|| panic!("no field: {page}"));
    field.split('"').next().unwrap().to_owned()
}

/// A form of another site is sent without cookies, and the browser obeys the response all the same: it must delete none.
#[tokio::test]
async fn other_sites_log_nobody_out() {
    let fixture = Fixture::start().await;
    let (mut browser, _) = logged_in(&fixture).await;
    let mut other = fixture.browser();
    fixture.log_in(&mut other, 2, &[]).await;
    let of_other = confirmation(&other.get(&fixture, &end_session(&[])).await.body);
    for field in [("confirmed", "yes"), ("confirmation", "yes"), ("confirmation", of_other.as_str())] {
        let reply = fixture.browser().post(&fixture, "/oauth/end-session", &[field]).await;
        assert!(!reply.headers.contains_key("set-cookie"), "{field:?}: {reply:?}");
        // From a page of the same site it comes with the cookie: then the user is asked.
        let asked = browser.post(&fixture, "/oauth/end-session", &[field]).await;
        assert_eq!(asked.status, 303, "{field:?}: {asked:?}");
        let page = browser.get(&fixture, asked.location()).await;
        assert!(page.body.contains("<form"), "{field:?}: {page:?}");
        fixture.next_code(&mut browser, &[]).await;
    }
    // The other one's own confirmation still is one.
    other.post(&fixture, "/oauth/end-session", &[("confirmation", &of_other)]).await.is_page(200);
    assert!(!other.cookies.contains_key("__Host-usher_session"));
    // Nor does a link delete anything where there is no session.
    let reply = fixture.browser().get(&fixture, &end_session(&[])).await;
    assert!(!reply.headers.contains_key("set-cookie"), "{reply:?}");
}

#[tokio::test]
async fn logout_leads_only_to_registered_addresses() {
    let fixture = Fixture::start().await;
    let (mut browser, id_token) = logged_in(&fixture).await;
    for parameters in [
        &[("post_logout_redirect_uri", BYE)][..],
        &[("client_id", "spa"), ("post_logout_redirect_uri", BYE)][..],
        &[("client_id", "shop"), ("post_logout_redirect_uri", "https://evil.example/")][..],
        &[("client_id", "shop"), ("post_logout_redirect_uri", "https://shop.example/callback")][..],
        &[("client_id", "spa"), ("id_token_hint", id_token.as_str())][..],
        &[("client_id", "shop"), ("client_id", "shop")][..],
    ] {
        browser.get(&fixture, &end_session(parameters)).await.is_page(400);
    }
    assert!(browser.cookies.contains_key("__Host-usher_session"));
}
