//! The codes of logins that wallets approve (`usher-pages` tests those of browser extensions).

use crate::common::*;

/// The app shows `url` itself, and the user approves before the page is opened.
#[tokio::test]
async fn page_that_is_opened_after_the_approval_belongs_to_who_opens_it() {
    let pages = PageRules { return_urls: vec!["https://app.example/".parse().unwrap()], ..PageRules::default() };
    let mut usher = Running::with_options(EngineOptions { pages, ..options() }).await;
    for (n, return_url) in [(1, None), (2, Some("https://app.example/in".to_owned()))] {
        let has_code = return_url.is_some();
        let login = usher
            .engine
            .logins()
            .start(&Requester::Service, LoginRequest { return_url, static_token: None }, None)
            .await
            .unwrap();
        let stream = login.stream_id;
        usher.receive(2 * n, &user(n), handshake(&token(&login.url), &[])).await;
        let challenge = challenge_for(&mut usher, n).await;
        usher.receive(2 * n + 1, &user(n), approval(&challenge)).await;
        let said = events(&usher, stream, 2).await;
        let opened = |browser: Option<String>, claims| {
            let (usher, secret) = (&usher, page_secret(&login));
            async move { usher.engine.logins().open(stream, &secret, browser.as_deref(), claims).await.unwrap() }
        };
        if !has_code {
            assert_eq!(said[1], approved(n));
            // The login has ended: its page is no longer bound to a browser.
            assert!(matches!(opened(None, false).await, OpenedLogin::Unclaimed));
            let OpenedLogin::Page { view, new_browser } = opened(None, true).await else { panic!("no page") };
            assert!(matches!(view.state, LoginState::Approved { .. }) && new_browser.is_none());
            continue;
        }
        assert_eq!(said[1].1, json!({ "status": "user_approved", "method": "wallet" }));
        let OpenedLogin::Page { view, new_browser } = opened(None, true).await else { panic!("no page") };
        let back = view.return_url.unwrap();
        let code = back.strip_prefix(&format!("https://app.example/in?stream_id={stream}&code=")).unwrap();
        assert!(matches!(opened(None, true).await, OpenedLogin::OtherBrowser { .. }));
        assert!(matches!(opened(new_browser, false).await, OpenedLogin::Page { .. }));
        let redeemed = usher.engine.logins().redeem(&Requester::Service, stream, code, None).await.unwrap();
        assert_eq!(redeemed.main_key, user(n).public_key());
        assert_eq!(events(&usher, stream, 3).await[2], approved(n));
    }
}

/// A browser's own login at a reusable login whose pages lead back: a scan of the poster has no browser to lead anywhere.
#[tokio::test]
async fn scan_of_a_reusable_login_that_leads_back_is_approved_at_once() {
    let pages = PageRules { return_urls: vec!["https://app.example/".parse().unwrap()], ..PageRules::default() };
    let mut usher = Running::with_options(EngineOptions { pages, ..options() }).await;
    let leading_back = LoginRequest { return_url: Some("https://app.example/in".to_owned()), ..request("poster") };
    let [shop, other] = [1, 2].map(|n| api_key(n, |terms| terms.own_streams_only = true));
    let login = usher.engine.logins().start(&shop, leading_back, None).await.unwrap();
    let challenge = scan(&mut usher, 1, 1).await;
    usher.receive(2, &user(1), approval(&challenge)).await;
    assert_eq!(events(&usher, login.stream_id, 2).await, [named(1), approved(1)]);
    // A scan of the code on the page of a browser leads that browser back.
    let own = child(&usher, &login).await;
    let url = wallet_url(&usher, &own).await;
    usher.receive(3, &user(2), handshake(&token(&url), &[])).await;
    let challenge = challenge_for(&mut usher, 2).await;
    usher.receive(4, &user(2), approval(&challenge)).await;
    let said = events(&usher, login.stream_id, 4).await;
    assert_eq!(said[3].1, json!({ "status": "user_approved", "method": "wallet" }));
    // The same user scans the poster before the app has redeemed: both are theirs.
    let again = scan(&mut usher, 2, 5).await;
    usher.receive(6, &user(2), approval(&again)).await;
    assert_eq!(events(&usher, login.stream_id, 6).await[5], approved(2));
    let browser = own.new_browser.as_ref().map(|(browser, _)| browser.as_str());
    let opened = usher.engine.logins().open(own.login, &own.page_secret, browser, false).await.unwrap();
    let OpenedLogin::Page { view, .. } = opened else { panic!("no page") };
    let back = view.return_url.unwrap();
    let code = back.strip_prefix(&format!("https://app.example/in?stream_id={}&code=", login.stream_id)).unwrap();
    let redeem = async |by: &Requester| usher.engine.logins().redeem(by, login.stream_id, code, None).await;
    assert!(matches!(redeem(&other).await, Err(RedeemError::NotFound)));
    let second = usher.engine.logins().start(&shop, request("shelf"), None).await.unwrap().stream_id;
    let elsewhere = usher.engine.logins().redeem(&shop, second, code, None).await;
    assert!(matches!(elsewhere, Err(RedeemError::Wrong)), "{elsewhere:?}");
    assert_eq!(redeem(&shop).await.unwrap().main_key, user(2).public_key());
    assert_eq!(events(&usher, login.stream_id, 7).await[6], approved(2));
}
