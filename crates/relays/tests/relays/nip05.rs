//! NIP-05: domains that respond, and domains that must not be contacted.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::timeout;
use usher_engine::ports::{Directory as _, Nip05Answer};
use usher_protocol::{Keys, PublicKey};
use usher_sandbox::relay::EmbeddedRelay;

use crate::fixture::{DEADLINE, Plan, Service};
use crate::scripted_web_server::{Said, Web, answer, json as ok};
use crate::wallet::{event, store};

fn names(name: &str, key: &PublicKey) -> Value {
    json!({"names": {name: key.to_hex()}, "relays": {key.to_hex(): ["wss://relay.example/", "gopher://x"]}})
}

async fn ask(service: &Service, identifier: &str) -> Option<Nip05Answer> {
    let identifier = identifier.parse().unwrap();
    let asking = service.directory.nip05(&identifier, None);
    timeout(DEADLINE, asking).await.expect("an answer within bounds").expect("not busy")
}

async fn named_by(script: impl Fn(&str) -> Said + Send + Sync + 'static) -> Option<PublicKey> {
    let (web, _) = Web::start(false, script).await;
    let mut plan = Plan::new(&[]);
    plan.directory.domain_within = Duration::from_secs(10);
    let answer = ask(&plan.start().await, &web.identifier("bob")).await;
    assert!(web.requests() > 0, "it was asked");
    answer.map(|answer| answer.pubkey)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_is_queried_over_tls_once() {
    let key = Keys::generate().public_key();
    let (web, trusting) = Web::start(true, move |_| ok(&names("bob", &key))).await;
    let mut plan = Plan::new(&[]);
    plan.relays.tls = Some(trusting);
    let clock = plan.stop_the_clock();
    let service = plan.start().await;
    let (one, two) = (web.identifier("bob"), web.identifier("BOB"));
    let answers = join_all((0..20).map(|n| ask(&service, if n % 2 == 0 { &one } else { &two }))).await;
    let expected = Nip05Answer { pubkey: key, relays: vec!["wss://relay.example".to_owned()] };
    assert!(answers.iter().all(|answer| answer.as_ref() == Some(&expected)));
    assert_eq!(*web.asked.lock(), ["/.well-known/nostr.json?name=bob"]);

    assert_eq!(ask(&service, &web.identifier("alice")).await, None);
    assert_eq!(ask(&service, &web.identifier("alice")).await, None);
    assert_eq!(web.requests(), 2, "that nobody is named is kept, too");
    clock.turn(Duration::from_secs(61));
    assert_eq!(ask(&service, &web.identifier("alice")).await, None);
    assert_eq!(ask(&service, &one).await, Some(expected.clone()));
    assert_eq!(web.requests(), 3);
    clock.turn(Duration::from_secs(600));
    assert_eq!(ask(&service, &one).await, Some(expected));
    assert_eq!(web.requests(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_untrusted_certificate_is_refused() {
    let key = Keys::generate().public_key();
    let (web, _) = Web::start(true, move |_| ok(&names("bob", &key))).await;
    assert_eq!(ask(&Service::at(&[]).await, &web.identifier("bob")).await, None);
    assert_eq!(web.requests(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_responses_are_refused() {
    let key = Keys::generate().public_key();
    let good = names("bob", &key).to_string();
    for (status, body) in [
        ("404 Not Found", good.as_str()),
        ("500 Internal Server Error", &good),
        ("204 No Content", ""),
        ("200 OK", ""),
        ("200 OK", "{\"names\":{}}"),
    ] {
        let body = body.to_owned();
        assert_eq!(named_by(move |_| answer(status, "", &body)).await, None, "{status}");
    }
    assert_eq!(named_by(|_| vec![(b"gibberish\r\n\r\n".to_vec(), Duration::ZERO)]).await, None);
    assert_eq!(named_by(|_| Vec::new()).await, None);
    assert_eq!(named_by(|_| vec![(Vec::new(), DEADLINE)]).await, None);
    let mut large = names("bob", &key);
    large["padding"] = json!("x".repeat(64 * 1024));
    assert_eq!(named_by(move |_| ok(&large)).await, None);
    assert_eq!(named_by(move |_| answer("200 OK", "", &good)).await, Some(key));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_never_contacted() {
    let key = Keys::generate().public_key();
    let (secure, trusting) = Web::start(true, move |_| ok(&names("bob", &key))).await;
    let (plain, _) = Web::start(false, move |_| ok(&names("bob", &key))).await;
    let mut plan = Plan::new(&[]);
    plan.relays.allow_private = false;
    plan.relays.tls = Some(trusting);
    let service = plan.start().await;
    for identifier in [secure.identifier("bob"), plain.identifier("bob"), "bob@localhost:22".to_owned()] {
        assert_eq!(ask(&service, &identifier).await, None);
    }
    assert!(secure.asked.lock().is_empty() && plain.asked.lock().is_empty(), "not even a connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profile_identifier_is_shown_only_if_the_domain_confirms_it() {
    let [jane, evil, slow, nobody] = std::array::from_fn(|_| Keys::generate());
    let key = jane.public_key();
    let script = move |path: &str| match path {
        "/.well-known/nostr.json?name=jane" => ok(&names("jane", &key)),
        "/.well-known/nostr.json?name=slow" => vec![(Vec::new(), DEADLINE)],
        _ => answer("404 Not Found", "", ""),
    };
    let (web, _) = Web::start(false, script).await;
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut plan = Plan::new(&[relay.url()]);
    plan.directory.profile_waits_for_domain = Duration::from_millis(500);
    let service = plan.serve().await;
    for (keys, name) in [(&jane, "jane"), (&evil, "jane"), (&slow, "slow"), (&nobody, "nobody")] {
        let content = json!({"name": "x", "nip05": web.identifier(name)}).to_string();
        store(relay.url(), &[&event(keys, 0, &content, &[], 10)]).await;
        let profile = service.profile(&keys.public_key()).await.unwrap().unwrap();
        let shown = (profile.name.as_deref(), profile.nip05.map(|nip05| nip05.to_string()));
        assert_eq!(shown, (Some("x"), (keys.public_key() == key).then(|| web.identifier("jane"))));
    }
}
