//! Receivers that are slow, refuse or disconnect: none delays another stream, and refused events are sent again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;

use super::webhook_receiver::{App, Reply};
use super::{assert_complete, event, scans, service};
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_that_hang_on_hundreds_of_streams_delay_no_other() {
    // More than begin side by side, and few enough for the usual limit of open files on our side.
    const HANGING: usize = 400;
    let sound = Arc::<Mutex<Vec<String>>>::default();
    let rule = Arc::clone(&sound);
    let app =
        App::start(move |post, _| if rule.lock().contains(&post.stream()) { Reply::Ok } else { Reply::Hang }).await;
    let (relay, usher) = service(&app.url(), |builder| builder).await;
    let api = usher.api();
    let good = api.handshake(json!({"static_token": "good"})).await;
    sound.lock().push(good.stream.clone());
    join_all((0..HANGING).map(|_| event(&api, &relay))).await;
    app.until("more posts that hang than begin side by side", |app| app.posts().len() > 256).await;
    scans(&api, &relay, &good, 5).await;
    let there = std::time::Instant::now();
    app.takes(&good.stream, 5).await;
    // Those that hang do so for 20 s, the others take milliseconds: there is room between for the slowest machine.
    assert!(there.elapsed() < Duration::from_secs(15), "they waited for the others: {:?}", there.elapsed());
    assert_complete(&api, &app, &[good.stream]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_while_nobody_is_there_comes_later() {
    let port = usher_loopback_port::free().unwrap();
    let (relay, usher) = service(&format!("http://127.0.0.1:{port}/hook"), |builder| builder).await;
    let api = usher.api();
    let reusable = api.handshake(json!({"static_token": "door"})).await;
    scans(&api, &relay, &reusable, 3).await;
    let mut streams = vec![reusable.stream.clone()];
    for _ in 0..5 {
        let stream = event(&api, &relay).await;
        api.finished(&stream).await;
        streams.push(stream);
    }
    let app = App::start_at(port, |_, _| Reply::Ok).await;
    scans(&api, &relay, &reusable, 1).await;
    app.takes(&reusable.stream, 4).await;
    for stream in &streams {
        app.takes(stream, 1).await;
    }
    assert_complete(&api, &app, &streams).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_without_end_fill_no_memory() {
    let app = App::start(|_, _| Reply::Endless).await;
    let (relay, usher) = service(&app.url(), |builder| builder).await;
    let api = usher.api();
    let first = event(&api, &relay).await;
    app.takes(&first, 1).await;
    let before = usher.memory();
    let streams = join_all((0..200).map(|_| event(&api, &relay))).await;
    for stream in &streams {
        app.takes(stream, 1).await;
    }
    let grown = usher.memory().saturating_sub(before);
    assert!(grown < 60, "200 endless answers took {grown} MiB");
    // Each is read for a bounded time and length, and then the next event's turn comes.
    assert_complete(&api, &app, &streams).await;
}
