//! What the log contains, and which secrets it never contains.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use usher_protocol::PublicKey;
use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};

use crate::harness::{Api, LONG, TestUsher, User, introduce, is_not_logged, refusal};

/// Whatever happens, no secret gets into the log, also at `trace`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_logged() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let network = LightningNetwork::new();
    let account = network.open_account("shop", 1_000_000);
    let nwc = NwcService::start(&account, &[relay.url()]).await;
    nwc.ready(LONG).await.expect("the wallet listens");
    let mut usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set("LOG__FORMAT", "json")
        .nwc(nwc.url())
        .set("WEBHOOK__URL", "http://127.0.0.1:9/hook?key=in-the-url-s3cret")
        .set("WEBHOOK__SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .set("WEBHOOK__PREVIOUS_SECRET", "what-was-the-s3cret-before")
        .set("AUTH__PREVIOUS_TOKEN", "s3cret-4f5a1c9e8b7d6f3a2c1e0d9b8a7f6e5d")
        .log_level("trace")
        .start()
        .await;
    let api = usher.api();
    let identity = Identity::generate();
    let payment_source = network.open_account("user", 1_000_000);
    let secret = identity.keys().secret_key().to_secret_hex();
    let user = Wallet::start(WalletOptions::new(identity).policy(Policy::silent()).paying_from(&payment_source)).await;
    let handshake = api.handshake(json!({ "static_token": "table-s3cret" })).await;
    introduce(&api, &user, &handshake, User::Stubborn).await;
    let single = api.handshake(json!({})).await;

    let stream = api.authenticate(&user.main_key(), &[]).await;
    let request = user.next_request(LONG).await.expect("a request");
    let (_, session) = user.approve_with_session(&request, Duration::from_secs(3_600)).expect("approved");
    let event = api.outcome(&stream).await;
    assert_eq!((event.status(), &event.data["session_token"]), ("approved", &json!(session)));
    let issued = api.post("/jwt/issue", &json!({ "target_key": user.main_key().to_hex(), "duration_hours": 1 })).await;
    let issued = issued.unwrap()["token"].as_str().unwrap().to_owned();

    let body = json!({ "main_key": user.main_key().to_hex(), "subkeys": [], "description": "what-s3cret", "amount": 1000,
        "currency": "millisats" });
    let payment = api.start("/payments/single", &body).await;
    let request = user.next_request(LONG).await.expect("a request");
    user.fulfil(&request).await.expect("paid");
    let events = api.finished(&payment).await;
    let preimage = events.last().unwrap().data["preimage"].as_str().expect("a preimage").to_owned();
    // Mistakes too: a secret in the wrong place is not repeated.
    let wrong = json!({ "main_key": secret, "subkeys": [session], "static_token": 1 });
    assert_eq!(refusal(api.post("/authenticate-key", &wrong).await).0, 422);
    assert_eq!(refusal(api.get(&format!("/events/{issued}")).await).0, 404);
    over_a_web_socket(&api, &user.main_key(), &session).await;
    let previous = api.with_token("s3cret-4f5a1c9e8b7d6f3a2c1e0d9b8a7f6e5d");
    previous.get("/version").await.expect("the previous token is accepted");
    user.stop().await;
    assert!(usher.stop().await.success());

    let log = usher.log();
    assert!(log.contains("DEBUG") && log.lines().count() > 20, "it logs at debug");
    for line in log.lines().map(|line| serde_json::from_str::<Value>(line).expect(line)) {
        assert!(["timestamp", "level", "message", "target"].iter().all(|member| line[member].is_string()), "{line}");
    }
    is_not_logged(
        &log,
        &[
            ("the user's secret key", &secret),
            ("the service's secret key", &usher.secret_key_hex()),
            ("the session token", &session),
            ("the JWT", &issued),
            ("the preimage", &preimage),
            ("the wallet's secret", nwc.url().split("secret=").nth(1).unwrap().split('&').next().unwrap()),
            ("the handshake's token", &single.url.token),
            ("the webhook's secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            ("a static token, a description, the webhook's query or a previous secret", "s3cret"),
            ("the token of the interface", &api.token),
        ],
    );
}

/// Says the token and shows a JWT over `/ws`, as a browser does: in frames, and in the head of the upgrade.
async fn over_a_web_socket(api: &Api, key: &PublicKey, session: &str) {
    let url = format!("{}/ws", api.base.replacen("http", "ws", 1));
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("a WebSocket");
    let verify = json!({ "public_key": key.to_hex(), "token": session });
    for command in [
        json!({ "id": "1", "cmd": "auth", "params": { "token": api.token } }),
        json!({ "id": "2", "cmd": "request", "params": { "method": "POST", "path": "/jwt/verify", "body": verify } }),
    ] {
        socket.send(Message::text(command.to_string())).await.expect("sent");
        let answer = socket.next().await.expect("an answer").expect("a message").into_text().expect("text");
        assert!(answer.contains("\"success\""), "{answer}");
    }
    socket.close(None).await.expect("closed");
}

/// What fail2ban would see: its tags for addresses stand for these.
fn banned(log: &str) -> Vec<String> {
    let filter = include_str!("../../../../docs/fail2ban/usher.conf");
    let (_, patterns) = filter.split_once("failregex = ").expect("patterns");
    let pattern = |line: &str| regex::Regex::new(&line.trim().replace("<ADDR>", "(?P<address>[0-9A-Fa-f.:]+)"));
    let patterns: Vec<_> =
        patterns.lines().take_while(|line| !line.is_empty()).map(|line| pattern(line).unwrap()).collect();
    let address = |line: &str| Some(patterns.iter().find_map(|pattern| pattern.captures(line))?["address"].to_owned());
    log.lines().filter_map(address).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fail2ban_finds_the_address_of_a_burst_of_wrong_tokens() {
    let relay = EmbeddedRelay::start().await.unwrap();
    for format in ["text", "json"] {
        let mut usher = TestUsher::builder().relays(&[relay.url()]).set("LOG__FORMAT", format).start().await;
        let api = usher.api();
        // Nobody can have another address blocked.
        let forged = "authentication failed 10 times within a minute from 198.51.100.7";
        for number in 0..12 {
            let request = api.http.get(format!("{}/version", api.base)).bearer_auth(format!("wrong {number}"));
            let request = request.header("x-request-id", forged).header("user-agent", forged);
            assert_eq!(request.send().await.unwrap().status(), 401);
        }
        assert!(usher.stop().await.success());
        assert_eq!(banned(&usher.log()), ["127.0.0.1"], "{format}: {}", usher.log());
    }
}
