//! API keys when another instance takes over.

use serde_json::json;

use super::Cluster;
use crate::harness::{Api, CallError};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standby_that_takes_over_knows_all_keys() {
    let mut cluster = Cluster::start(2).await;
    let by_token = cluster.instances[0].api();
    let body = json!({"name": "door", "scopes": ["login", "events:read"], "own_streams_only": true});
    let kept = by_token.post("/keys", &body).await.unwrap();
    let revoked = by_token.post("/keys", &body).await.unwrap();
    by_token.delete(&format!("/keys/{}", revoked["key"]["id"].as_str().unwrap())).await.unwrap();
    let with = |instance: usize, key: &serde_json::Value| {
        let token = key["secret"].as_str().unwrap().to_owned();
        Api { token, ..cluster.instances[instance].api() }
    };
    // Over the standby, which forwards.
    cluster.until_role(1, "standby").await;
    let (first, second) = (with(0, &kept), with(1, &kept));
    let gone = with(1, &revoked);
    let own = second.post("/key-handshake", &json!({})).await.unwrap();
    let path = format!("/events/{}", own["stream_id"].as_str().unwrap());
    first.get(&path).await.unwrap();

    cluster.instances[0].kill();
    cluster.until_active(1).await;
    assert_eq!(second.get(&path).await.unwrap()["events"], json!([]));
    assert!(matches!(gone.get(&path).await, Err(CallError::Status(401, _))));
    let others = cluster.instances[1].api().post("/key-handshake", &json!({})).await.unwrap();
    let path = format!("/events/{}", others["stream_id"].as_str().unwrap());
    assert!(matches!(second.get(&path).await, Err(CallError::Status(404, _))));
}
