//! Receivers that are slow, refuse or disconnect: none delays another stream, and refused events are sent again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;

use super::webhook_receiver::{App, Reply};
use super::{assert_complete, event, service};
use crate::harness::HandmadeWallet;

/// An app that has its own manners with some streams: what it does with the first post of an event.
async fn app_with_manners() -> (App, Arc<Mutex<HashMap<String, Reply>>>) {
    let manners = Arc::<Mutex<HashMap<String, Reply>>>::default();
    let rules = Arc::clone(&manners);
    let app = App::start(move |post, before| {
        let reply = rules.lock().get(&post.stream()).cloned();
        // Whatever it is, the second time it is taken, but one that hangs hangs for ever.
        reply.filter(|reply| before == 0 || matches!(reply, Reply::Hang)).unwrap_or(Reply::Ok)
    });
    (app.await, manners)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_stream_s_trouble_is_not_another_s() {
    let (app, manners) = app_with_manners().await;
    let (relay, usher) = service(&app.url(), |builder| builder).await;
    let api = usher.api();
    let mut troubled = HashMap::new();
    for (name, reply) in [
        ("hangs", Reply::Hang),
        ("slow", Reply::Slow(Duration::from_secs(3))),
        ("500", Reply::Status(500, "")),
        ("closes", Reply::Close),
        ("closes in the body", Reply::CloseMidBody),
        ("endless", Reply::Endless),
        ("429", Reply::Status(429, "Retry-After: 9\r\n")),
        ("redirects", Reply::Status(307, "Location: /elsewhere\r\n")),
    ] {
        // Two events each, so that order is at stake.
        let reusable = api.handshake(json!({"static_token": format!("door-{}", troubled.len())})).await;
        manners.lock().insert(reusable.stream.clone(), reply);
        for _ in 0..2 {
            relay.inject(HandmadeWallet::new().handshake(&reusable.url));
        }
        troubled.insert(name, reusable.stream);
    }
    app.until("a post that hangs", |app| !app.posts_of(&troubled["hangs"]).is_empty()).await;

    // Meanwhile all else is well.
    let mut well = join_all((0..30).map(|_| event(&api, &relay))).await;
    for stream in &well {
        app.takes(stream, 1).await;
    }
    assert_eq!(app.posts_of(&troubled["hangs"]).len(), 1, "all of it came while that post was hanging");

    for (name, stream) in &troubled {
        if *name != "hangs" {
            app.takes(stream, 2).await;
            well.push(stream.clone());
        }
    }
    assert_complete(&api, &app, &well).await;

    for (name, posts, pause) in [
        ("slow", 1, 0),
        ("closes in the body", 1, 0),
        ("endless", 1, 0),
        ("500", 2, 5),
        ("closes", 2, 5),
        ("429", 2, 9),
    ] {
        let of_first: Vec<_> = app.posts_of(&troubled[name]).into_iter().filter(|post| post.index() == 0).collect();
        assert_eq!(of_first.len(), posts, "{name}");
        let waited = of_first[of_first.len() - 1].at - of_first[0].at;
        // The service looks at its clock in milliseconds, we at another one.
        assert!(waited + Duration::from_millis(50) >= Duration::from_secs(pause), "{name}: after {waited:?}");
    }
    assert!(app.posts().iter().all(|post| post.path == "/hook"), "a redirect is not followed");
}
