use super::*;
use crate::kernel::fixtures::{Around, stream, within};
use crate::testing::{FakeLightning, preimage};

const SECOND: Duration = Duration::from_secs(1);

fn watcher(around: &Around, backend: &Arc<FakeLightning>) -> Arc<InvoiceWatcher> {
    let backend = Arc::clone(backend) as Arc<dyn Lightning>;
    let watcher = Arc::new(InvoiceWatcher::new(around.core(), Some(backend), Arc::default(), 10));
    around.tasks.spawn(Arc::clone(&watcher).run());
    watcher
}

fn watch(around: &Around, watcher: &InvoiceWatcher, n: u8) {
    around.open(stream(n));
    watcher.watch(stream(n), preimage(0).payment_hash(), true);
}

#[tokio::test]
async fn due_invoice_is_looked_up_and_only_settlement_is_reported() {
    let mut around = Around::new();
    let backend = around.lightning();
    let watcher = watcher(&around, &backend);
    watch(&around, &watcher, 1);
    assert_eq!(around.timers_after(4 * SECOND).await, []);
    assert_eq!(around.timers_after(SECOND).await, [(stream(1), TimerKind::LookUp)]);
    watcher.due(stream(1));
    within("it is looked up", || (backend.look_ups() == 1).then_some(())).await;
    // It is open: nothing is reported, and it is looked up again.
    backend.settle(0);
    within("its timer is set", || watcher.watched.lock().by_stream[&stream(1)].at.map(|_| ())).await;
    assert_eq!(around.timers_after(5 * SECOND).await, [(stream(1), TimerKind::LookUp)]);
    watcher.due(stream(1));
    let (id, input) = around.input().await;
    assert!(matches!(input, Input::InvoiceStatus(Ok(InvoiceStatus::Settled(_)))), "{input:?}");
    assert_eq!(id, stream(1));
}

#[tokio::test]
async fn settlement_that_is_not_believed_is_looked_up_again_soon_and_counted() {
    let mut around = Around::new();
    let backend = around.lightning();
    backend.settle(0);
    let watcher = watcher(&around, &backend);
    // As after a restart, for an invoice whose payment is over.
    around.open(stream(1));
    watcher.watch_again(stream(1), preimage(0).payment_hash(), true);
    for (wait, disputed) in [(Duration::ZERO, 0), (10 * SECOND, 1)] {
        assert_eq!(around.timers_after(wait).await, [(stream(1), TimerKind::LookUp)]);
        watcher.due(stream(1));
        around.input().await;
        within("its timer is set", || watcher.watched.lock().by_stream[&stream(1)].at.map(|_| ())).await;
        assert_eq!(watcher.disputed_count(), disputed);
    }
    watcher.unwatch(stream(1));
    assert_eq!(watcher.disputed_count(), 0);
}

#[tokio::test]
async fn request_during_a_look_up_triggers_another_at_once() {
    let around = Around::new();
    let backend = around.lightning();
    backend.stall(true);
    let watcher = watcher(&around, &backend);
    watch(&around, &watcher, 1);
    watcher.look_up_soon(stream(1));
    assert_eq!(around.timers_after(Duration::ZERO).await, [(stream(1), TimerKind::LookUp)]);
    watcher.due(stream(1));
    within("it is looked up", || (backend.look_ups() == 1).then_some(())).await;
    watcher.look_up_soon(stream(1));
    backend.stall(false);
    within("its timer is set", || watcher.watched.lock().by_stream[&stream(1)].at.map(|_| ())).await;
    assert_eq!(around.timers_after(Duration::ZERO).await, [(stream(1), TimerKind::LookUp)]);
}

#[tokio::test]
async fn look_up_is_repeated_after_a_panic() {
    let around = Around::new();
    let backend = around.lightning();
    let watcher = watcher(&around, &backend);
    backend.panic(u32::MAX);
    watch(&around, &watcher, 1);
    around.timers_after(5 * SECOND).await;
    watcher.due(stream(1));
    within("its timer is set", || watcher.watched.lock().by_stream[&stream(1)].at.map(|_| ())).await;
    assert_eq!(around.timers_after(10 * SECOND).await, [(stream(1), TimerKind::LookUp)]);
}

#[tokio::test]
async fn unwatched_invoice_has_no_timer_and_is_not_counted() {
    let around = Around::new();
    let backend = around.lightning();
    let watcher = watcher(&around, &backend);
    watch(&around, &watcher, 1);
    watch(&around, &watcher, 2);
    watcher.watch_again(stream(3), preimage(0).payment_hash(), true);
    assert_eq!((watcher.count(), watcher.open_count()), (3, 2));
    watcher.unwatch(stream(1));
    watcher.unwatch(stream(3));
    assert_eq!((watcher.count(), watcher.open_count()), (1, 1));
    assert_eq!(around.timers_after(60 * SECOND).await, [(stream(2), TimerKind::LookUp)]);
    // One whose operation is not in the index is not watched: it has just finished.
    watcher.watch(stream(4), preimage(0).payment_hash(), true);
    assert_eq!(watcher.count(), 1);
}
