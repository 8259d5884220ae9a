//! API keys with the whole program: its commands, and kills.

use serde_json::json;

use crate::harness::{Api, CallError, TestUsher};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_manage_keys_that_survive_a_kill() {
    let mut usher = TestUsher::builder().start().await;
    let run = |usher: &TestUsher, arguments: &[&str]| {
        let output = usher.command(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    let status = async |usher: &TestUsher, secret: &str| {
        let api = Api { token: secret.to_owned(), ..usher.api() };
        match api.get("/payments").await {
            Ok(_) => 200,
            Err(CallError::Status(status, _)) => status,
            Err(error) => panic!("{error:?}"),
        }
    };
    let arguments = ["keys", "create", "shop", "--scope", "payments:receive", "--network", "127.0.0.0/8"];
    let (created, secret) = run(&usher, &arguments);
    assert!(created && secret.starts_with("usher_live_"), "{secret}");
    usher.restart().await;
    assert_eq!(status(&usher, &secret).await, 200);

    let (_, listed) = run(&usher, &["keys", "list"]);
    let line: Vec<_> = listed.lines().next().unwrap().split('\t').collect();
    assert_eq!((line[1], line[3], line[4]), ("valid", "payments:receive", "shop"), "{listed}");
    let (rotated, new) = run(&usher, &["keys", "rotate", line[0], "--overlap-seconds", "3600"]);
    assert!(rotated && new != secret);
    usher.restart().await;
    assert_eq!((status(&usher, &secret).await, status(&usher, &new).await), (200, 200));

    assert!(run(&usher, &["keys", "revoke", line[0]]).0);
    assert_eq!((status(&usher, &secret).await, status(&usher, &new).await), (401, 401));
    usher.restart().await;
    assert_eq!((status(&usher, &secret).await, status(&usher, &new).await), (401, 401));
    assert!(!run(&usher, &["keys", "revoke", line[0]]).0);
    assert!(!run(&usher, &["keys", "create", "x", "--scope", "root"]).0);
    assert_eq!(usher.api().get("/keys").await.unwrap()["keys"], json!([]));
    assert!(!usher.log().contains(&secret) && !usher.log().contains(&new), "no secret is logged");
}
