//! What users agree to, and how an operator takes it back.

use usher_engine::ports::OpenIdStore as _;

use crate::fixture::{Fixture, authorize_with, leads_to, user};

#[tokio::test]
async fn refusal_is_told_to_the_app_and_not_remembered() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let asked = fixture.log_in(&mut browser, 1, &[]).await;
    let request = asked.parameter("request").unwrap();
    let form = [("request", request.as_str()), ("decision", "deny")];
    let denied = browser.post(&fixture, "/oauth/consent", &form).await;
    assert_eq!(leads_to(&denied.body, "error").as_deref(), Some("access_denied"));
    assert_eq!(leads_to(&denied.body, "state").as_deref(), Some("the state"));
    // The question is over.
    let form = [("request", request.as_str()), ("decision", "allow")];
    browser.post(&fixture, "/oauth/consent", &form).await.is_page(404);
    let again = browser.get(&fixture, &authorize_with(&[])).await;
    assert!(again.location().starts_with("/usher/oauth/consent?"), "logged in, and asked again");
    assert_eq!(fixture.consents().await, []);
}

/// "Back" after the decision shows the question's address again.
#[tokio::test]
async fn answered_question_leads_on_to_the_app() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let asked = fixture.log_in(&mut browser, 1, &[]).await;
    let back = fixture.login_return();
    browser.allow(&fixture, &asked).await;
    let form = [("request", asked.parameter("request").unwrap()), ("decision", "allow".to_owned())];
    let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
    for page in [
        browser.get(&fixture, asked.location()).await,
        browser.post(&fixture, "/oauth/consent", &form).await,
        browser.get(&fixture, &back).await,
    ] {
        page.is_page(404);
        assert!(page.body.contains("<a class=\"button\" href=\"https://shop.example/\""), "{}", page.body);
        assert!(page.body.contains("Go to The &#60;shop&#62;"), "{}", page.body);
    }
}

#[tokio::test]
async fn each_app_and_each_further_scope_is_asked_for() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    fixture.code_for(&mut browser, &[("scope", "openid profile")]).await;
    fixture.next_code(&mut browser, &[("scope", "openid")]).await;
    let more = browser.get(&fixture, &authorize_with(&[("scope", "openid email")])).await;
    assert!(more.location().starts_with("/usher/oauth/consent?"));
    let other = [("client_id", "spa"), ("redirect_uri", "https://spa.example/callback")];
    let other = browser.get(&fixture, &authorize_with(&other)).await;
    assert!(other.location().starts_with("/usher/oauth/consent?"), "{other:?}");
}

#[tokio::test]
async fn operator_takes_back_a_consent_with_its_tokens() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let tokens = fixture.tokens(&mut browser).await;
    let consents = fixture.consents().await;
    assert_eq!(consents.len(), 1);
    assert_eq!((consents[0].client_id.as_str(), &consents[0].subject), ("shop", &user(1).to_hex()));
    assert!(fixture.store.revoke_openid_consent("shop", &user(1).to_hex()).await.unwrap());
    assert!(!fixture.store.revoke_openid_consent("shop", &user(1).to_hex()).await.unwrap());
    assert_eq!(fixture.userinfo(&tokens.token("access_token")).await.status, 401);
    fixture.refresh(&tokens.token("refresh_token")).await.refuses("invalid_grant");
    let asked = browser.get(&fixture, &authorize_with(&[])).await;
    assert!(asked.location().starts_with("/usher/oauth/consent?"));
}
