//! Logins with passkeys: crafted requests of an authenticator in software.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use usher_engine::LoginStarted;
use usher_passkey::testing::{PRESENT, SoftAuthenticator};
use usher_protocol::{Keys, SecretKey};

use crate::fixture::{Pages, keys};
use crate::login::{get, open, path, post, sign, start, user};

const ORIGIN: &str = "https://shop.example";

/// A login that is open in a browser.
struct Opened {
    login: LoginStarted,
    cookie: String,
    proof: Value,
}

impl Opened {
    async fn at(pages: &Pages) -> Self {
        let login = start(pages, None).await;
        let (cookie, proof) = open(pages, &login).await;
        Self { login, cookie, proof }
    }

    async fn post(&self, pages: &Pages, rest: &str, body: &Value) -> (u16, String) {
        let path = format!("{}/passkey{rest}", path(&self.login));
        let (status, _, body) = pages.send(post(&path, Some(&self.cookie), body.to_string())).await;
        (status, body)
    }

    async fn options(&self, pages: &Pages, kind: &str) -> Value {
        let (status, body) = self.post(pages, "/options", &json!({ "kind": kind })).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The event that the page's script signs.
    fn event(&self, keys: &Keys, credential_id: &str, options: &Value) -> Value {
        let mut proof = self.proof.clone();
        proof["tags"].as_array_mut().unwrap().push(json!(["passkey", credential_id, options["challenge"]]));
        serde_json::from_str(&sign(keys, &proof)).unwrap()
    }

    async fn proof(&self, pages: &Pages, kind: &str, authenticator: &mut SoftAuthenticator, keys: &Keys) -> Value {
        let options = self.options(pages, kind).await;
        let passkey = if kind == "create" { authenticator.make(&options) } else { authenticator.get(&options) };
        let event = self.event(keys, &authenticator.credential_id(), &options);
        json!({ "kind": kind, "passkey": passkey, "event": event })
    }

    async fn register(&self, pages: &Pages, authenticator: &mut SoftAuthenticator, keys: &Keys) -> (u16, String) {
        self.post(pages, "", &self.proof(pages, "create", authenticator, keys).await).await
    }

    async fn log_in(&self, pages: &Pages, authenticator: &mut SoftAuthenticator, keys: &Keys) -> (u16, String) {
        self.post(pages, "", &self.proof(pages, "get", authenticator, keys).await).await
    }

    async fn told(&self, pages: &Pages) -> Vec<Value> {
        pages.told(self.login.stream_id).await
    }
}

fn authenticator(seed: u8) -> SoftAuthenticator {
    SoftAuthenticator::new(seed, "shop.example", ORIGIN)
}

fn accepted() -> (u16, String) {
    (204, String::new())
}

#[tokio::test]
async fn user_makes_a_passkey_and_logs_in_again() {
    let pages = Pages::start(Some("Bar Seven")).await;
    let (mut authenticator, keys) = (authenticator(7), user());
    let first = Opened::at(&pages).await;
    assert_eq!(first.register(&pages, &mut authenticator, &keys).await, accepted());
    let approved = json!({ "status": "approved", "main_key": keys.public_key().to_hex(), "method": "passkey" });
    assert_eq!(first.told(&pages).await[1], approved);
    let again = Opened::at(&pages).await;
    let id = json!({ "id": authenticator.credential_id() });
    let (status, found) = again.post(&pages, "/wrapped-key", &id).await;
    let expected = json!({ "main_key": keys.public_key().to_hex(), "wrapped_key": null });
    assert_eq!((status, serde_json::from_str::<Value>(&found).unwrap()), (200, expected));
    assert_eq!(again.log_in(&pages, &mut authenticator, &keys).await, accepted());
    assert_eq!(again.told(&pages).await[1], approved);
    // A copy of the authenticator is behind.
    authenticator.counter -= 1;
    assert_eq!(Opened::at(&pages).await.log_in(&pages, &mut authenticator, &keys).await.0, 422);
}

#[tokio::test]
async fn further_passkey_keeps_the_wrapped_key() {
    let pages = Pages::start(None).await;
    let keys = user();
    assert_eq!(Opened::at(&pages).await.register(&pages, &mut authenticator(7), &keys).await, accepted());
    let (opened, mut second) = (Opened::at(&pages).await, authenticator(9));
    for (wrapped, expected) in [("AAAA", 422), ("!", 422), (&*"A".repeat(98), 204)] {
        let mut proof = opened.proof(&pages, "create", &mut second, &keys).await;
        proof["wrapped_key"] = json!(wrapped);
        assert_eq!(opened.post(&pages, "", &proof).await.0, expected, "{wrapped}");
    }
    let again = Opened::at(&pages).await;
    let (_, found) = again.post(&pages, "/wrapped-key", &json!({ "id": second.credential_id() })).await;
    assert!(found.contains(&"A".repeat(98)), "{found}");
    assert_eq!(again.log_in(&pages, &mut second, &keys).await, accepted());
}

#[tokio::test]
async fn passkey_opens_the_account_of_its_own_key_alone() {
    let pages = Pages::start(None).await;
    let mut known = authenticator(7);
    assert_eq!(Opened::at(&pages).await.register(&pages, &mut known, &user()).await, accepted());
    let opened = Opened::at(&pages).await;
    let (status, said) = opened.log_in(&pages, &mut known, &keys(8)).await;
    assert_eq!((status, said.contains("recovery file")), (422, true), "another key: {said}");
    assert_eq!(opened.log_in(&pages, &mut authenticator(9), &user()).await.0, 404, "unknown");
    let mut copy = authenticator(7);
    assert_eq!(opened.register(&pages, &mut copy, &keys(8)).await.0, 422, "its id is taken");
    known.counter = 1;
    assert_eq!(opened.log_in(&pages, &mut known, &user()).await.0, 422, "a counter that does not go on");
    known.flags = PRESENT;
    known.counter = 99;
    assert_eq!(opened.log_in(&pages, &mut known, &user()).await.0, 422, "the user was not verified");
    assert_eq!(opened.told(&pages).await, [] as [Value; 0]);
}

/// HKDF of nothing, for the RP id of the test: what a page makes of a PRF output that is no bytes.
#[tokio::test]
async fn key_that_everybody_can_compute_is_refused() {
    let pages = Pages::start(None).await;
    let secret = SecretKey::from_hex("a8083080726e963f2f739f019da7505dca2284927b967592569eee16071204f9").unwrap();
    let (status, said) = Opened::at(&pages).await.register(&pages, &mut authenticator(7), &Keys::new(secret)).await;
    assert_eq!((status, said.contains("cannot make a key")), (422, true), "{said}");
}

#[tokio::test]
async fn nothing_is_accepted_twice_or_for_another_login() {
    let pages = Pages::start(None).await;
    let (mut authenticator, keys) = (authenticator(7), user());
    assert_eq!(Opened::at(&pages).await.register(&pages, &mut authenticator, &keys).await, accepted());
    let (opened, other) = (Opened::at(&pages).await, Opened::at(&pages).await);
    let proof = opened.proof(&pages, "get", &mut authenticator, &keys).await;
    let of_other = other.options(&pages, "get").await;
    assert_eq!(other.post(&pages, "", &proof).await.0, 422, "the challenge is another login's");
    assert_eq!(other.post(&pages, "", &proof).await.0, 409, "a challenge is answered once, right or wrong");

    // The parts of two proofs do not make one; what an extension would sign is not enough, and this is more.
    for event in [
        proof["event"].clone(),
        opened.event(&keys, &authenticator.credential_id(), &of_other),
        serde_json::from_str(&sign(&keys, &opened.proof)).unwrap(),
    ] {
        let mut mixed = opened.proof(&pages, "get", &mut authenticator, &keys).await;
        let right = std::mem::replace(&mut mixed["event"], event);
        assert_eq!(opened.post(&pages, "", &mixed).await.0, 422, "{mixed}");
        mixed["event"] = right;
        assert_eq!(opened.post(&pages, "", &mixed).await.0, 409, "it is used up");
    }
    let fresh = opened.options(&pages, "create").await;
    let event = opened.event(&keys, &authenticator.credential_id(), &fresh);
    let other_kind = json!({ "kind": "get", "passkey": authenticator.get(&fresh), "event": event });
    assert_eq!(opened.post(&pages, "", &other_kind).await.0, 409, "the challenge was for a new passkey");
    let late = opened.proof(&pages, "get", &mut authenticator, &keys).await;
    assert_eq!(opened.log_in(&pages, &mut authenticator, &keys).await, accepted());
    assert_eq!(opened.post(&pages, "/options", &json!({ "kind": "get" })).await.0, 409, "the login is over");
    assert_eq!(opened.post(&pages, "", &late).await.0, 409);
}

/// Otherwise the login of one would be approved, and their passkey would open the account of the other.
#[tokio::test]
async fn one_passkey_is_not_registered_for_two_users_at_the_same_time() {
    let pages = Pages::start(None).await;
    let users: Vec<_> = (1..=8).map(keys).collect();
    let mut proofs = Vec::new();
    for keys in &users {
        let opened = Opened::at(&pages).await;
        let proof = opened.proof(&pages, "create", &mut authenticator(7), keys).await;
        proofs.push((opened, proof));
    }
    let sent = proofs.iter().map(async |(opened, proof)| opened.post(&pages, "", proof).await.0);
    let statuses = futures_util::future::join_all(sent).await;
    assert_eq!(statuses.iter().filter(|status| **status == 204).count(), 1, "{statuses:?}");
    for ((opened, _), status) in proofs.iter().zip(statuses) {
        assert_eq!(opened.told(&pages).await.is_empty(), status != 204);
    }
}

#[tokio::test]
async fn only_the_browser_of_the_page_is_asked() {
    let pages = Pages::start(None).await;
    let (opened, other) = (Opened::at(&pages).await, Opened::at(&pages).await);
    let page = format!("{}/passkey", path(&opened.login));
    for (rest, body) in [
        ("/options", json!({ "kind": "get" })),
        ("/wrapped-key", json!({ "id": "AAAA" })),
        ("", json!({ "kind": "get", "passkey": {}, "event": {} })),
    ] {
        for cookie in [None, Some(&*other.cookie)] {
            let (status, ..) = pages.send(post(&format!("{page}{rest}"), cookie, body.to_string())).await;
            assert_eq!(status, 403, "{rest}");
        }
        let form = Request::post(format!("{page}{rest}")).header("cookie", &opened.cookie);
        let form = form.header("content-type", "application/x-www-form-urlencoded").body(Body::from(body.to_string()));
        assert_eq!(pages.send(form.unwrap()).await.0, 415, "a form of another site: {rest}");
        for text in ["", "{}", "null", "{\"kind\":\"other\",\"id\":1}"] {
            let (status, ..) = pages.send(post(&format!("{page}{rest}"), Some(&opened.cookie), text.to_owned())).await;
            assert_eq!(status, 422, "{rest}: {text}");
        }
    }
    assert_eq!(opened.post(&pages, "/wrapped-key", &json!({ "id": "AAAA" })).await.0, 404);
    let (_, _, html) = pages.send(get(&page, Some(&opened.cookie))).await;
    assert!(html.contains("data-rp-id=\"shop.example\"") && html.contains("passkey.js"), "{html}");
    for cookie in [None, Some(&*other.cookie)] {
        assert_eq!(pages.send(get(&page, cookie)).await.0, 303);
    }
}

#[tokio::test]
async fn one_key_has_so_many_passkeys_and_no_more() {
    let pages = Pages::start(None).await;
    for seed in 1..=21 {
        let (status, said) = Opened::at(&pages).await.register(&pages, &mut authenticator(seed), &user()).await;
        assert_eq!(status, if seed <= 20 { 204 } else { 409 }, "{seed}: {said}");
    }
    assert_eq!(Opened::at(&pages).await.register(&pages, &mut authenticator(21), &keys(8)).await, accepted());
}
