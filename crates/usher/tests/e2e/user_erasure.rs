//! A user who has logged in and paid is erased: by the command, with a crash in the middle, until the database does not contain
//! their key any more.

use std::time::Duration;

use serde_json::{Value, json};
use usher_protocol::PublicKey;
use usher_sandbox::wallet::{Policy, Request};

use crate::harness::{LONG, TestUsher, files_below, refusal, statuses, until};
use crate::payments::Fixture;

async fn erase(usher: &TestUsher, user: &str) -> Value {
    let erased = usher.api().delete(&format!("/users/{user}")).await.unwrap();
    assert_eq!((&erased["main_key"], &erased["next"]), (&json!(user), &json!(null)));
    erased
}

/// How often the files of the database have the key: as text, and as bytes.
fn occurrences(usher: &TestUsher, key: &PublicKey) -> (usize, usize) {
    let (user, mut text, mut bytes) = (key.to_hex(), 0, 0);
    let files = files_below(usher.data_dir().parent().unwrap());
    for (_, content) in files.iter().filter(|(file, _)| file.contains("usher.db")) {
        text += content.windows(64).filter(|found| *found == user.as_bytes()).count();
        bytes += content.windows(32).filter(|found| *found == key.as_bytes()).count();
    }
    (text, bytes)
}

async fn pay(fixture: &Fixture, stream: &str, request: &Request) {
    fixture.somebody_pays(fixture.invoice_of(request).as_str());
    assert_eq!(statuses(&fixture.api().at_least(stream, 1).await), ["paid"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_user_stays_but_what_the_answer_names() {
    let mut fixture = Fixture::open_with(|builder| builder.set("AUTH__CHALLENGE_TTL_SECONDS", 15)).await;
    let wallet = fixture.user(Policy::silent()).await;
    let (api, key, user) = (fixture.api(), wallet.main_key(), wallet.main_key().to_hex());
    let paid = fixture.ask(&wallet, 5_000).await;
    pay(&fixture, &paid, &wallet.next_request(LONG).await.unwrap()).await;
    let open = fixture.ask(&wallet, 5_000).await;
    let request = wallet.next_request(LONG).await.unwrap();
    let authentication = api.authenticate(&key, &[]).await;
    let (text, bytes) = occurrences(&fixture.usher, &key);
    assert!(text > 0 && bytes > 0);

    let mut expected = [format!("open authentication {authentication} -"), format!("open single_payment {open} -")];
    expected.sort();
    let kept = fixture.usher.says(&["users", "erase", &user]).await;
    // Their relays, too, if the service has stored them by then.
    let mut kept: Vec<_> = kept.lines().filter(|line| !line.starts_with("relays ")).collect();
    kept.sort_unstable();
    assert_eq!(kept, expected);
    assert_eq!(refusal(api.try_events(&paid, 0, 0).await).1["code"], "stream_not_found");
    let again = erase(&fixture.usher, &user).await;
    let open_streams = again["kept"].as_array().unwrap().iter().filter(|kept| kept["reason"] == "open").count();
    assert_eq!((&again["erased"]["streams"], open_streams), (&json!(0), 2));

    // The payment goes on. Its end, and that of the authentication, are erased in spite of crashes.
    pay(&fixture, &open, &request).await;
    api.finished(&authentication).await;
    for pause in [0, 1, 5] {
        let (api, path) = (fixture.api(), format!("/users/{user}"));
        let erasing = tokio::spawn(async move { api.delete(&path).await });
        tokio::time::sleep(Duration::from_millis(pause)).await;
        fixture.usher.kill();
        drop(erasing.await.unwrap());
        fixture.crash().await;
    }
    until("end of what is open", async || erase(&fixture.usher, &user).await["kept"] == json!([])).await;
    for stream in [&open, &authentication] {
        assert_eq!(refusal(api.try_events(stream, 0, 0).await).0, 404);
    }
    assert_eq!(api.get("/payments").await.unwrap()["payments"].as_array().unwrap().len(), 2);
    assert!(fixture.usher.stop().await.success());
    assert_eq!(occurrences(&fixture.usher, &key), (0, 0));
}
