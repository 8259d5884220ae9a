//! A relay that sends garbage.

use std::time::Duration;

use nostr::{JsonUtil, RelayMessage};
use tokio_tungstenite::tungstenite::Message;
use usher_faults::relay::{Quirks, QuirkyRelay};

use crate::raw_client::{Raw, key};

#[tokio::test]
async fn relay_sends_every_kind_of_garbage() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut client = Raw::connect(relay.url()).await;
    client.subscribe("s", &key()).await;
    relay.set(|quirks| quirks.garbage = Some(Duration::from_millis(1)));
    let (mut binary, mut huge, mut deep, mut nonsense) = (0, 0, 0, 0);
    for _ in 0..40 {
        match client.frame().await.unwrap().unwrap() {
            Message::Binary(_) => binary += 1,
            Message::Text(text) => {
                huge += usize::from(text.len() > 1 << 20);
                deep += usize::from(text.contains(&"[".repeat(1_000)));
                nonsense += usize::from(RelayMessage::from_json(text.as_bytes()).is_err());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((binary, huge, deep), (2, 2, 2));
    assert!(nonsense >= 20, "{nonsense}");
}
