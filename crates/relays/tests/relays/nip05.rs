//! NIP-05: domains that respond, and domains that must not be contacted.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::timeout;
use usher_engine::ports::{Directory as _, Nip05Answer};
use usher_protocol::{Keys, PublicKey};
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::{Request, WebResponse, WebServer};

use crate::fixture::{DEADLINE, Plan, Service};
use crate::wallet::{event, store};

fn names(name: &str, key: &PublicKey) -> Value {
    json!({"names": {name: key.to_hex()}, "relays": {key.to_hex(): ["wss://relay.example/", "gopher://x"]}})
}

fn identifier(web: &WebServer, name: &str) -> String {
    format!("{name}@localhost:{}", web.port())
}

async fn ask(service: &Service, identifier: &str) -> Option<Nip05Answer> {
    let identifier = identifier.parse().unwrap();
    let asking = service.directory.nip05(&identifier, None);
    timeout(DEADLINE, asking).await.expect("an answer within bounds").expect("not busy")
}

async fn named_by(script: impl Fn(&Request) -> WebResponse + Send + Sync + 'static) -> Option<PublicKey> {
    let web = WebServer::start(script).await;
    let mut plan = Plan::new(&[]);
    plan.directory.domain_within = Duration::from_secs(10);
    let answer = ask(&plan.start().await, &identifier(&web, "bob")).await;
    assert!(!web.requests().is_empty(), "it was asked");
    answer.map(|answer| answer.pubkey)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_is_queried_over_tls_once() {
    let key = Keys::generate().public_key();
    let (web, trusting) = WebServer::start_tls(move |_| WebResponse::json(names("bob", &key))).await;
    let mut plan = Plan::new(&[]);
    plan.relays.tls = Some(trusting);
    let clock = plan.stop_the_clock();
    let service = plan.start().await;
    let (one, two) = (identifier(&web, "bob"), identifier(&web, "BOB"));
    let answers = join_all((0..20).map(|n| ask(&service, if n % 2 == 0 { &one } else { &two }))).await;
    let expected = Nip05Answer { pubkey: key, relays: vec!["wss://relay.example".to_owned()] };
    assert!(answers.iter().all(|answer| answer.as_ref() == Some(&expected)));
    assert_eq!(web.paths(), ["/.well-known/nostr.json?name=bob"]);

    assert_eq!(ask(&service, &identifier(&web, "alice")).await, None);
    assert_eq!(ask(&service, &identifier(&web, "alice")).await, None);
    assert_eq!(web.requests().len(), 2, "that nobody is named is kept, too");
    clock.turn(Duration::from_secs(61));
    assert_eq!(ask(&service, &identifier(&web, "alice")).await, None);
    assert_eq!(ask(&service, &one).await, Some(expected.clone()));
    assert_eq!(web.requests().len(), 3);
    clock.turn(Duration::from_secs(600));
    assert_eq!(ask(&service, &one).await, Some(expected));
    assert_eq!(web.requests().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_untrusted_certificate_is_refused() {
    let key = Keys::generate().public_key();
    let (web, _) = WebServer::start_tls(move |_| WebResponse::json(names("bob", &key))).await;
    assert_eq!(ask(&Service::at(&[]).await, &identifier(&web, "bob")).await, None);
    assert_eq!(web.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_responses_are_refused() {
    let key = Keys::generate().public_key();
    let good = names("bob", &key).to_string();
    for (status, body) in [(404, good.as_str()), (500, &good), (204, ""), (200, ""), (200, "{\"names\":{}}")] {
        let body = body.to_owned();
        assert_eq!(named_by(move |_| WebResponse::new(status, "", &body)).await, None, "{status}");
    }
    assert_eq!(named_by(|_| WebResponse::Bytes(b"gibberish\r\n\r\n".to_vec())).await, None);
    assert_eq!(named_by(|_| WebResponse::Bytes(Vec::new())).await, None);
    assert_eq!(named_by(|_| WebResponse::Hang).await, None);
    let mut large = names("bob", &key);
    large["padding"] = json!("x".repeat(64 * 1024));
    assert_eq!(named_by(move |_| WebResponse::json(&large)).await, None);
    assert_eq!(named_by(move |_| WebResponse::new(200, "", &good)).await, Some(key));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_never_contacted() {
    let key = Keys::generate().public_key();
    let (secure, trusting) = WebServer::start_tls(move |_| WebResponse::json(names("bob", &key))).await;
    let plain = WebServer::start(move |_| WebResponse::json(names("bob", &key))).await;
    let mut plan = Plan::new(&[]);
    plan.relays.allow_private = false;
    plan.relays.tls = Some(trusting);
    let service = plan.start().await;
    for identifier in [identifier(&secure, "bob"), identifier(&plain, "bob"), "bob@localhost:22".to_owned()] {
        assert_eq!(ask(&service, &identifier).await, None);
    }
    assert_eq!((secure.connections(), plain.connections()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profile_identifier_is_shown_only_if_the_domain_confirms_it() {
    let [jane, evil, slow, nobody] = std::array::from_fn(|_| Keys::generate());
    let key = jane.public_key();
    let script = move |request: &Request| match request.path() {
        "/.well-known/nostr.json?name=jane" => WebResponse::json(names("jane", &key)),
        "/.well-known/nostr.json?name=slow" => WebResponse::Hang,
        _ => WebResponse::new(404, "", ""),
    };
    let web = WebServer::start(script).await;
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut plan = Plan::new(&[relay.url()]);
    plan.directory.profile_waits_for_domain = Duration::from_millis(500);
    let service = plan.serve().await;
    for (keys, name) in [(&jane, "jane"), (&evil, "jane"), (&slow, "slow"), (&nobody, "nobody")] {
        let content = json!({"name": "x", "nip05": identifier(&web, name)}).to_string();
        store(relay.url(), &[&event(keys, 0, &content, &[], 10)]).await;
        let profile = service.profile(&keys.public_key()).await.unwrap().unwrap();
        let shown = (profile.name.as_deref(), profile.nip05.map(|nip05| nip05.to_string()));
        assert_eq!(shown, (Some("x"), (keys.public_key() == key).then(|| identifier(&web, "jane"))));
    }
}
