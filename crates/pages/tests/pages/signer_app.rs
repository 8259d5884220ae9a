//! Signer apps on an Android phone (NIP-55).

use axum::body::Body;
use http::Request;

use crate::fixture::{NOW, Pages, URL, keys};
use crate::login::{events, get, open, path, proof, sign, start, user};

const AGENT: &str =
    "Mozilla/5.0 (Linux; Android 16; Pixel 10) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36";

fn on_android(path: &str, cookie: &str) -> Request<Body> {
    let mut request = get(path, Some(cookie));
    request.headers_mut().insert("user-agent", AGENT.parse().unwrap());
    request
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[tokio::test]
async fn app_on_the_phone_signs_and_leads_back() {
    let pages = Pages::start(None).await;
    let login = start(&pages, None).await;
    let (cookie, _) = open(&pages, &login).await;
    let (_, _, html) = pages.send(get(&path(&login), Some(&cookie))).await;
    assert!(!html.contains("nostrsigner:"), "on another device: {html}");
    let (_, _, html) = pages.send(on_android(&path(&login), &cookie)).await;
    let link = html.split("href=\"nostrsigner:").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    let (event, parameters) = link.split_once('?').unwrap();
    let event = format!("={event}");
    let (_, event) = url::form_urlencoded::parse(event.as_bytes()).next().unwrap();
    let unsigned = proof(&html);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&event).unwrap(), unsigned);
    let parameters: Vec<_> = url::form_urlencoded::parse(parameters.as_bytes()).into_owned().collect();
    let callback = format!("{URL}{}/signed?event=", path(&login));
    let constant = [("compressionType", "none"), ("returnType", "event"), ("type", "sign_event")];
    let expected = [&constant[..], &[("callbackUrl", &callback)]].concat();
    assert!(parameters.iter().map(|(name, value)| (&**name, &**value)).eq(expected), "{parameters:?}");

    // The user takes their time in the app.
    pages.clock.turn(std::time::Duration::from_secs(120));
    let back = format!("{}/signed?event={}", path(&login), encoded(&sign(&user(), &unsigned)));
    let (status, headers, _) = pages.send(on_android(&back, &cookie)).await;
    assert_eq!((status, headers["location"].to_str().unwrap()), (303, &*format!("/usher{}", path(&login))));
    let approved = pages.told(login.stream_id).await[1].clone();
    assert_eq!((&approved["status"], &approved["method"]), (&"approved".into(), &"signer".into()));
    assert_eq!(approved["main_key"], user().public_key().to_hex());
    // "Back" shows the outcome.
    assert_eq!(pages.send(on_android(&back, &cookie)).await.0, 303);
    assert_eq!(events(&pages, &login).await.len(), 2);
}

#[tokio::test]
async fn nothing_else_is_accepted() {
    let pages = Pages::start(None).await;
    let (login, other) = (start(&pages, None).await, start(&pages, None).await);
    let (cookie, unsigned) = open(&pages, &login).await;
    let (_, of_other) = open(&pages, &other).await;
    let address = format!("{}/signed", path(&login));
    let stranger = keys(9);
    let mut forged: serde_json::Value = serde_json::from_str(&sign(&user(), &unsigned)).unwrap();
    forged["pubkey"] = stranger.public_key().to_hex().into();
    let mut future = unsigned.clone();
    future["created_at"] = (NOW.secs() + 3_600).into();
    for event in [String::new(), "{}".to_owned(), sign(&user(), &of_other), sign(&user(), &future), forged.to_string()]
    {
        let back = format!("{address}?event={}", encoded(&event));
        assert_eq!(pages.send(on_android(&back, &cookie)).await.0, 422, "{event}");
    }
    assert_eq!(pages.send(on_android(&address, &cookie)).await.0, 422);
    let right = format!("{address}?event={}", encoded(&sign(&user(), &unsigned)));
    assert_eq!(pages.send(get(&right, None)).await.0, 403, "another browser");
    let framed = Request::get(&right).header("cookie", &cookie).header("sec-fetch-dest", "iframe");
    assert_eq!(pages.send(framed.body(Body::empty()).unwrap()).await.0, 503);
    assert!(events(&pages, &login).await.is_empty());
}
