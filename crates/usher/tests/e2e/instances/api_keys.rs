//! What apps and browsers hold when another instance takes over.

use serde_json::json;

use super::Cluster;
use crate::harness::refusal;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standby_that_takes_over_knows_all_keys_and_browsers() {
    let mut cluster = Cluster::start(2).await;
    let by_token = cluster.instances[0].api();
    let body = json!({"name": "door", "scopes": ["login", "events:read"], "own_streams_only": true});
    let kept = by_token.post("/keys", &body).await.unwrap();
    let revoked = by_token.post("/keys", &body).await.unwrap();
    by_token.delete(&format!("/keys/{}", revoked["key"]["id"].as_str().unwrap())).await.unwrap();
    let with = |instance: usize, key: &serde_json::Value| {
        cluster.instances[instance].api().with_token(key["secret"].as_str().unwrap())
    };
    // Over the standby, which forwards.
    cluster.until_role(1, "standby").await;
    let (first, second) = (with(0, &kept), with(1, &kept));
    let gone = with(1, &revoked);
    let path = format!("/events/{}", second.start("/key-handshake", &json!({})).await);
    first.get(&path).await.unwrap();
    let login = by_token.post("/login", &json!({})).await.unwrap();
    let page = login["page_url"].as_str().unwrap().replace("http://127.0.0.1:9", "");
    let opened = by_token.http.get(format!("{}{page}", by_token.base)).send().await.unwrap();
    let cookie = opened.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();

    cluster.instances[0].kill();
    cluster.until_active(1).await;
    assert_eq!(second.get(&path).await.unwrap()["events"], json!([]));
    assert_eq!(refusal(gone.get(&path).await).0, 401);
    // The page still belongs to its browser.
    for (cookie, is_its_own) in [(&*cookie, true), ("usher_login=x", false)] {
        let request = second.http.get(format!("{}{page}", second.base)).header("cookie", cookie);
        let html = request.send().await.unwrap().text().await.unwrap();
        assert_eq!(html.contains("data-state=\"waiting\""), is_its_own, "{html}");
    }
    let others = cluster.instances[1].api().start("/key-handshake", &json!({})).await;
    assert_eq!(refusal(second.get(&format!("/events/{others}")).await).0, 404);
}
