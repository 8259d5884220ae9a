//! Further invoices of a payment whose invoice has expired: one at a time, also across a restart, and none is lost.

use usher_engine::operations::PaymentProgress;
use usher_testing::ports::preimage;

use crate::common::*;

struct Page {
    id: StreamId,
    secret: String,
}

impl Page {
    /// Of a payment that has expired.
    async fn expired(usher: &Running, request: SinglePaymentRequest) -> Self {
        let id = usher.request_payment(request).await;
        let url = usher.engine.payments().page_url(id);
        let page = Self { id, secret: url.rsplit('/').next().unwrap().to_owned() };
        until("its invoice is made", async || usher.engine.watched_invoices() == 1).await;
        usher.clock.turn(Duration::from_secs(60));
        assert_eq!(statuses(usher, id, 1).await, ["timeout"]);
        assert!(page.view(usher).await.is_renewable);
        page
    }

    async fn view(&self, usher: &Running) -> PaymentView {
        usher.engine.payments().page(self.id, &self.secret).await.unwrap().unwrap()
    }

    async fn press(&self, usher: &Running) -> Result<(), LinkError> {
        usher.engine.payments().renew(self.id, &self.secret, ClientNetwork::Loopback).await
    }

    /// The invoice on the page, once there is one.
    async fn invoice(&self, usher: &Running) -> String {
        until("an invoice", async || self.view(usher).await.invoice).await
    }

    async fn record(&self, usher: &Running) -> PaymentRecord {
        usher.engine.payments().booked(&Requester::Service, self.id).await.unwrap().unwrap().record
    }
}

