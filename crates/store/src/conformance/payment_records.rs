//! The books.

use usher_engine::ports::{
    BookedPayment, Commit, Committed, CorrelationKey, HourlySums, LoginRecordStatus, OperationKind, PaymentFilter,
    PaymentKind, PaymentRecord, PaymentRecordStatus, PaymentSearch,
};
use usher_engine::{StreamId, UnixMillis};
use usher_protocol::message::PaymentHash;

use super::{FullStore, commit_done, create, ended_login, id, step};

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
    Commit { kind: OperationKind::SinglePayment, payment_record: Some(record), ..commit }
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
    let between = PaymentFilter { from: time(20), to: time(40), ..all };
    assert_eq!(list(between, None, 10).await, [3, 4, 1].map(id));
    let direction = |is_incoming| PaymentFilter { is_incoming: Some(is_incoming), ..all };
    assert_eq!(list(direction(true), None, 10).await, [2, 3, 4, 1].map(id));
    assert_eq!(list(direction(false), None, 10).await, [id(5)]);
    let paid = PaymentFilter { status: Some(PaymentRecordStatus::Paid), ..all };
    assert_eq!((list(paid, None, 10).await, list(paid, Some(id(4)), 10).await), (vec![id(4), id(1)], vec![id(1)]));
    for (status, n) in
        [(PaymentRecordStatus::Open, 2), (PaymentRecordStatus::NotPaid, 3), (PaymentRecordStatus::Unknown, 5)]
    {
        let filter = PaymentFilter { status: Some(status), ..all };
        assert_eq!(list(filter, None, 10).await, [id(n)]);
        assert!(list(filter, Some(id(n)), 10).await.is_empty());
        let newest = store.newest_payments(&PaymentSearch::All, filter, None, 10).await.unwrap();
        assert_eq!(newest.iter().map(|payment| payment.stream_id).collect::<Vec<_>>(), [id(n)]);
    }
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

/// Each is counted once, when it happens; a payment that is paid late is not unpaid any more.
pub async fn sums_of_an_hour_follow_the_books_and_the_logins(store: &dyn FullStore) {
    const HOUR: u64 = 3_600;
    let with = |status, settled, kind| PaymentRecord { status, settled, kind, ..open_payment() };
    let (requested, paid) = (PaymentKind::Requested, PaymentRecordStatus::Paid);
    let unpaid = with(PaymentRecordStatus::NotPaid, None, requested);
    for n in 1..=3 {
        commit_done(store, at(HOUR, booked(open_payment(), create(id(n))))).await;
    }
    assert_eq!(store.hourly_sums(0, 100).await.unwrap(), [], "nothing has ended");
    commit_done(store, at(HOUR, booked(with(paid, Some(10_000), requested), step(id(1), 1)))).await;
    for n in [2, 3] {
        commit_done(store, at(HOUR, booked(unpaid.clone(), step(id(n), 1)))).await;
    }
    // Steps that change nothing of it, a further invoice that does not end it again, and a conflict.
    let hash = Some(PaymentHash::from_bytes([7; 32]));
    commit_done(store, at(2 * HOUR, booked(with(paid, Some(10_000), requested), step(id(1), 2)))).await;
    commit_done(store, at(2 * HOUR, booked(PaymentRecord { payment_hash: hash, ..unpaid.clone() }, step(id(2), 2))))
        .await;
    let conflict = at(2 * HOUR, booked(with(paid, Some(10_000), requested), step(id(3), 7)));
    assert!(matches!(store.commit(conflict).await.unwrap(), Committed::Conflict(_)));
    let first = HourlySums { hour: 1, paid: 1, paid_millisats: 10_000, unpaid: 2, ..HourlySums::default() };
    assert_eq!(store.hourly_sums(0, 100).await.unwrap(), [first]);

    // Paid late; paid twice; a charge, a refund, and what is sent; logins.
    commit_done(store, at(3 * HOUR, booked(with(paid, Some(9_000), requested), step(id(2), 3)))).await;
    commit_done(store, at(3 * HOUR, booked(with(paid, Some(15_000), requested), step(id(1), 3)))).await;
    let (refund, outgoing, on_chain) = (PaymentKind::Refund, PaymentKind::Outgoing, PaymentKind::OnChain);
    for (n, kind, settled) in [(4, PaymentKind::Charge, 1), (5, refund, 20), (6, outgoing, 300), (7, on_chain, 4_000)] {
        commit_done(store, at(3 * HOUR, booked(with(paid, Some(settled), kind), create(id(n))))).await;
    }
    commit_done(store, at(3 * HOUR, booked(with(PaymentRecordStatus::NotPaid, None, outgoing), create(id(8))))).await;
    for (status, n) in [LoginRecordStatus::Approved].into_iter().chain(LoginRecordStatus::ALL).zip(11..) {
        let login = Commit { login_record: Some(ended_login(1, status)), finished: true, ..create(id(n)) };
        commit_done(store, at(3 * HOUR, login)).await;
    }
    let third = HourlySums {
        hour: 3,
        paid: 2,
        paid_millisats: 9_000 + 5_000 + 1,
        refunded_millisats: 20,
        sent_millisats: 4_300,
        unpaid: 0,
        logins: 2,
        logins_failed: 3,
    };
    assert_eq!(store.hourly_sums(0, 100).await.unwrap(), [HourlySums { unpaid: 1, ..first }, third]);
    assert_eq!(store.hourly_sums(1, 3).await.unwrap(), [HourlySums { unpaid: 1, ..first }]);

    // What a column cannot hold does not fail a commit.
    for n in 21..=26 {
        let much = with(paid, Some(2_100_000_000_000_000_000), requested);
        commit_done(store, at(5 * HOUR, booked(much, create(id(n))))).await;
    }
    let most = store.hourly_sums(5, 6).await.unwrap();
    assert_eq!((most[0].paid, most[0].paid_millisats), (6, 9_000_000_000_000_000_000));
}

