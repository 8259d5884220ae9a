//! The page gives a code to the browser that it belongs to, and the app redeems it.

use serde_json::{Value, json};
use usher_engine::operations::{LoginMethod, LoginRedeemed};
use usher_engine::{LoginStarted, RedeemError, Requester, ShownStream, StreamId};
use usher_protocol::Keys;

use crate::fixture::{Pages, keys};
use crate::login::{RETURN_URL, code, get, open, path, proof, prove, sign, start, user};
use crate::reusable_login::Visitor;

/// Logs in with the browser extension of `keys` in the first browser; returns its cookie.
async fn approve(pages: &Pages, login: &LoginStarted, keys: &Keys) -> String {
    let (cookie, unsigned) = open(pages, login).await;
    assert_eq!(prove(pages, &path(login), &cookie, sign(keys, &unsigned)).await, 204);
    cookie
}

async fn redeem(pages: &Pages, stream: StreamId, code: &str) -> Result<LoginRedeemed, RedeemError> {
    pages.engine.logins().redeem(&Requester::Service, stream, code, None).await
}

/// An attacker begins a login in the app and sends its address to a victim, without opening it.
#[tokio::test]
async fn who_begins_a_login_that_somebody_else_approves_learns_nothing() {
    let pages = Pages::start(None).await;
    let login = start(&pages, Some(RETURN_URL)).await;
    let victim = approve(&pages, &login, &user()).await;
    // What the attacker's app session can see: no key that is proven.
    let said = pages.told(login.stream_id).await;
    assert_eq!(said[1..], [json!({ "status": "user_approved", "method": "extension" })]);
    assert!(!pages.engine.events().read(ShownStream::to_service(login.stream_id), 0, 10).await.unwrap().done);
    let (status, _, html) = pages.get(&path(&login)).await;
    assert!(status == 403 && !html.contains("code="), "{html}");
    let state = pages.send(get(&format!("{}/events", path(&login)), None)).await;
    assert!(state.0 == 204 && state.2.is_empty());
    // The victim's browser has the code, and shows it again when the page is loaded again.
    let page = || pages.send(get(&path(&login), Some(&victim)));
    let (first, again) = (page().await.2, page().await.2);
    assert_eq!(code(&first), code(&again));
    assert_eq!(code(&first).len(), 32);
    assert!(matches!(redeem(&pages, login.stream_id, &code(&first).to_uppercase()).await, Err(RedeemError::Wrong)));
    assert_eq!(redeem(&pages, login.stream_id, &code(&first)).await.unwrap().main_key, user().public_key());
}

#[tokio::test]
async fn each_browser_at_a_reusable_login_has_its_own_code() {
    let pages = Pages::start(None).await;
    let (poster, plain) = (pages.poster("door", Some(RETURN_URL)).await, pages.poster("table", None).await);
    let users = [keys(7), keys(8)];
    let mut codes = Vec::new();
    for keys in &users {
        let visitor = Visitor::at(&pages, &poster).await;
        let signed = sign(keys, &proof(&visitor.open(&pages).await.1));
        assert_eq!(visitor.prove(&pages, &visitor.cookie, signed).await, 204);
        let html = visitor.open(&pages).await.1;
        let back = format!("stream_id={}&#38;code={}", poster.stream_id, code(&html));
        assert!(html.contains(&back) && html.contains("New login"), "{html}");
        codes.push(code(&html));
    }
    assert_ne!(codes[0], codes[1]);
    let statuses = async || -> Vec<Value> {
        pages.told(poster.stream_id).await.into_iter().filter(|data| data.get("status").is_some()).collect()
    };
    let said = json!({ "status": "user_approved", "method": "extension" });
    assert_eq!(statuses().await, [said.clone(), said]);
    for wrong in [codes[0].replace('.', ""), codes[0].split('.').nth(1).unwrap().to_owned(), "a.b".to_owned()] {
        assert!(matches!(redeem(&pages, poster.stream_id, &wrong).await, Err(RedeemError::Wrong)), "{wrong}");
    }
    assert!(matches!(redeem(&pages, plain.stream_id, &codes[0]).await, Err(RedeemError::Wrong)));
    let own: StreamId = codes[0].split('.').next().unwrap().parse().unwrap();
    assert!(matches!(redeem(&pages, own, &codes[0]).await, Err(RedeemError::NotFound)));
    // In the other order than that of the logins.
    for n in [1, 0] {
        let redeemed = redeem(&pages, poster.stream_id, &codes[n]).await.unwrap();
        assert_eq!(redeemed, LoginRedeemed { main_key: users[n].public_key(), method: LoginMethod::Extension });
        let main_key = users[n].public_key().to_hex();
        let approved = json!({ "status": "approved", "main_key": main_key, "method": "extension" });
        assert_eq!(statuses().await.last(), Some(&approved));
        assert!(matches!(redeem(&pages, poster.stream_id, &codes[n]).await, Err(RedeemError::Redeemed)));
    }
    // Closed before the app redeems.
    let late = Visitor::at(&pages, &poster).await;
    let signed = sign(&keys(9), &proof(&late.open(&pages).await.1));
    assert_eq!(late.prove(&pages, &late.cookie, signed).await, 204);
    let of_late = code(&late.open(&pages).await.1);
    pages.engine.handshakes().close(&Requester::Service, poster.stream_id).await.unwrap();
    assert!(matches!(redeem(&pages, poster.stream_id, &of_late).await, Err(RedeemError::Expired)));
    assert_eq!(statuses().await.len(), 5);
}
