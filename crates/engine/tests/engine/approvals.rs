//! Payments that wait for an approval: the backend gets no request before it, and there is one decision, also among
//! concurrent ones.

use crate::common::*;

const APP: Option<Origin> = Some(Origin(1));
const APPROVER: Option<Origin> = Some(Origin(2));

/// Payments of 5,000 with a fee of 50 wait, and there is room for four.
fn limited(above: Option<u64>) -> EngineOptions {
    let spending = SpendingRules { daily_budget: Some(20_200), max_fee_percent: 1, approval_above: above };
    EngineOptions { payments: PaymentRules { spending, ..options().payments }, ..options() }
}

async fn pay_at(engine: &Engine, origin: Option<Origin>, n: usize, now: UnixMillis) -> Result<StreamId, StartError> {
    let requester = origin.map_or(Requester::Service, |Origin(origin)| api_key(origin, |_| {}));
    engine.payments().pay(&requester, external_invoice_of(n, 5_000, now), None).await
}

async fn pay(usher: &Running, n: usize) -> StreamId {
    pay_at(&usher.engine, APP, n, NOW).await.unwrap()
}

async fn waiting(usher: &Running) -> Vec<StreamId> {
    let (waiting, next) = usher.engine.payments().waiting_for_approval(&Requester::Service, None, 1_000).await.unwrap();
    assert_eq!(next, None);
    assert_eq!(usher.engine.payments().waiting_for_approval_count(), waiting.len());
    waiting.into_iter().map(|payment| payment.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_asked_of_the_backend_before_somebody_else_approves() {
    let (usher, wallet) = Running::paying_with(limited(Some(5_049))).await;
    let payments = usher.engine.payments();
    let stream = pay(&usher, 0).await;
    assert_eq!(statuses(&usher, stream, 1).await, ["approval_required"]);
    assert_eq!(pay(&usher, 0).await, stream, "the same invoice is the same payment");
    let other = api_key(3, |terms| terms.own_streams_only = true);
    let refused = payments.pay(&other, external_invoice(0), None).await.unwrap_err();
    assert!(format!("{refused:?}").contains("for another client"), "it does not learn the stream: {refused:?}");

    let (listed, _) = payments.waiting_for_approval(&Requester::Service, None, 10).await.unwrap();
    let [payment] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((payment.id, payment.amount, payment.max_fee, payment.requested_by), (stream, 5_000, 50, APP));
    assert_eq!(payment.expires_at, NOW.plus(Duration::from_secs(3590)));
    assert!(matches!(&payment.purpose, PaymentPurpose::Invoice { payee, .. } if payee.len() == 66), "{payment:?}");
    assert_eq!(payments.waiting_for_approval(&Requester::Service, None, 1).await.unwrap().1, Some(stream));
    assert_eq!(payments.waiting_for_approval(&Requester::Service, Some(stream), 1).await.unwrap(), (Vec::new(), None));

    let own = payments.decide(&Requester::Service, stream, Decision::Approve, APP).await;
    assert!(matches!(own, Err(DecideError::OwnRequest)), "{own:?}");
    usher.clock.turn(Duration::from_secs(1_800));
    assert_eq!(wallet.sent().len(), 0);
    payments.decide(&Requester::Service, stream, Decision::Approve, APPROVER).await.unwrap();
    assert_eq!(statuses(&usher, stream, 2).await, ["approval_required", "paid"]);
    for decision in [Decision::Approve, Decision::Decline] {
        let again = payments.decide(&Requester::Service, stream, decision, APPROVER).await;
        assert!(matches!(again, Err(DecideError::NotFound)), "{again:?}");
    }
    assert_eq!((wallet.sent().len(), waiting(&usher).await), (1, Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asked_may_decline_and_the_share_of_the_budget_is_free_again() {
    let (usher, wallet) = Running::paying_with(limited(Some(0))).await;
    let mut streams = Vec::new();
    for n in 0..4 {
        streams.push(pay(&usher, n).await);
    }
    let refused = pay_at(&usher.engine, APP, 4, NOW).await;
    assert!(matches!(refused, Err(StartError::BudgetExhausted { retry_after: 60, .. })), "{refused:?}");
    usher.engine.payments().decide(&Requester::Service, streams[0], Decision::Decline, APP).await.unwrap();
    let page = usher.read(streams[0], 0).await;
    assert_eq!(data(&page, 1)["outcome"], "not_paid");
    // The same invoice is decided; another one is another payment.
    assert_eq!(pay(&usher, 0).await, streams[0]);
    let again = pay(&usher, 5).await;

    // Nobody approves the others in time.
    usher.clock.turn(Duration::from_secs(3600));
    for stream in streams.iter().skip(1).chain([&again]) {
        assert_eq!(statuses(&usher, *stream, 2).await, ["approval_required", "error"]);
        let late = usher.engine.payments().decide(&Requester::Service, *stream, Decision::Approve, APPROVER).await;
        assert!(matches!(late, Err(DecideError::NotFound)), "{late:?}");
    }
    let later = NOW.plus(Duration::from_secs(3600));
    for n in 10..14 {
        pay_at(&usher.engine, APP, n, later).await.unwrap();
    }
    assert_eq!((wallet.sent().len(), waiting(&usher).await.len()), (0, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_survives_restarts_and_a_change_of_the_limit() {
    let (usher, wallet) = Running::paying_with(limited(Some(0))).await;
    let mut streams = Vec::new();
    for n in 0..3 {
        streams.push(pay(&usher, n).await);
    }
    let usher = World { options: limited(None), ..usher.end().await }.start(NOW).await;
    // Ids of one millisecond are in any order.
    let (first, others, mut known) = (streams[0], streams[1..].to_vec(), streams);
    known.sort();
    assert_eq!(waiting(&usher).await, known);
    assert_eq!(pay(&usher, 0).await, first);
    let unlimited = pay(&usher, 3).await;
    assert_eq!(statuses(&usher, unlimited, 1).await, ["paid"]);
    let refused = pay_at(&usher.engine, APP, 4, NOW).await;
    assert!(matches!(refused, Err(StartError::BudgetExhausted { .. })), "{refused:?}");
    usher.engine.payments().decide(&Requester::Service, first, Decision::Approve, APPROVER).await.unwrap();
    assert_eq!(statuses(&usher, first, 2).await, ["approval_required", "paid"]);

    // Its time ends while the service is away.
    let usher = usher.restart(DAY).await;
    for stream in others {
        assert_eq!(statuses(&usher, stream, 2).await, ["approval_required", "error"]);
    }
    until("nothing waits", async || usher.engine.payments().waiting_for_approval_count() == 0).await;
    assert_eq!(wallet.sent().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_and_keys_approve_each_others_payments() {
    let (usher, _) = Running::paying_with(limited(Some(0))).await;
    let payments = usher.engine.payments();
    let operator = Some(usher_engine::access::operator_id(&user(9).public_key()).origin());
    for (n, (requested_by, by, is_allowed)) in [
        (None, None, false),
        (None, APPROVER, true),
        (None, operator, true),
        (APP, APP, false),
        (APP, None, true),
        (APP, operator, true),
    ]
    .into_iter()
    .enumerate()
    {
        let stream = pay_at(&usher.engine, requested_by, n, NOW).await.unwrap();
        let decided = payments.decide(&Requester::Service, stream, Decision::Approve, by).await;
        match decided {
            Ok(()) => assert!(is_allowed, "{requested_by:?} {by:?}"),
            Err(DecideError::OwnRequest) => assert!(!is_allowed, "{requested_by:?} {by:?}"),
            Err(failure) => panic!("{failure:?}"),
        }
        if !is_allowed {
            payments.decide(&Requester::Service, stream, Decision::Decline, by).await.unwrap();
        }
        statuses(&usher, stream, 2).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_decisions_at_once_one_counts() {
    let (usher, wallet) = Running::paying_with(limited(Some(0))).await;
    let stream = pay(&usher, 0).await;
    let mut decisions = tokio::task::JoinSet::new();
    for n in 0..60 {
        let engine = Arc::clone(&usher.engine);
        decisions.spawn(async move {
            let decision = if n % 10 == 3 { Decision::Decline } else { Decision::Approve };
            let decided = engine.payments().decide(&Requester::Service, stream, decision, Some(Origin(100 + n))).await;
            decided.map(|()| decision)
        });
    }
    let (counted, refused): (Vec<_>, Vec<_>) = decisions.join_all().await.into_iter().partition(Result::is_ok);
    assert!(refused.iter().all(|refused| matches!(refused, Err(DecideError::NotFound))), "{refused:?}");
    let [Ok(decision)] = &counted[..] else { panic!("{counted:?}") };
    let is_approved = *decision == Decision::Approve;
    assert_eq!(statuses(&usher, stream, 2).await[1], if is_approved { "paid" } else { "error" });
    assert_eq!(wallet.sent().len(), usize::from(is_approved));
}
