//! The daily budget of the Lightning backend: the amount that was spent, or may have been spent, never exceeds it.

use crate::common::*;

/// Room for four payments of 5,000 with a fee of 1 percent.
fn limited() -> EngineOptions {
    let spending = SpendingRules { daily_budget: Some(20_200), max_fee_percent: 1, approval_above: None };
    EngineOptions { payments: PaymentRules { spending, ..options().payments }, ..options() }
}

async fn pay(usher: &Running, n: usize) -> Result<StreamId, StartError> {
    usher.engine.payments().pay(&Requester::Service, external_invoice(n), None).await
}

fn retry_after(result: Result<StreamId, StartError>) -> u64 {
    match result {
        Err(StartError::BudgetExhausted { retry_after, .. }) => retry_after,
        other => panic!("should have been refused: {other:?}"),
    }
}

/// There is room for four: three, and one invoice that twenty ask for at the same time; or any of twenty invoices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_payments_stay_within_the_budget_across_restarts() {
    for is_one_invoice in [true, false] {
        let (usher, wallet) = Running::paying_with(limited()).await;
        wallet.hang_pays(true);
        let before = if is_one_invoice { 3 } else { 0 };
        let mut started: Vec<_> = Vec::new();
        for n in 0..before {
            started.push((n, pay(&usher, n).await.unwrap()));
        }
        let starts: Vec<_> = (0..20)
            .map(|n| {
                let (engine, n) = (Arc::clone(&usher.engine), if is_one_invoice { before } else { n });
                tokio::spawn(
                    async move { (n, engine.payments().pay(&Requester::Service, external_invoice(n), None).await) },
                )
            })
            .collect();
        for start in starts {
            match start.await.unwrap() {
                (n, Ok(stream)) => started.push((n, stream)),
                (_, refused) => {
                    assert!(!is_one_invoice);
                    assert_eq!(retry_after(refused), 60, "a payment may end at any time");
                }
            }
        }
        started.dedup();
        assert_eq!(started.len(), 4);
        retry_after(pay(&usher, 30).await);
        stay_within_the_budget(usher, &wallet, started).await;
    }
}

async fn stay_within_the_budget(usher: Running, wallet: &FakeLightning, started: Vec<(usize, StreamId)>) {
    until("they are sent", async || wallet.sent().len() == 4).await;

    let usher = usher.restart(Duration::ZERO).await;
    retry_after(pay(&usher, 30).await);
    wallet.hang_pays(false);
    for (_, stream) in &started {
        assert_eq!(statuses(&usher, *stream, 1).await, ["paid"]);
    }

    // Finished payments count for a day and are read from the store after a restart. The invoice that is being paid is never
    // refused.
    let usher = usher.restart(Duration::ZERO).await;
    let wait = retry_after(pay(&usher, 30).await);
    assert!((DAY.as_secs() - 60..=DAY.as_secs()).contains(&wait), "{wait}");
    for (n, stream) in started {
        assert_eq!(pay(&usher, n).await.unwrap(), stream);
    }
    usher.clock.turn(DAY + Duration::from_secs(1));
    let later = NOW.plus(DAY + Duration::from_secs(1));
    let stream =
        usher.engine.payments().pay(&Requester::Service, external_invoice_of(31, 20_000, later), None).await.unwrap();
    assert_eq!(statuses(&usher, stream, 1).await, ["paid"]);
    assert_eq!(wallet.sent().len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invoice_over_the_budget_is_invalid_and_user_payments_use_no_budget() {
    let (usher, _) = Running::paying_with(limited()).await;
    match usher.engine.payments().pay(&Requester::Service, external_invoice_of(0, 20_001, NOW), None).await {
        Err(StartError::Invalid(errors)) => {
            let pointers: Vec<_> = errors.iter().map(|FieldError { pointer, .. }| pointer.as_str()).collect();
            assert_eq!(pointers, ["/invoice"]);
            assert!(errors[0].detail.contains("wallet.daily_budget_millisats (20200)"), "{}", errors[0].detail);
        }
        other => panic!("{other:?}"),
    }
    let by_user = PayInvoiceRequest { main_key: Some(user(1).public_key()), ..external_invoice_of(1, 20_001, NOW) };
    usher.engine.payments().pay(&Requester::Service, by_user, None).await.unwrap();
    for n in 2..6 {
        pay(&usher, n).await.unwrap();
    }
    retry_after(pay(&usher, 6).await);
}
