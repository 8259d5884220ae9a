//! Payment links: each payer gets an invoice of their own, and each payment is an event once, whatever happens in between.

use usher_testing::ports::preimage;

use crate::common::*;

pub(crate) fn coffee() -> PaymentLinkRequest {
    PaymentLinkRequest {
        amount: Some(5_000),
        min: None,
        max: None,
        currency: None,
        description: "Coffee".to_owned(),
        reference: Some("table-7".to_owned()),
        expires_at: None,
        max_payments: None,
        return_url: None,
    }
}

fn donation() -> PaymentLinkRequest {
    PaymentLinkRequest { amount: None, min: Some(1_000), max: Some(50_000), ..coffee() }
}

fn euros(request: PaymentLinkRequest) -> PaymentLinkRequest {
    PaymentLinkRequest { currency: CurrencyCode::parse("EUR").map(RequestedCurrency::Iso), ..request }
}

async fn create(usher: &Running, request: PaymentLinkRequest) -> PaymentLinkCreated {
    usher.engine.payment_links().create(&Requester::Service, request, None).await.unwrap()
}

fn secret(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

async fn press(usher: &Running, link: &PaymentLinkCreated, amount: Option<u64>) -> Result<StreamId, LinkError> {
    let links = usher.engine.payment_links();
    let pressed = links.pay(link.stream_id, secret(&link.page_url), amount, ClientNetwork::Loopback).await;
    pressed.map(|started| started.payment)
}

async fn ask(
    usher: &Running,
    link: &PaymentLinkCreated,
    millisats: u64,
    comment: Option<&str>,
) -> Result<LnurlInvoice, LinkError> {
    let links = usher.engine.payment_links();
    let network = ClientNetwork::Loopback;
    links.invoice(link.stream_id, secret(&link.lnurl_url), millisats, comment, None, network).await
}

async fn offered(usher: &Running, link: &PaymentLinkCreated) -> (u64, u64) {
    let offer = usher.engine.payment_links().offer(link.stream_id, secret(&link.lnurl_url), None).await.unwrap();
    (offer.least, offer.most)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_payers_are_two_events_across_a_restart() {
    let (usher, wallet) = Running::paying().await;
    let link = create(&usher, coffee()).await;
    assert!(wallet.made().is_empty(), "nobody has asked");
    let first = press(&usher, &link, None).await.unwrap();
    until("an invoice", async || usher.engine.watched_invoices() == 1).await;
    let second = press(&usher, &link, None).await.unwrap();
    until("an invoice", async || usher.engine.watched_invoices() == 2).await;
    wallet.settle(1);
    let paid = usher.passing(Duration::from_secs(1), usher.events(link.stream_id, 1)).await;
    assert_eq!(
        data_of(&paid[0]),
        json!({
            "status": "paid", "payment_id": second.to_string(), "preimage": preimage(1).to_hex(), "request_id": "table-7",
            "amount": 5_000, "currency": "millisats", "amount_millisats": 5_000,
        })
    );
    let usher = usher.restart(Duration::ZERO).await;
    wallet.settle(0);
    let paid = usher.passing(Duration::from_secs(1), usher.events(link.stream_id, 2)).await;
    assert_eq!(data_of(&paid[1])["payment_id"], json!(first.to_string()));
    // Of their own they have no events, and the books have both.
    for payment in [first, second] {
        // Known a moment after the link's event, although one commit wrote both.
        let is_done = async || {
            let page = usher.read(payment, 0).await;
            assert!(page.events.is_empty());
            page.done
        };
        usher.until(Duration::from_secs(1), "it is done", is_done).await;
    }
    let books = usher.engine.payments().list(&Requester::Service, PaymentFilter::default(), None, 10).await.unwrap();
    assert_eq!(books.items.len(), 2);
    let listed = usher.engine.payment_links().list(&Requester::Service, Order::Oldest, None, 10).await.unwrap();
    assert_eq!((listed.items.len(), listed.items[0].payments, listed.next), (1, 2, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_pays_leaves_nothing() {
    let (usher, _) = Running::paying().await;
    let link = create(&usher, coffee()).await;
    let payment = press(&usher, &link, None).await.unwrap();
    until("an invoice", async || usher.engine.watched_invoices() == 1).await;
    usher.until(Duration::from_secs(60), "it is forgotten", async || usher.engine.watched_invoices() == 0).await;
    usher
        .until(Duration::from_secs(1), "its row is gone", async || {
            usher.engine.events().read(ShownStream::to_service(payment), 0, 1).await.is_err()
        })
        .await;
    let books = usher.engine.payments().list(&Requester::Service, PaymentFilter::default(), None, 10).await.unwrap();
    assert!(books.items.is_empty());
    assert!(usher.read(link.stream_id, 0).await.events.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wallet_gets_an_invoice_with_the_hash_of_what_it_was_told() {
    let (usher, wallet) = Running::paying().await;
    let link = create(&usher, donation()).await;
    assert_eq!(offered(&usher, &link).await, (1_000, 50_000));
    let made = usher
        .passing(Duration::from_millis(10), ask(&usher, &link, 2_000, Some(" For\nthe <b>dog</b> ")))
        .await
        .unwrap();
    assert_eq!(made.invoice.amount(), Some(2_000));
    let hash = usher_testing::ports::hashed_invoice("[[\"text/plain\",\"Coffee\"]]", preimage(0), 1, 1, 1);
    assert_eq!(made.invoice.description_hash(), hash.description_hash());
    wallet.settle(0);
    let paid = usher.passing(Duration::from_secs(1), usher.events(link.stream_id, 1)).await;
    assert_eq!(data_of(&paid[0])["comment"], json!("For the <b>dog</b>"));
    for wrong in [0, 999, 50_001, u64::MAX] {
        assert!(matches!(ask(&usher, &link, wrong, None).await, Err(LinkError::Outside { .. } | LinkError::TooMuch)));
        assert!(matches!(press(&usher, &link, Some(wrong)).await, Err(LinkError::Outside { .. })), "{wrong}");
    }
    assert!(matches!(press(&usher, &link, None).await, Err(LinkError::Outside { .. })));
    for wrong in ["é".repeat(256), "a\u{7}b".to_owned(), "\u{85}".to_owned() + "x\0"] {
        assert!(matches!(ask(&usher, &link, 2_000, Some(&wrong)).await, Err(LinkError::Comment)));
    }
    assert_eq!(wallet.made().len(), 1);
    // A wallet that makes another invoice than was asked for.
    wallet.ignore_hashes();
    let longest = "é".repeat(255);
    let made =
        usher.passing(Duration::from_millis(10), ask(&usher, &link, 2_000, Some(&longest))).await.unwrap().invoice;
    assert_eq!((made.description(), made.description_hash()), (Some("test"), None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payer_does_not_wait_for_a_wallet_that_does_not_respond() {
    let (usher, wallet) = Running::paying().await;
    let link = create(&usher, coffee()).await;
    wallet.stall(true);
    let none = usher.passing(Duration::from_secs(1), ask(&usher, &link, 5_000, None)).await;
    assert!(matches!(none, Err(LinkError::NoInvoice)), "{none:?}");
    wallet.stall(false);
    // An invoice that was made too late is not shown, so it cannot be paid.
    usher.until(Duration::from_secs(1), "it ends", async || usher.engine.watched_invoices() == 0).await;
    let made = usher.passing(Duration::from_millis(10), ask(&usher, &link, 5_000, None)).await.unwrap();
    assert_eq!(made.invoice.amount(), Some(5_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prices_are_fixed_when_the_payer_asks_and_an_offer_holds_for_minutes() {
    let usher = Running::with(&[Part::Lightning, Part::Rates]).await;
    let (wallet, rates) = (usher.wallet.clone(), usher.rates.clone());
    rates.set("EUR", Some("62500"), NOW);
    let book = create(&usher, euros(PaymentLinkRequest { amount: Some(1_250), ..coffee() })).await;
    let gift = create(&usher, euros(PaymentLinkRequest { min: Some(100), max: Some(10_000), ..donation() })).await;
    assert_eq!(offered(&usher, &book).await, (20_000_000, 20_000_000));
    assert_eq!(offered(&usher, &gift).await, (1_600_000, 160_000_000));
    // The rate changes while the payer reads.
    rates.set("EUR", Some("50000"), NOW);
    assert_eq!(offered(&usher, &book).await, (25_000_000, 25_000_000));
    let quick = Duration::from_millis(10);
    for (millisats, rate) in [(20_000_000, "62500"), (25_000_000, "50000")] {
        let made = usher.passing(quick, ask(&usher, &book, millisats, None)).await.unwrap();
        assert_eq!(made.invoice.amount(), Some(millisats));
        wallet.settle(wallet.made().len() - 1);
        let events = usher.passing(Duration::from_secs(1), usher.events(book.stream_id, wallet.made().len())).await;
        let told = data_of(events.last().unwrap());
        assert_eq!((&told["amount"], &told["currency"]), (&json!(1_250), &json!("EUR")));
        assert_eq!((&told["amount_millisats"], &told["rate"]["value"]), (&json!(millisats), &json!(rate)));
    }
    assert!(matches!(ask(&usher, &book, 22_000_000, None).await, Err(LinkError::Outside { .. })));
    // An amount chosen in sats is reported in the currency, rounded down.
    usher.passing(quick, ask(&usher, &gift, 2_345_000, None)).await.unwrap();
    wallet.settle(2);
    let events = usher.passing(Duration::from_secs(1), usher.events(gift.stream_id, 1)).await;
    assert_eq!((&data_of(&events[0])["amount"], &data_of(&events[0])["currency"]), (&json!(117), &json!("EUR")));
    // On the page they choose in the currency.
    press(&usher, &gift, Some(100)).await.unwrap();
    until("an invoice", async || wallet.made().len() == 4).await;
    assert_eq!(wallet.made()[3].amount(), Some(2_000_000));
    assert!(matches!(press(&usher, &gift, Some(99)).await, Err(LinkError::Outside { .. })));
    // Without a rate, an offer of a moment ago holds, and nothing else is sold.
    rates.set("EUR", None, NOW);
    assert!(matches!(press(&usher, &book, None).await, Err(LinkError::NoRate(_))));
    let page = usher.engine.payment_links().page(book.stream_id, secret(&book.page_url)).await.unwrap().unwrap();
    assert_eq!(page.millisats, None);
    usher.passing(quick, ask(&usher, &book, 25_000_000, None)).await.unwrap();
    usher.clock.turn(Duration::from_secs(601));
    assert!(matches!(ask(&usher, &book, 25_000_000, None).await, Err(LinkError::NoRate(_))));
}
