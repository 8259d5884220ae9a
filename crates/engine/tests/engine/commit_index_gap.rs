//! The gap between a commit and the index: the store has a new operation that is not in the index yet.

use usher_testing::ports::CREATIONS;

use crate::common::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charge_is_not_requested_if_its_subscription_closes_in_the_gap() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, true, NOW.secs() + 100).await;
    while usher.messages.try_recv().is_ok() {}
    let store = usher.faults.clone();
    store.hold_results(CREATIONS);
    usher.clock.turn(Duration::from_secs(100));
    store.held(1).await;
    usher.engine.subscriptions().close(&Requester::Service, user(1).public_key(), "s", None).await.unwrap();
    store.work();
    // The user's wallet gets the close; a charge would be requested within a moment, and repeatedly.
    next_message(&mut usher, "by_service", &[]).await;
    pass(&usher, 120).await;
    while let Ok((message, _)) = usher.messages.try_recv() {
        assert!(!message.content.contains("invoice"), "the user is asked for a payment");
    }
    assert_eq!(usher.engine.open_streams(), 1, "the charge has ended");
    assert!(wallet.made().len() <= 1);
}

async fn state(usher: &Running, id: &str) -> Option<SubscriptionState> {
    usher.engine.subscriptions().view(&Requester::Service, id).await.ok().map(|view| view.state)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscription_can_be_read_and_closed_in_the_gap() {
    let (mut usher, wallet) = Running::paying().await;
    let store = usher.faults.clone();
    let (stream, agrees) = request_subscription(&mut usher, &Requester::Service, "s", true, NOW.secs()).await;
    store.hold_results(CREATIONS);
    usher.receive(1, &user(1), agrees).await;
    store.held(1).await;
    assert_eq!(state(&usher, "s").await, Some(SubscriptionState::Active));
    usher.engine.subscriptions().close(&Requester::Service, user(1).public_key(), "s", None).await.unwrap();
    store.work();
    assert_eq!(statuses(&usher, stream, 1).await, ["approved"]);
    next_message(&mut usher, "by_service", &[]).await;
    // And repeatedly for ten minutes.
    pass(&usher, 25).await;
    next_message(&mut usher, "by_service", &[]).await;
    assert_eq!((wallet.made().len(), usher.engine.open_streams()), (0, 1), "it is charged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_before_or_with_the_agreement_is_not_lost() {
    // The close is handled before the agreement, also over a restart; it comes while the agreement is being committed, or is
    // in one line with it.
    for (before, restarted, held) in [(true, true, false), (false, false, true), (false, false, false)] {
        let (mut usher, _) = Running::paying().await;
        let (stream, agrees) = request_subscription(&mut usher, &Requester::Service, "s", true, NOW.secs() + 30).await;
        // Nobody else can close it.
        usher.receive(9, &user(9), close("s")).await;
        if before {
            usher.receive(1, &user(1), close("s")).await;
        }
        if restarted {
            // Messages that have arrived are handled before it stops.
            usher = usher.restart(Duration::ZERO).await;
        }
        let store = usher.faults.clone();
        if held {
            store.hold_results(CREATIONS);
        }
        usher.receive(2, &user(1), agrees).await;
        if held {
            store.held(1).await;
        }
        if !before {
            usher.receive(1, &user(1), close("s")).await;
            a_moment().await;
            store.work();
        }
        assert_eq!(statuses(&usher, stream, 1).await, ["approved"]);
        let told = announced(&usher, 1).await;
        assert_eq!((told[0]["subscription_id"].as_str(), told[0].get("due")), (Some("s"), None), "it is closed");
        assert_eq!(state(&usher, "s").await, Some(SubscriptionState::ClosedByUser));
        pass(&usher, 60).await;
        while let Ok((message, _)) = usher.messages.try_recv() {
            assert!(!message.content.contains("invoice"), "the user is asked for a payment");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payment_started_while_its_subscription_closes_is_refused_or_withdrawn() {
    let (mut usher, _) = Running::paying().await;
    let store = usher.faults.clone();
    subscribe(&mut usher, false, NOW.secs()).await;
    while usher.messages.try_recv().is_ok() {}
    // It is committed; the caller and the engine do not know yet.
    store.hold_results(CREATIONS);
    let asking = {
        let engine = usher.engine.clone();
        tokio::spawn(
            async move { engine.payments().request(&Requester::Service, payment(Some("s"), 3_600), None).await },
        )
    };
    store.held(1).await;
    usher.receive(1, &user(1), close("s")).await;
    announced(&usher, 1).await;
    store.work();
    let stream = asking.await.unwrap().unwrap().stream_id;
    assert_eq!(statuses(&usher, stream, 1).await, ["error"], "it is not owed any more");
    let late = usher.engine.payments().request(&Requester::Service, payment(Some("s"), 3_600), None).await;
    assert!(matches!(late, Err(StartError::Invalid(_))), "{late:?}");
    pass(&usher, 60).await;
    assert!(usher.messages.try_recv().is_err(), "the user is asked for a payment");
}
