//! Notices to the operator: over a real relay, to a server like ntfy's and to a webhook, across restarts of the service.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hmac::{Hmac, Mac as _};
use nostr::nips::nip44;
use nostr::{Event, JsonUtil as _, Kind, UnsignedEvent};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::Sha256;
use usher_protocol::Keys;
use usher_protocol::keys::npub;
use usher_testing::relay::QuirkyRelay;
use usher_testing::{Request, WebResponse, WebServer};

use super::fixture::{Fixture, invoice};
use crate::harness::{statuses, until};

const TOKEN: &str = "tk_hunter1";
const SECRET: &str = "hunter2";
const CONSOLE: &str = "http://localhost:9/console";

/// A server that records what is posted, and accepts it unless it is broken.
struct Inbox {
    server: WebServer,
    accepted: Arc<Mutex<Vec<Request>>>,
    is_broken: Arc<AtomicBool>,
}

impl Inbox {
    async fn start() -> Self {
        let (accepted, is_broken) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<AtomicBool>::default());
        let (requests, broken) = (Arc::clone(&accepted), Arc::clone(&is_broken));
        let server = WebServer::start(move |request| {
            if broken.load(Ordering::SeqCst) {
                // A redirect to an inner address is not followed.
                return WebResponse::new(307, "location: http://127.0.0.1:1/\r\n", "");
            }
            requests.lock().push(request.clone());
            WebResponse::new(200, "", "")
        });
        Self { server: server.await, accepted, is_broken }
    }

    fn url(&self) -> String {
        self.server.url("/hunter3")
    }

    fn requests(&self) -> Vec<Request> {
        self.accepted.lock().clone()
    }
}

/// The first sentence of each line of a text but the last, which is the console's address. Lines may share a message.
fn news(text: &str) -> Vec<String> {
    let text = text.strip_suffix(&format!("\n{CONSOLE}")).unwrap();
    text.lines().map(|line| line.split_inclusive('.').next().unwrap().to_owned()).collect()
}

fn by_ntfy(inbox: &Inbox) -> Vec<String> {
    let read = |request: &Request| {
        let text = String::from_utf8(request.body.clone()).unwrap();
        let headers: &HashMap<String, String> = &request.headers;
        assert_eq!(headers["authorization"], format!("Bearer {TOKEN}"));
        assert_eq!(headers["click"], CONSOLE);
        assert!(headers["title"].starts_with("Bar Seven: ") && ["3", "4"].contains(&&*headers["priority"]));
        news(&text)
    };
    inbox.requests().iter().flat_map(read).collect()
}

fn by_webhook(inbox: &Inbox) -> Vec<String> {
    let read = |request: &Request| {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(&request.body);
        assert_eq!(request.headers["x-service-signature"], hex::encode(mac.finalize().into_bytes()));
        assert!(request.headers.contains_key("webhook-signature"));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body["type"], "Notice");
        news(body["data"]["text"].as_str().unwrap())
    };
    inbox.requests().iter().flat_map(read).collect()
}

fn by_nostr(relay: &QuirkyRelay, operator: &Keys, service: &Keys) -> Vec<String> {
    let decrypt = |event: &Event| nip44::decrypt(operator.secret_key(), &event.pubkey, &event.content).unwrap();
    let read = |wrapped: &Event| {
        let seal = Event::from_json(decrypt(wrapped)).unwrap();
        seal.verify().unwrap();
        assert_eq!(seal.pubkey, service.public_key());
        let rumor = UnsignedEvent::from_json(decrypt(&seal)).unwrap();
        news(rumor.content.split_once('\n').unwrap().1)
    };
    relay.seen().iter().filter(|event| event.kind == Kind::GiftWrap).flat_map(read).collect()
}

