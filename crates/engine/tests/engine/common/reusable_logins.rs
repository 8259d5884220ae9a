//! Reusable logins, and the users and browsers that come to them.

use nostr::{EventBuilder, JsonUtil as _, Kind, Tag, Timestamp};

use super::*;

pub fn request(static_token: &str) -> LoginRequest {
    LoginRequest { static_token: Some(static_token.to_owned()), return_url: None }
}

pub async fn poster(usher: &Running) -> LoginStarted {
    usher.engine.logins().start(&Requester::Service, request("poster"), None).await.unwrap()
}

pub fn key(n: u8) -> String {
    user(n).public_key().to_hex()
}

/// User `n` scans; returns the challenge that their wallet gets.
pub async fn scan(usher: &mut Running, n: u8, event: u8) -> String {
    usher.receive(event, &user(n), handshake("poster", &[])).await;
    challenge_for(usher, n).await
}

pub async fn challenge_for(usher: &mut Running, n: u8) -> String {
    loop {
        let (message, _) = usher.next_message().await;
        if message.recipients == [user(n).public_key()] {
            return challenge(&message);
        }
    }
}

/// All events of a stream, as soon as there are so many.
pub async fn events(usher: &Running, stream: StreamId, count: usize) -> Vec<(String, Value)> {
    let events = usher.events(stream, count).await;
    events.iter().map(|event| (event.event_type.as_str().to_owned(), data_of(event))).collect()
}

pub fn named(n: u8) -> (String, Value) {
    ("KeyHandshake".to_owned(), json!({ "main_key": key(n), "preferred_relays": [] }))
}

pub fn approved(n: u8) -> (String, Value) {
    let data = json!({ "status": "approved", "main_key": key(n), "method": "wallet", "granted_permissions": [] });
    ("StatusUpdate".to_owned(), data)
}

pub fn page_secret(login: &LoginStarted) -> String {
    login.page_url.rsplit('/').next().unwrap().to_owned()
}

pub async fn child(usher: &Running, poster: &LoginStarted) -> ChildLogin {
    visit(usher, poster, &page_secret(poster), &[]).await.unwrap()
}

/// A browser with these cookies opens the page of a reusable login.
pub async fn visit(
    usher: &Running,
    poster: &LoginStarted,
    secret: &str,
    cookies: &[(StreamId, String)],
) -> Result<ChildLogin, VisitError> {
    usher.engine.logins().open_child_login(poster.stream_id, secret, cookies, ClientNetwork::Loopback).await
}

fn browser(child: &ChildLogin) -> Option<&str> {
    child.new_browser.as_ref().map(|(browser, _)| browser.as_str())
}

async fn view(usher: &Running, child: &ChildLogin) -> Option<LoginView> {
    match usher.engine.logins().open(child.login, &child.page_secret, browser(child), false).await.unwrap() {
        OpenedLogin::Page { view, .. } => Some(*view),
        _ => None,
    }
}

/// The page of a visit has this event of a browser extension.
pub async fn prove(engine: &Engine, child: &ChildLogin, event: &str) -> Result<(), ProveError> {
    let (signer, network) = (PageSigner::Extension, ClientNetwork::Loopback);
    engine.logins().prove(child.login, &child.page_secret, browser(child), event, signer, network).await
}

pub async fn decline(engine: &Engine, child: &ChildLogin) -> Result<LoginState, LoginPageError> {
    Ok(engine.logins().decline(child.login, &child.page_secret, browser(child)).await?.state)
}

/// How far the login of a visit is, as its page shows it; `None` when there is none.
pub async fn state(usher: &Running, child: &ChildLogin) -> Option<LoginState> {
    let view = view(usher, child).await?;
    assert!(view.is_child_login);
    Some(view.state)
}

/// What the browser extension of user `n` signs on the page of a visit.
pub async fn sign(usher: &Running, child: &ChildLogin, n: u8) -> String {
    let Some(view) = view(usher, child).await else { return String::new() };
    let unsigned: Value = serde_json::from_str(&view.unsigned_proof).unwrap();
    let tags: Vec<Vec<String>> = serde_json::from_value(unsigned["tags"].clone()).unwrap();
    let event = EventBuilder::new(Kind::from(27235), "")
        .tags(tags.into_iter().map(|tag| Tag::parse(tag).unwrap()))
        .custom_created_at(Timestamp::from(unsigned["created_at"].as_u64().unwrap()));
    event.sign_with_keys(&user(n)).unwrap().as_json()
}

/// A wallet scans the code on the page of a visit.
pub async fn scan_page(usher: &Running, child: &ChildLogin, n: u8, event: u8) {
    let url = wallet_url(usher, child).await;
    usher.receive(event, &user(n), handshake(&token(&url), &[])).await;
}

pub async fn wallet_url(usher: &Running, child: &ChildLogin) -> String {
    view(usher, child).await.map(|view| view.wallet_url).unwrap_or_default()
}