fn coffee() -> SinglePaymentRequest {
    payment(None, 60)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_invoice_at_a_time_across_restarts_and_each_is_counted() {
    let (usher, wallet) = Running::paying().await;
    let page = Page::expired(&usher, coffee()).await;
    let pressed = tokio::join!(page.press(&usher), page.press(&usher), page.press(&usher));
    assert!(matches!(pressed, (Ok(()), Ok(()), Ok(()))), "{pressed:?}");
    let invoice = page.invoice(&usher).await;
    assert_eq!((wallet.made().len(), invoice.as_str()), (2, wallet.made()[1].as_str()));
    let usher = usher.restart(Duration::from_secs(10)).await;
    page.press(&usher).await.unwrap();
    assert_eq!(page.invoice(&usher).await, invoice);
    // It expires too; the third one is paid, and so are the others.
    usher.clock.turn(Duration::from_secs(900));
    usher.until(Duration::from_secs(1), "it has expired", async || page.view(&usher).await.is_renewable).await;
    page.press(&usher).await.unwrap();
    page.invoice(&usher).await;
    assert_eq!(wallet.made().len(), 3);
    // The page may show it a moment earlier.
    let all_watched = async || usher.engine.watched_invoices() == 3;
    usher.until(Duration::from_millis(1), "all are watched", all_watched).await;
    wallet.settle(2);
    let events = usher.passing(Duration::from_secs(1), usher.events(page.id, 2)).await;
    assert_eq!(data_of(&events[1])["preimage"], json!(preimage(2).to_hex()));
    let usher = usher.restart(Duration::ZERO).await;
    wallet.settle(0);
    wallet.settle(1);
    let is_over = async || usher.engine.watched_invoices() == 0;
    usher.until(Duration::from_secs(30), "the others are counted", is_over).await;
    let record = page.record(&usher).await;
    assert_eq!((record.amount, record.settled), (5_000, Some(15_000)));
    assert_eq!(record.payment_hash, Some(preimage(2).payment_hash()));
    assert_eq!(statuses(&usher, page.id, 2).await, ["timeout", "paid"], "once");
    assert_eq!(page.view(&usher).await.progress, PaymentProgress::Paid);
    let list = usher.engine.payments().list(&Requester::Service, PaymentFilter::default(), None, 10).await.unwrap();
    assert_eq!(list.items.len(), 1, "the books have the payment once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_invoices_paid_at_the_same_moment_are_one_payment_and_a_surplus() {
    let (usher, wallet) = Running::paying().await;
    let page = Page::expired(&usher, coffee()).await;
    page.press(&usher).await.unwrap();
    page.invoice(&usher).await;
    wallet.settle(0);
    wallet.settle(1);
    let is_over = async || usher.engine.watched_invoices() == 0;
    usher.until(Duration::from_secs(1), "both are counted", is_over).await;
    assert_eq!(statuses(&usher, page.id, 2).await, ["timeout", "paid"]);
    assert_eq!(page.record(&usher).await.settled, Some(10_000));
    let refund = RefundRequest { amount: None, currency: None, expires_at: None, reference: None };
    let refund = usher.engine.payments().refund(&Requester::Service, page.id, refund, None).await.unwrap();
    let refund = usher.engine.payments().booked(&Requester::Service, refund).await.unwrap().unwrap();
    assert_eq!(refund.record.amount, 10_000, "what came on top can be refunded");
}

/// A wallet may take the payment of the service's own paid invoice for a payment by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_invoice_that_brought_the_surplus_is_not_paid_by_the_service() {
    let (usher, wallet) = Running::paying().await;
    let page = Page::expired(&usher, coffee()).await;
    page.press(&usher).await.unwrap();
    let second = page.invoice(&usher).await;
    let request = RefundRequest { amount: Some(5_000), currency: None, expires_at: None, reference: None };
    let payments = usher.engine.payments();
    for n in 0..2 {
        wallet.settle(n);
        let is_counted = async || page.record(&usher).await.settled >= Some(5_000 * (n as u64 + 1));
        usher.until(Duration::from_secs(1), "it is counted", is_counted).await;
        let refund = payments.refund(&Requester::Service, page.id, request.clone(), None).await.unwrap();
        let url = payments.refund_page_url(refund);
        let secret = url.rsplit('/').next().unwrap();
        let named = payments.refund_to(refund, secret, &second, ClientNetwork::Loopback).await;
        assert!(matches!(named, Err(RefundInvoiceError::Fault(RefundInvoiceFault::Paid))), "{named:?}");
        let pay = PayInvoiceRequest { invoice: second.parse().unwrap(), ..external_invoice(9) };
        let paid = payments.pay(&Requester::Service, pay, None).await;
        assert!(matches!(paid, Err(StartError::Invalid(_))), "{paid:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_says_when_no_further_invoice_could_be_made_which_does_not_count() {
    let (usher, wallet) = Running::paying().await;
    let page = Page::expired(&usher, coffee()).await;
    wallet.hand_out_again(Some(0));
    for _ in 0..11 {
        page.press(&usher).await.unwrap();
        until("it was not made", async || page.view(&usher).await.has_renewal_failed).await;
        assert!(page.view(&usher).await.is_renewable);
    }
    wallet.hand_out_again(None);
    page.press(&usher).await.unwrap();
    page.invoice(&usher).await;
    assert!(!page.view(&usher).await.has_renewal_failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_price_in_a_currency_is_converted_again() {
    paid_at_two_rates(1, 25_000_000, "50000").await;
    paid_at_two_rates(0, 20_000_000, "62500").await;
}

async fn paid_at_two_rates(first: usize, price: u64, rate: &str) {
    let usher = Running::with(&[Part::Lightning, Part::Rates]).await;
    let (wallet, rates) = (usher.wallet.clone(), usher.rates.clone());
    rates.set("EUR", Some("62500"), NOW);
    let currency = RequestedCurrency::Iso(CurrencyCode::parse("EUR").unwrap());
    let page = Page::expired(&usher, SinglePaymentRequest { amount: 1_250, currency, ..coffee() }).await;
    rates.set("EUR", None, NOW);
    assert!(matches!(page.press(&usher).await, Err(LinkError::NoRate(_))));
    rates.set("EUR", Some("50000"), NOW);
    page.press(&usher).await.unwrap();
    page.invoice(&usher).await;
    assert_eq!((page.view(&usher).await.amount, wallet.made()[1].amount()), (25_000_000, Some(25_000_000)));
    // The first one can still be paid, at its own rate; what the other brings is a surplus.
    wallet.settle(first);
    let events = usher.passing(Duration::from_secs(1), usher.events(page.id, 2)).await;
    let told = data_of(&events[1]);
    assert_eq!((&told["amount"], &told["amount_millisats"]), (&json!(1_250), &json!(price)));
    assert_eq!(told["rate"]["value"], rate);
    wallet.settle(1 - first);
    let is_over = async || usher.engine.watched_invoices() == 0;
    usher.until(Duration::from_secs(1), "both are counted", is_over).await;
    let record = page.record(&usher).await;
    assert_eq!((record.amount, record.settled), (price, Some(45_000_000)));
    assert!(record.price.unwrap().contains(rate));
    assert_eq!(statuses(&usher, page.id, 2).await, ["timeout", "paid"]);
}