/// A kill could come between a notice and the record of it, and repeat it.
async fn restart(fixture: &mut Fixture) {
    fixture.usher.stop().await;
    fixture.usher.start_again().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_cause_is_told_once_and_once_when_it_is_over_also_across_restarts() {
    let (ntfy, webhook, operator, service) =
        (Inbox::start().await, Inbox::start().await, Keys::generate(), Keys::generate());
    let on = json!(["backup", "approval", { "payment_above_millisats": 10_500 }]);
    let targets = json!([
        { "ntfy": ntfy.url(), "token": TOKEN, "on": on },
        { "webhook": webhook.url(), "secret": SECRET, "on": on },
        { "nostr": npub(&operator.public_key()), "on": on },
    ]);
    let keys = service.clone();
    let mut fixture = Fixture::open_with(|builder| {
        builder
            .keys(keys)
            .set("NOTICES", &targets)
            .set("WALLET__APPROVAL_ABOVE_MILLISATS", 10_500)
            .set("PAGES__PUBLIC_URL", "http://localhost:9")
            .set("PROFILE__DISPLAY_NAME", "Bar Seven")
    })
    .await;
    let relay_url = fixture.relay.url().to_owned();
    let approver = fixture.api_with(json!({ "name": "test", "scopes": ["approvals"] })).await;
    let mut expected: Vec<String> = Vec::new();
    let mut tells = async |fixture: &Fixture, news: &[&str]| {
        expected.extend(news.iter().map(|news| (*news).to_owned()));
        expected.sort();
        let told = until("news", async || {
            let all = [by_ntfy(&ntfy), by_webhook(&webhook), by_nostr(&fixture.relay, &operator, &service)];
            all.iter().all(|told| told.len() >= expected.len()).then_some(all)
        });
        for mut told in told.await {
            told.sort();
            assert_eq!(told, expected);
        }
    };
    tells(&fixture, &["No backup has been made with `usher backup`."]).await;
    fixture
        .usher
        .says(&["backup", "--unencrypted", fixture.usher.data_dir().join("backup.tar").to_str().unwrap()])
        .await;
    tells(&fixture, &["Over: A backup was made."]).await;

    // A target that is broken learns it later, and holds up no other.
    ntfy.is_broken.store(true, Ordering::SeqCst);
    let payee = fixture.payee();
    let bill = invoice(&payee, 20_000);
    let stream = fixture.pay(&bill).await;
    until("the others", async || (by_webhook(&webhook).len() == 3).then_some(())).await;
    until("the log", async || fixture.usher.log().contains("a notice cannot be sent").then_some(())).await;
    assert_eq!(by_ntfy(&ntfy).len(), 2);
    ntfy.is_broken.store(false, Ordering::SeqCst);
    tells(&fixture, &["A payment of 20 sat waits for an approval."]).await;

    // Nothing is repeated, and no end is lost.
    restart(&mut fixture).await;
    approver.post(&format!("/approvals/{stream}"), &json!({ "decision": "approve" })).await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(&stream).await).last(), Some(&"paid"));
    restart(&mut fixture).await;
    tells(&fixture, &["A payment of 20 sat was made.", "Over: A payment of 20 sat no longer waits for an approval."])
        .await;
    restart(&mut fixture).await;
    let second = fixture.pay(&invoice(&payee, 30_000)).await;
    tells(&fixture, &["A payment of 30 sat waits for an approval."]).await;
    approver.post(&format!("/approvals/{second}"), &json!({ "decision": "decline" })).await.unwrap();
    tells(&fixture, &["Over: A payment of 30 sat no longer waits for an approval."]).await;

    let said = fixture.usher.says(&["notices", "test"]).await;
    assert_eq!(said.matches(": accepted\n").count(), 3, "{said}");
    tells(&fixture, &["This is a test."]).await;
    ntfy.is_broken.store(true, Ordering::SeqCst);
    let (code, said, _) = fixture.usher.run(&["notices", "test"]).await;
    assert_eq!((code, said.matches("not accepted: the server answered 307").count()), (Some(1), 1), "{said}");
    let log = fixture.usher.log();
    for secret in ["hunter", &*relay_url] {
        let noted = log.lines().find(|line| line.contains(secret) && line.contains("notice"));
        assert_eq!(noted, None);
    }
}
