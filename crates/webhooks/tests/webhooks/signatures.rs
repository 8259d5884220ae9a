//! Signatures verify with an independent library, and tampered ones do not.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::{LONG, Request, Server, empty, event, signing_receiver, stream_id};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use usher_engine::UnixMillis;
use usher_engine::ports::{Posted, WebhookSender as _};

const PLAIN: &str = "a secret of the operator's own choosing, żółw";
const STANDARD_FORM: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A plain secret as one gives it to an off-the-shelf verifier.
fn for_verifiers(text: &str) -> String {
    format!("whsec_{}", STANDARD.encode(text))
}

fn now() -> UnixMillis {
    UnixMillis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap())
}

/// A request as it arrives, signed with `secrets` at `now`.
async fn posted(secrets: &[&str], now: UnixMillis) -> Request {
    let (server, mut received) = Server::answering(empty("204 No Content", "")).await;
    let posted = signing_receiver(&server.url, LONG, secrets).post(stream_id(), &event(7), now).await;
    assert_eq!(posted, Posted::Accepted { http_status: 204 });
    received.recv().await.unwrap()
}

/// A case for the verifier: a request, and the secrets the two schemes expect.
fn case(request: &Request, standard_secret: &str, service_secret: &str) -> Value {
    json!({
        "body": STANDARD.encode(&request.body),
        "headers": request.headers,
        "standard_secret": standard_secret,
        "service_secret": service_secret,
    })
}

/// Runs tests/verify.py: for each case its verdict on the two signatures, null for a valid one.
fn verify(cases: &[Value]) -> Vec<(Value, Value)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify.py");
    let answers = usher_testing::run_python(script, Value::from(cases));
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), cases.len());
    answers.iter().map(|answer| (answer["standard"].clone(), answer["service"].clone())).collect()
}

#[tokio::test]
async fn secrets_are_replaced_between_posts() {
    let (server, mut received) = Server::answering(empty("204 No Content", "")).await;
    let receiver = signing_receiver(&server.url, LONG, &[PLAIN]);
    receiver.set_secrets(&[STANDARD_FORM.into(), PLAIN.into()]).unwrap();
    assert!(receiver.set_secrets(&["".into()]).is_err(), "not taken, and nothing changes");
    assert_eq!(receiver.last_uses(), [None, None]);
    let at = now();
    receiver.post(stream_id(), &event(7), at).await;
    assert_eq!(receiver.last_uses(), [Some(at), Some(at)]);
    let both = received.recv().await.unwrap();
    receiver.set_secrets(&[]).unwrap();
    receiver.post(stream_id(), &event(7), now()).await;
    let unsigned = received.recv().await.unwrap();
    assert!(!unsigned.headers.contains_key("x-service-signature"));
    let answers =
        verify(&[case(&both, STANDARD_FORM, STANDARD_FORM), case(&both, &for_verifiers(PLAIN), STANDARD_FORM)]);
    assert_eq!(answers, [(Value::Null, Value::Null), (Value::Null, Value::Null)]);
}

#[tokio::test]
async fn signatures_verify_and_tampered_and_old_requests_do_not() {
    let plain = posted(&[PLAIN], now()).await;
    let standard = posted(&[STANDARD_FORM], now()).await;
    let both = posted(&[STANDARD_FORM, PLAIN], now()).await;
    assert_eq!(both.headers["webhook-signature"].split(' ').count(), 2);
    let an_hour = Duration::from_secs(3600);
    let (old, early) = (posted(&[PLAIN], now().minus(an_hour)).await, posted(&[PLAIN], now().plus(an_hour)).await);
    assert_eq!((&old.body, &old.headers["webhook-id"]), (&plain.body, &plain.headers["webhook-id"]));
    let unsigned = posted(&[], now()).await;
    assert!(["x-service-signature", "webhook-signature"].iter().all(|name| !unsigned.headers.contains_key(*name)));
    assert_eq!(unsigned.headers["x-service-event-id"], format!("{}:7", stream_id()));
    let secret = for_verifiers(PLAIN);
    let with = |name: &str, value: String| {
        let mut changed = plain.clone();
        changed.headers.insert(name.to_owned(), value).unwrap();
        changed
    };
    let (mut longer, mut other) = (plain.clone(), plain.clone());
    longer.body.push(b' ');
    let at = other.body.windows(4).position(|four| four == b"paid").unwrap();
    other.body[at] = b'P';
    let second_later = plain.headers["webhook-timestamp"].parse::<u64>().unwrap() + 1;

    let (valid, wrong) = (&Value::Null, &json!("No matching signature found"));
    let cases = [
        (case(&plain, &secret, PLAIN), valid, valid),
        // The specification's header is keyed with the text as configured, whatever its form.
        (case(&standard, STANDARD_FORM, STANDARD_FORM), valid, valid),
        // During a rotation both verify; the specification's header has room for that of the newest secret.
        (case(&both, STANDARD_FORM, STANDARD_FORM), valid, valid),
        (case(&both, &secret, PLAIN), valid, wrong),
        (case(&both, &for_verifiers("another"), "another"), wrong, wrong),
        (case(&longer, &secret, PLAIN), wrong, wrong),
        (case(&other, &secret, PLAIN), wrong, wrong),
        // It covers the body alone.
        (case(&with("webhook-timestamp", second_later.to_string()), &secret, PLAIN), wrong, valid),
        (case(&with("webhook-id", format!("{}:8", stream_id())), &secret, PLAIN), wrong, valid),
        (case(&old, &secret, PLAIN), &json!("Message timestamp too old"), valid),
        (case(&early, &secret, PLAIN), &json!("Message timestamp too new"), valid),
    ];
    let answers = verify(&cases.each_ref().map(|(case, ..)| case.clone()));
    for (number, (found, (_, standard, service))) in answers.iter().zip(&cases).enumerate() {
        assert_eq!((&found.0, &found.1), (*standard, *service), "{number}");
    }
}