/// By any of the keys, each once; page by page.
pub async fn payments_are_searched_from_the_last_by_key_and_time(store: &dyn FullStore) {
    let hash = |n: u8| Some(PaymentHash::from_bytes([n; 32]));
    for (n, reference, hash) in [(1, "a", hash(7)), (2, "b", hash(8)), (3, "a", hash(9)), (4, "\u{1F511}", None)] {
        let refund_of = (n == 4).then(|| id(2));
        let reference = Some(reference.to_owned());
        let record = PaymentRecord { reference, payment_hash: hash, refund_of, ..open_payment() };
        commit_done(store, at(10 * n, booked(record, create(id(n))))).await;
    }
    let found = async |search: &PaymentSearch, before: Option<u64>, limit: usize| -> Vec<u64> {
        let before = before.map(|n| (UnixMillis(n * 10_000), id(n)));
        let found = store.newest_payments(search, PaymentFilter::default(), before, limit).await.unwrap();
        found.iter().map(|payment| payment.created_at.0 / 10_000).collect()
    };
    let none = PaymentSearch::Keys { stream: None, hash: None, reference: "c".to_owned() };
    assert_eq!(found(&none, None, 9).await, Vec::<u64>::new());
    let same = PaymentSearch::Keys { stream: Some(id(1)), hash: hash(7), reference: "a".to_owned() };
    assert_eq!(found(&same, None, 9).await, [3, 1]);
    let each = PaymentSearch::Keys { stream: Some(id(4)), hash: hash(8), reference: "a".to_owned() };
    assert_eq!(found(&each, None, 9).await, [4, 3, 2, 1]);
    assert_eq!(found(&each, Some(4), 2).await, [3, 2]);
    assert_eq!(found(&each, Some(2), 2).await, [1]);
    let with_refunds = PaymentSearch::Keys { stream: Some(id(2)), hash: None, reference: "c".to_owned() };
    assert_eq!(found(&with_refunds, None, 9).await, [4, 2]);
    assert_eq!(found(&PaymentSearch::All, None, 9).await, [4, 3, 2, 1]);
    assert_eq!(found(&PaymentSearch::All, Some(3), 1).await, [2]);
    let between =
        PaymentFilter { from: Some(UnixMillis(20_000)), to: Some(UnixMillis(40_000)), ..PaymentFilter::default() };
    for (search, expected) in [(&PaymentSearch::All, vec![id(3), id(2)]), (&each, vec![id(3), id(2)])] {
        let streams = store.newest_payments(search, between, None, 9).await.unwrap();
        assert_eq!(streams.iter().map(|payment| payment.stream_id).collect::<Vec<_>>(), expected);
    }
    let paid = PaymentRecord { status: PaymentRecordStatus::Paid, payment_hash: hash(8), ..open_payment() };
    commit_done(store, booked(paid, step(id(2), 1))).await;
    let open = PaymentFilter { status: Some(PaymentRecordStatus::Open), ..between };
    for listed in [
        store.newest_payments(&PaymentSearch::All, open, None, 9).await.unwrap(),
        store.payment_records(open, None, 9).await.unwrap(),
    ] {
        assert_eq!(listed.iter().map(|payment| payment.stream_id).collect::<Vec<_>>(), [id(3)]);
    }
}

/// By when they were settled, whenever they were requested; open and unpaid ones are none.
pub async fn large_payments_are_found_by_the_time_of_their_settlement(store: &dyn FullStore) {
    let (paid, open) = (PaymentRecordStatus::Paid, PaymentRecordStatus::Open);
    let settled = |status, amount| PaymentRecord { status, settled: Some(amount), ..open_payment() };
    commit_done(store, at(10, booked(open_payment(), create(id(1))))).await;
    for (n, time, record) in [
        (2, 20, settled(paid, 5_000)),
        (3, 30, settled(paid, 5_001)),
        (4, 30, settled(PaymentRecordStatus::Unknown, 9_000)),
        (5, 40, settled(open, 9_000)),
        (6, 40, settled(paid, 6_000)),
    ] {
        commit_done(store, at(time, booked(record, create(id(n))))).await;
    }
    commit_done(store, at(50, booked(settled(paid, 7_000), step(id(1), 1)))).await;
    let found = async |above: u64, from: u64, limit: usize| -> Vec<StreamId> {
        let found = store.large_payments(above, UnixMillis::from_secs(from), limit).await.unwrap();
        found.iter().map(|payment| payment.stream_id).collect()
    };
    assert_eq!(found(5_000, 0, 9).await, [id(3), id(6), id(1)]);
    assert_eq!(found(5_000, 0, 2).await, [id(3), id(6)]);
    assert_eq!(found(5_000, 31, 9).await, [id(6), id(1)]);
    assert_eq!(found(u64::MAX, 0, 9).await, []);
}
