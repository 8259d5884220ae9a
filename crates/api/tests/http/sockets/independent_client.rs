//! A client in another language with an independent library.

use serde_json::json;

use crate::app::{TOKEN, TestApp, key, within};
use crate::independent_programs;

#[tokio::test]
async fn independent_client_library_works() {
    let app = TestApp::start().await;
    let (stream, token) = app.handshake(json!({ "static_token": "poster" })).await;
    for user in 1..=3 {
        app.scan(&token, key(user)).await;
    }
    let url = format!("ws://{}/ws", app.address);
    let asked = json!({ "url": url, "token": TOKEN, "stream_id": stream, "last": 4 });
    let client = tokio::task::spawn_blocking(move || independent_programs::run("independent_ws.py", &asked));
    for user in 4..=5 {
        app.scan(&token, key(user)).await;
    }
    let said = within(client).await.unwrap();
    assert_eq!(said["right"], 101);
    assert_eq!(said["wrong"], 401);
    assert_eq!(said["binary"], 1003);
    assert_eq!(said["stranger"], 4001);
    assert_eq!(said["auth"], json!({ "id": "auth", "type": "success", "data": {} }));
    assert_eq!(said["version"]["data"]["version"], "1.2.3");
    assert_eq!(said["subscribed"]["data"], json!({ "stream_id": stream }));
    let events = said["events"].as_array().unwrap();
    let indexes: Vec<_> = events.iter().map(|event| event["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [1, 2, 3, 4]);
    assert_eq!(events[3]["data"]["main_key"], key(5).to_hex());
    assert_eq!(said["pieces"]["id"], "in pieces");
}
