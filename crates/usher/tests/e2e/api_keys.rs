//! API keys with the whole program: its commands, and kills.

use serde_json::json;

use crate::harness::{CallError, TestUsher};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_manage_keys_that_survive_a_kill() {
    let mut usher = TestUsher::builder().start().await;
    let api = usher.api();
    let status = async |secret: &str| match api.with_token(secret.trim()).get("/payments").await {
        Ok(_) => 200,
        Err(CallError::Status(status, _)) => status,
        Err(error) => panic!("{error:?}"),
    };
    let create = ["keys", "create", "shop", "--scope", "payments:receive", "--network", "127.0.0.0/8"];
    let secret = usher.says(&create).await;
    assert!(secret.starts_with("usher_live_"), "{secret}");
    usher.restart().await;
    assert_eq!(status(&secret).await, 200);

    let listed = usher.says(&["keys", "list"]).await;
    let line: Vec<_> = listed.lines().next().unwrap().split('\t').collect();
    assert_eq!((line[1], line[3], line[4]), ("valid", "payments:receive", "shop"), "{listed}");
    let new = usher.says(&["keys", "rotate", line[0], "--overlap-seconds", "3600"]).await;
    usher.restart().await;
    assert_eq!((new != secret, status(&secret).await, status(&new).await), (true, 200, 200));

    usher.says(&["keys", "revoke", line[0]]).await;
    for _ in 0..2 {
        assert_eq!((status(&secret).await, status(&new).await), (401, 401));
        usher.restart().await;
    }
    for refused in [&["keys", "revoke", line[0]][..], &["keys", "create", "x", "--scope", "root"]] {
        assert_ne!(usher.run(refused).await.0, Some(0), "{refused:?}");
    }
    assert_eq!(usher.api().get("/keys").await.unwrap()["keys"], json!([]));
    assert!(!usher.log().contains(secret.trim()) && !usher.log().contains(new.trim()), "no secret is logged");
}
