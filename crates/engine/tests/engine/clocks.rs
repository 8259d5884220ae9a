//! A wall clock that is set or wrong: no timer is early or late, and no charge is early.

use crate::common::*;

const HOURS: Duration = Duration::from_secs(3 * 3600);
/// Advances the clock second by second until it holds; returns how long that took.
async fn passes(usher: &Running, most: u64, mut holds: impl AsyncFnMut() -> bool) -> u64 {
    for secs in 0..most {
        if holds().await {
            return secs;
        }
        pass(usher, 1).await;
    }
    panic!("not within {most} s");
}

async fn has_events(usher: &Running, stream: StreamId) -> bool {
    !usher.read(stream, 0).await.events.is_empty()
}

#[tokio::test]
async fn clock_set_back_does_not_delay_look_ups_and_retries_of_invoices() {
    for is_made in [true, false] {
        let (mut usher, wallet) = Running::paying().await;
        wallet.tells(true);
        wallet.hang(!is_made);
        let stream = usher.request_payment(payment(None, 3_000)).await;
        if is_made {
            next_message(&mut usher, "invoice", &[]).await;
            pass(&usher, 5).await;
        } else {
            until("it is asked", async || wallet.made().len() == 1).await;
        }
        usher.clock.turn_back(HOURS);
        wallet.settle(0);
        // It is looked up within two minutes; all tries to make it together may take a minute, and the test's clock may run ahead.
        passes(&usher, 1_000, async || has_events(&usher, stream).await).await;
        assert_eq!(statuses(&usher, stream, 1).await, [if is_made { "paid" } else { "error" }]);
    }
}

#[tokio::test]
async fn clock_a_month_ahead_charges_nothing_until_it_is_corrected() {
    let (mut usher, wallet) = Running::paying().await;
    subscribe(&mut usher, true, NOW.secs() + 7_200).await;
    // While it runs, and at a start.
    usher.clock.turn_forward(31 * DAY);
    pass(&usher, 200).await;
    let mut usher = usher.restart(Duration::ZERO).await;
    pass(&usher, 200).await;
    assert!(wallet.made().is_empty(), "nobody is charged");
    // New requests are not delayed.
    let new = usher.authenticate(1).await;
    usher.next_message().await;
    usher.clock.turn_back(31 * DAY);
    let expired = passes(&usher, 4_000, async || has_events(&usher, new).await).await;
    assert!(expired >= 290, "{expired}");
    // Ten minutes later nothing is due yet.
    pass(&usher, 700).await;
    assert!(wallet.made().is_empty(), "nobody is charged");
    usher.clock.turn(Duration::from_secs(7_200));
    passes(&usher, 1_000, async || wallet.made().len() == 1).await;
}
