//! The books.

use usher_engine::ports::{
    BookedPayment, Commit, Committed, CorrelationKey, PaymentFilter, PaymentKind, PaymentRecord, PaymentRecordStatus,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::message::PaymentHash;

use super::{FullStore, commit_done, create, id, step};

fn open_payment() -> PaymentRecord {
    PaymentRecord {
        kind: PaymentKind::Requested,
        status: PaymentRecordStatus::Open,
        amount: 10_000,
        settled: None,
        fee: None,
        description: "Coffee, \u{1F511} \0".to_owned(),
        reference: Some("order-1".to_owned()),
        payment_hash: None,
        price: Some("{\"amount\":1}".to_owned()),
        refund_of: None,
    }
}

fn at(secs: u64, commit: Commit) -> Commit {
    Commit { at: UnixMillis(secs * 1_000), ..commit }
}

fn booked(record: PaymentRecord, commit: Commit) -> Commit {
    Commit { payment_record: Some(record), ..commit }
}

/// Each step of its operation may change it; its request time stays.
pub async fn a_payment_is_booked_once_and_outlives_its_operation(store: &dyn FullStore) {
    assert_eq!(store.payment_record(id(1)).await.unwrap(), None);
    commit_done(store, at(10, booked(open_payment(), create(id(1))))).await;
    let stored = |record, changed: u64| {
        Some(BookedPayment {
            stream_id: id(1),
            created_at: UnixMillis(10_000),
            changed_at: UnixMillis(changed * 1_000),
            record,
        })
    };
    assert_eq!(store.payment_record(id(1)).await.unwrap(), stored(open_payment(), 10));
    let asked = PaymentRecord { payment_hash: Some(PaymentHash::from_bytes([7; 32])), ..open_payment() };
    commit_done(store, at(20, booked(asked.clone(), step(id(1), 1)))).await;
    assert_eq!(store.payment_record(id(1)).await.unwrap(), stored(asked.clone(), 20));
    // A step that changes nothing of it, and one of another operation.
    commit_done(store, at(30, booked(asked.clone(), step(id(1), 2)))).await;
    commit_done(store, at(35, create(id(2)))).await;
    assert_eq!(store.payment_record(id(1)).await.unwrap(), stored(asked.clone(), 20));

    let paid = PaymentRecord {
        status: PaymentRecordStatus::Paid,
        settled: Some(2_100_000_000_000_000_000),
        fee: Some(0),
        ..asked
    };
    let conflict = at(40, booked(paid.clone(), create(id(1))));
    assert!(matches!(store.commit(conflict).await.unwrap(), Committed::Conflict(_)));
    assert_ne!(store.payment_record(id(1)).await.unwrap(), stored(paid.clone(), 40));
    commit_done(store, at(50, booked(paid.clone(), step(id(1), 3)))).await;
    // Another invoice, at another rate, is paid: the payment was paid before.
    let paid = PaymentRecord { amount: 11_000, settled: Some(21_000), price: None, ..paid };
    commit_done(store, at(60, Commit { finished: true, ..booked(paid.clone(), step(id(1), 4)) })).await;
    store.remove_finished(UnixMillis(u64::MAX), 10).await.unwrap();
    assert!(store.operation(id(1)).await.unwrap().is_none());
    assert_eq!(store.payment_record(id(1)).await.unwrap(), stored(paid, 50));
}

/// By request time, regardless of ids.
pub async fn payments_are_listed_in_pages_by_time_and_status(store: &dyn FullStore) {
    let all = PaymentFilter::default();
    assert_eq!(store.payment_records(all, None, 10).await.unwrap(), []);
    for (n, secs, status) in [
        (1, 30, PaymentRecordStatus::Paid),
        (2, 10, PaymentRecordStatus::Open),
        (3, 20, PaymentRecordStatus::NotPaid),
        (4, 20, PaymentRecordStatus::Paid),
        (5, 40, PaymentRecordStatus::Unknown),
    ] {
        let kind = if n == 5 { PaymentKind::Outgoing } else { PaymentKind::Charge };
        let record = PaymentRecord { status, kind, reference: None, ..open_payment() };
        commit_done(store, at(secs, booked(record, create(id(n))))).await;
    }
    let list = async |filter: PaymentFilter, after: Option<StreamId>, limit| {
        let page = store.payment_records(filter, after, limit).await.unwrap();
        page.iter().map(|payment| payment.stream_id).collect::<Vec<_>>()
    };
    assert_eq!(list(all, None, 10).await, [2, 3, 4, 1, 5].map(id));
    let mut pages = Vec::new();
    while let Some(next) = list(all, pages.last().copied(), 1).await.first().copied() {
        pages.push(next);
    }
    assert_eq!(pages, [2, 3, 4, 1, 5].map(id));
    assert_eq!(list(all, Some(id(3)), 2).await, [4, 1].map(id));
    let time = |secs: u64| Some(UnixMillis(secs * 1_000));
    let between = PaymentFilter { from: time(20), to: time(40), status: None };
    assert_eq!(list(between, None, 10).await, [3, 4, 1].map(id));
    let paid = PaymentFilter { status: Some(PaymentRecordStatus::Paid), ..all };
    assert_eq!((list(paid, None, 10).await, list(paid, Some(id(4)), 10).await), (vec![id(4), id(1)], vec![id(1)]));
}

/// Open ones may still be paid.
pub async fn old_payments_leave_the_books_unless_they_are_open(store: &dyn FullStore) {
    for (n, status) in [
        (1, PaymentRecordStatus::Open),
        (2, PaymentRecordStatus::Paid),
        (3, PaymentRecordStatus::NotPaid),
        (4, PaymentRecordStatus::Unknown),
    ] {
        commit_done(store, at(n, booked(PaymentRecord { status, ..open_payment() }, create(id(n))))).await;
    }
    let forget = async |secs: u64, limit| store.forget_payment_records(UnixMillis(secs * 1_000), limit).await.unwrap();
    assert_eq!(forget(3, 10).await, 1);
    assert_eq!((store.payment_record(id(2)).await.unwrap(), forget(3, 10).await), (None, 0));
    assert_eq!((forget(100, 1).await, forget(100, 10).await, forget(100, 10).await), (1, 1, 0));
    let left = store.payment_records(PaymentFilter::default(), None, 10).await.unwrap();
    assert_eq!(left.iter().map(|payment| payment.stream_id).collect::<Vec<_>>(), [id(1)]);
}

/// Whoever received it, and whoever requested it.
pub async fn an_invoice_is_known_as_paid_once_a_payment_of_it_is(store: &dyn FullStore) {
    let of = |n: u8, status| PaymentRecord {
        status,
        payment_hash: Some(PaymentHash::from_bytes([n; 32])),
        ..open_payment()
    };
    let is_paid = async |n: u8| store.is_paid(PaymentHash::from_bytes([n; 32])).await.unwrap();
    for (n, status) in
        [(1, PaymentRecordStatus::Open), (2, PaymentRecordStatus::NotPaid), (3, PaymentRecordStatus::Unknown)]
    {
        commit_done(store, booked(of(n, status), create(id(n.into())))).await;
        assert!(!is_paid(n).await, "{status:?}");
    }
    assert!(!is_paid(9).await);
    commit_done(store, booked(of(1, PaymentRecordStatus::Paid), step(id(1), 1))).await;
    commit_done(store, booked(of(2, PaymentRecordStatus::Paid), create(id(4)))).await;
    assert_eq!((is_paid(1).await, is_paid(2).await, is_paid(3).await), (true, true, false));
    // A further invoice of a payment is not in the books.
    let (key, hash) = (CorrelationKey::invoice(PaymentHash::from_bytes([5; 32])), 5);
    commit_done(store, Commit { claims: vec![key], ..create(id(5)) }).await;
    assert!(!is_paid(hash).await);
    commit_done(store, Commit { finished: true, kept: vec![(key, UnixMillis(7))], ..step(id(5), 1) }).await;
    assert!(is_paid(hash).await);
}

/// Those that may still be, or may have been, paid are included.
pub async fn refunds_are_summed_up_unless_they_were_not_paid(store: &dyn FullStore) {
    assert_eq!(store.refunded(id(1)).await.unwrap(), 0);
    for (n, refund_of, status) in [
        (2, 1, PaymentRecordStatus::Open),
        (3, 1, PaymentRecordStatus::Paid),
        (4, 1, PaymentRecordStatus::NotPaid),
        (5, 1, PaymentRecordStatus::Unknown),
        (6, 9, PaymentRecordStatus::Paid),
    ] {
        let refund = PaymentRecord {
            status,
            kind: PaymentKind::Refund,
            amount: 1 << n,
            refund_of: Some(id(refund_of)),
            ..open_payment()
        };
        commit_done(store, booked(refund.clone(), create(id(n)))).await;
        assert_eq!(store.payment_record(id(n)).await.unwrap().unwrap().record, refund);
    }
    assert_eq!((store.refunded(id(1)).await.unwrap(), store.refunded(id(9)).await.unwrap()), (4 + 8 + 32, 64));
}
