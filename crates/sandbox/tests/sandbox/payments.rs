//! Payments, subscriptions and invoices, of honest and dishonest users.

use usher_faults::lightning::InvoiceLie;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_faults::wallet::{FaultyWallet, false_messages};
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::calendar::Calendar;
use usher_protocol::kind;
use usher_protocol::message::{
    CloseSubscription, Currency, InvoiceRequest, InvoiceResponse, PaymentRequest, PaymentResponse, PaymentStatus,
    Preimage, Recurrence, RecurringRequest, RecurringStatus, ServiceMessage, WalletMessage,
};
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork};
use usher_sandbox::wallet::{
    Agreement, CalendarSpelling, Identity, PaymentSourceError, Policy, Request, RequestContent, Wallet, WalletError,
    WalletOptions,
};

use crate::raw_client::{LONG, QUIET};
use crate::scripted_service::Service;

struct Fixture {
    _relay: QuirkyRelay,
    service: Service,
    wallet: Wallet,
    shop: Account,
    user: Account,
}

impl Fixture {
    async fn set(policy: Policy) -> Self {
        let network = LightningNetwork::new();
        let (shop, user) = (network.open_account("shop", 0), network.open_account("user", 1_000_000));
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let mut service = Service::start(relay.url()).await;
        let options = WalletOptions::new(Identity::generate()).policy(policy).paying_from(&user);
        let wallet = Wallet::start(options).await;
        wallet.open(&service.url(), LONG).await.unwrap();
        service.next_handshake().await;
        Self { _relay: relay, service, wallet, shop, user }
    }

    fn invoice(&self, amount: u64) -> Invoice {
        self.shop.make_invoice(&InvoiceTerms::of(amount)).unwrap()
    }

    async fn ask(&mut self, message: &ServiceMessage) {
        let key = self.wallet.public_key();
        self.service.send(&key, &[key], message).await;
    }

    async fn ask_payment(&mut self, id: &str, invoice: &Invoice, subscription: Option<&str>) {
        self.ask(&payment(id, invoice.amount().unwrap(), invoice.as_str(), subscription)).await;
    }

    async fn request(&mut self) -> Request {
        self.wallet.next_request(LONG).await.unwrap()
    }

    async fn answer(&mut self) -> (u16, PaymentResponse) {
        next_answer(&mut self.service).await
    }

    async fn paid(&mut self) -> Preimage {
        assert_eq!(self.answer().await.1.status, PaymentStatus::Approved);
        match self.answer().await {
            (kind::PAYMENT_CONFIRMATION, PaymentResponse { status: PaymentStatus::Success { preimage }, .. }) => {
                preimage.unwrap()
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn next_answer(service: &mut Service) -> (u16, PaymentResponse) {
    match service.next().await {
        (event, WalletMessage::PaymentResponse(response) | WalletMessage::PaymentConfirmation(response)) => {
            (event.kind.as_u16(), response)
        }
        other => panic!("{other:?}"),
    }
}

fn soon() -> u64 {
    nostr::Timestamp::now().as_secs() + 300
}

pub(crate) fn payment(id: &str, amount: u64, invoice: &str, subscription: Option<&str>) -> ServiceMessage {
    ServiceMessage::PaymentRequest(PaymentRequest {
        amount,
        currency: Currency::Millisats,
        current_exchange_rate: None,
        invoice: invoice.to_owned(),
        auth_token: None,
        expires_at: soon(),
        subscription_id: subscription.map(str::to_owned),
        description: "tea".to_owned(),
        request_id: id.to_owned(),
    })
}

pub(crate) fn recurring(id: &str, amount: u64) -> ServiceMessage {
    ServiceMessage::RecurringRequest(RecurringRequest {
        amount,
        currency: Currency::Millisats,
        recurrence: Recurrence {
            until: None,
            calendar: Calendar::Monthly,
            max_payments: Some(12),
            first_payment_due: soon(),
        },
        current_exchange_rate: None,
        expires_at: soon(),
        auth_token: None,
        description: Some("tea every month".to_owned()),
        request_id: id.to_owned(),
    })
}

pub(crate) fn invoice_request(id: &str, amount: u64) -> ServiceMessage {
    ServiceMessage::InvoiceRequest(InvoiceRequest {
        request_id: id.to_owned(),
        amount,
        currency: Currency::Millisats,
        current_exchange_rate: None,
        expires_at: soon(),
        description: Some("é".repeat(400)),
        refund_invoice: None,
    })
}

#[tokio::test]
async fn payment_is_approved_paid_and_confirmed() {
    let mut fixture = Fixture::set(Policy::silent()).await;
    let invoice = fixture.invoice(10_000);
    fixture.ask_payment("p1", &invoice, None).await;
    let request = fixture.request().await;
    assert!(matches!(&request.content, RequestContent::Payment(asked) if asked.amount == 10_000));
    let fulfilled = fixture.wallet.fulfil(&request).await.unwrap();
    let preimage = fixture.paid().await;
    assert_eq!(preimage.payment_hash(), invoice.payment_hash());
    assert_eq!(fulfilled.paid.unwrap().preimage, preimage);
    assert_eq!((fixture.shop.balance(), fixture.user.balance()), (10_000, 989_990));

    // A repetition, by the service or by the user, repeats the reply and pays nothing.
    fixture.ask_payment("p1", &invoice, None).await;
    assert_eq!(fixture.answer().await.1.status, PaymentStatus::Success { preimage: Some(preimage) });
    fixture.wallet.fulfil(&request).await.unwrap();
    assert_eq!(fixture.paid().await, preimage);
    assert_eq!(fixture.user.executed(invoice.payment_hash()), 1);
}

#[tokio::test]
async fn automatic_payment_happens_once_per_invoice() {
    let mut fixture = Fixture::set(Policy::auto_approve()).await;
    let invoice = fixture.invoice(10_000);
    fixture.ask_payment("p1", &invoice, None).await;
    assert_eq!(fixture.paid().await.payment_hash(), invoice.payment_hash());
    // The same invoice in another request: it is paid already, and the reply says so.
    fixture.ask_payment("p2", &invoice, None).await;
    assert_eq!(fixture.paid().await.payment_hash(), invoice.payment_hash());
    assert_eq!((fixture.user.balance(), fixture.user.executed(invoice.payment_hash())), (989_990, 1));
}

#[tokio::test]
async fn rejection_failure_and_retry() {
    let mut fixture = Fixture::set(Policy::silent()).await;
    let invoice = fixture.invoice(1_000_000);
    fixture.ask_payment("dear", &invoice, None).await;
    let request = fixture.request().await;
    fixture.wallet.fail(&request, Some("no route")).unwrap();
    let (_, failed) = fixture.answer().await;
    assert_eq!(failed.status, PaymentStatus::Failed { reason: Some("no route".to_owned()) });
    // The fee is not there.
    let error = fixture.wallet.fulfil(&request).await.unwrap_err();
    assert!(matches!(error, WalletError::PaymentSource(PaymentSourceError::Refused(_))));
    assert_eq!(fixture.answer().await.1.status, PaymentStatus::Approved);
    assert!(matches!(fixture.answer().await.1.status, PaymentStatus::Failed { reason: Some(_) }));
    assert!(fixture.wallet.requests()[0].failed);
    fixture.user.grant(1_000_000);
    fixture.wallet.approve(&request).unwrap().unwrap();
    fixture.paid().await;
    assert!(!fixture.wallet.requests()[0].failed);

    fixture.ask_payment("no", &invoice, None).await;
    let request = fixture.request().await;
    fixture.wallet.decline(&request, Some("too dear")).unwrap();
    let (_, no) = fixture.answer().await;
    assert_eq!(no.status, PaymentStatus::Rejected { reason: Some("too dear".to_owned()) });
}

#[tokio::test]
async fn invalid_invoices_fail_the_payment() {
    let mut fixture = Fixture::set(Policy::auto_approve()).await;
    let expired = InvoiceTerms { created_at: Some(1_000_000), ..InvoiceTerms::of(7) };
    let expired = fixture.shop.make_invoice(&expired).unwrap();
    let foreign = InvoiceTerms { network: Network::Bitcoin, ..InvoiceTerms::of(7) };
    let foreign = fixture.shop.make_invoice(&foreign).unwrap();
    let other = fixture.invoice(8);
    for (id, text) in [("e", expired.as_str()), ("f", foreign.as_str()), ("o", other.as_str()), ("g", "lnbcrt1x")] {
        fixture.ask(&payment(id, 7, text, None)).await;
        assert_eq!(fixture.answer().await.1.status, PaymentStatus::Approved);
        assert!(matches!(fixture.answer().await.1.status, PaymentStatus::Failed { .. }), "{id}");
    }
    assert_eq!(fixture.user.balance(), 1_000_000);
    // One that leaves the amount to the payer is paid as asked.
    let open = fixture.shop.make_invoice(&InvoiceTerms::open()).unwrap();
    fixture.ask(&payment("open", 7, open.as_str(), None)).await;
    fixture.paid().await;
    assert_eq!(fixture.shop.balance(), 7);
}

#[tokio::test]
async fn payment_cannot_be_approved_without_an_account() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = Wallet::start(WalletOptions::new(Identity::generate())).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    let key = wallet.public_key();
    service.send(&key, &[key], &payment("p", 7, "lnbcrt1x", None)).await;
    let request = wallet.next_request(LONG).await.unwrap();
    assert!(matches!(wallet.approve(&request), Err(WalletError::NoPaymentSource)));
    assert!(matches!(wallet.fulfil(&request).await, Err(WalletError::NoPaymentSource)));
    service.receives_nothing().await;
}

#[tokio::test]
async fn false_payment_messages_can_be_sent() {
    let mut fixture = Fixture::set(Policy::silent()).await;
    let invoice = fixture.invoice(10_000);
    fixture.ask_payment("p", &invoice, None).await;
    let request = fixture.request().await;
    let from = request.from;

    // Success without paying, with no preimage and with a wrong one.
    fixture.wallet.send(from, &false_messages::claim_paid(&request, None)).unwrap();
    assert_eq!(fixture.answer().await.1.status, PaymentStatus::Success { preimage: None });
    let wrong = Preimage::from_bytes([7; 32]);
    fixture.wallet.send(from, &false_messages::claim_paid(&request, Some(wrong))).unwrap();
    assert_eq!(fixture.answer().await.1.status, PaymentStatus::Success { preimage: Some(wrong) });
    assert_eq!(fixture.shop.balance(), 0);
    // A third person's word.
    let thief = usher_protocol::Keys::generate();
    fixture.wallet.send_as(&thief, from, &false_messages::claim_paid(&request, None)).unwrap();
    assert_eq!(fixture.service.next_event().await.pubkey, thief.public_key());
    // Declined, but paid nevertheless without a message.
    fixture.wallet.decline(&request, None).unwrap();
    assert_eq!(fixture.answer().await.1.status, PaymentStatus::Rejected { reason: None });
    let paid = fixture.wallet.pay_without_response(&request).await.unwrap();
    assert_eq!((paid.payment_hash, fixture.shop.balance()), (invoice.payment_hash(), 10_000));
    fixture.service.receives_nothing().await;
    // Late: the account pays an expired invoice.
    let terms = InvoiceTerms { created_at: Some(1_000_000), ..InvoiceTerms::of(10_000) };
    let expired = fixture.shop.make_invoice(&terms).unwrap();
    assert!(fixture.user.pay(expired.as_str(), None).is_err());
    let account = fixture.wallet.payment_source().unwrap().account().unwrap();
    account.pay_late(expired.as_str(), None).unwrap();
    assert_eq!(fixture.shop.balance(), 20_000);
}

#[tokio::test]
async fn subscription_is_approved_paid_and_closed() {
    let mut fixture = Fixture::set(Policy::silent().paying_subscriptions()).await;
    fixture.ask(&recurring("r", 10_000)).await;
    let request = fixture.request().await;
    fixture.wallet.approve(&request).unwrap();
    let text = {
        let event = fixture.service.next_event().await;
        let conversation = usher_protocol::envelope::conversation_key(&fixture.service.keys, &event.pubkey).unwrap();
        usher_protocol::envelope::open(&conversation, &event).unwrap()
    };
    assert!(text.contains("\"*-*-01 00:00:00\""), "{text}");
    let WalletMessage::RecurringResponse(response) =
        WalletMessage::parse(kind::RECURRING_RESPONSE, None, &text).unwrap()
    else {
        panic!("{text}")
    };
    let RecurringStatus::Confirmed { subscription_id, authorized_amount, authorized_recurrence, .. } = response.status
    else {
        panic!("{text}")
    };
    assert_eq!((authorized_amount, authorized_recurrence.calendar), (10_000, Calendar::Monthly));
    let known = fixture.wallet.subscriptions();
    assert_eq!((known.len(), &known[0].id, known[0].payments), (1, &subscription_id, 0));

    // Said again, it is the same subscription.
    fixture.wallet.approve(&request).unwrap();
    let (_, WalletMessage::RecurringResponse(again)) = fixture.service.next().await else { panic!() };
    assert!(matches!(again.status, RecurringStatus::Confirmed { subscription_id: id, .. } if id == subscription_id));
    assert_eq!(fixture.wallet.subscriptions().len(), 1);

    // The agreed amount is paid; any other amount waits for the user.
    let (fair, dear) = (fixture.invoice(10_000), fixture.invoice(10_001));
    fixture.ask_payment("fair", &fair, Some(&subscription_id)).await;
    fixture.paid().await;
    assert_eq!(fixture.wallet.subscriptions()[0].payments, 1);
    fixture.ask_payment("fair", &fair, Some(&subscription_id)).await;
    assert!(matches!(fixture.answer().await.1.status, PaymentStatus::Success { .. }));
    fixture.ask_payment("dear", &dear, Some(&subscription_id)).await;
    fixture.ask_payment("unknown", &dear, Some("another")).await;
    fixture.ask_payment("single", &dear, None).await;
    fixture.service.receives_nothing().await;
    assert_eq!((fixture.shop.balance(), fixture.wallet.subscriptions()[0].payments), (10_000, 1));

    fixture.wallet.close(&subscription_id, Some("enough")).unwrap();
    let (_, message) = fixture.service.next().await;
    let reason = Some("enough".to_owned());
    let close = CloseSubscription { subscription_id: subscription_id.clone(), reason, by_service: false };
    assert_eq!(message, WalletMessage::CloseSubscription(close));
    let late = fixture.invoice(10_000);
    fixture.ask_payment("late", &late, Some(&subscription_id)).await;
    fixture.service.receives_nothing().await;
    assert!(matches!(fixture.wallet.close("another", None), Err(WalletError::NoSuchSubscription(_))));
}

#[tokio::test]
async fn subscription_terms_can_be_changed_or_rejected() {
    let mut fixture = Fixture::set(Policy::silent()).await;
    fixture.ask(&recurring("r", 10_000)).await;
    let request = fixture.request().await;
    let until = soon();
    let terms = Agreement {
        subscription_id: Some("mine".to_owned()),
        amount: Some(5_000),
        recurrence: Some(Recurrence {
            until: Some(until),
            calendar: Calendar::Weekly,
            max_payments: None,
            first_payment_due: until,
        }),
        spelling: CalendarSpelling::WithoutZeros,
        ..Agreement::default()
    };
    let agreed = fixture.wallet.agree(&request, &terms).unwrap().subscription.unwrap();
    assert_eq!((agreed.id.as_str(), agreed.amount), ("mine", 5_000));
    let (_, WalletMessage::RecurringResponse(response)) = fixture.service.next().await else { panic!() };
    let RecurringStatus::Confirmed { subscription_id, authorized_amount, authorized_recurrence, .. } = response.status
    else {
        panic!()
    };
    assert_eq!((subscription_id.as_str(), authorized_amount), ("mine", 5_000));
    assert_eq!((authorized_recurrence.calendar, authorized_recurrence.until), (Calendar::Weekly, Some(until)));

    fixture.ask(&recurring("no", 10_000)).await;
    let request = fixture.request().await;
    fixture.wallet.decline(&request, Some("no")).unwrap();
    let (_, WalletMessage::RecurringResponse(response)) = fixture.service.next().await else { panic!() };
    assert_eq!(response.status, RecurringStatus::Rejected { reason: Some("no".to_owned()) });
    assert_eq!(fixture.wallet.subscriptions().len(), 1);
}

#[tokio::test]
async fn service_can_close_only_its_own_subscriptions() {
    let mut fixture = Fixture::set(Policy::auto_approve()).await;
    let mut stranger = Service::start(fixture.service.url().relays[0].as_str()).await;
    fixture.ask(&recurring("r", 10_000)).await;
    let (_, WalletMessage::RecurringResponse(_)) = fixture.service.next().await else { panic!() };
    fixture.request().await;
    let id = fixture.wallet.subscriptions()[0].id.clone();
    let reason = Some("sold out".to_owned());
    let close = ServiceMessage::CloseSubscription(CloseSubscription {
        subscription_id: id.clone(),
        reason: reason.clone(),
        by_service: true,
    });
    let key = fixture.wallet.public_key();
    stranger.send(&key, &[key], &close).await;
    assert!(matches!(fixture.request().await.content, RequestContent::Closed(_)));
    assert!(fixture.wallet.subscriptions()[0].is_open());
    fixture.ask(&close).await;
    let request = fixture.request().await;
    assert_eq!((request.id.as_str(), request.content.title()), (id.as_str(), "closed subscription"));
    let closed = fixture.wallet.subscriptions()[0].closed.clone().unwrap();
    assert_eq!((closed.by_service, closed.reason), (true, reason));
    assert!(fixture.wallet.next_request(QUIET).await.is_err());
}

#[tokio::test]
async fn true_and_false_invoices_can_be_sent() {
    let mut fixture = Fixture::set(Policy::silent()).await;
    fixture.ask(&invoice_request("i", 21_000)).await;
    let request = fixture.request().await;
    let made = fixture.wallet.fulfil(&request).await.unwrap().invoice.unwrap();
    let response = next_invoice(&mut fixture.service).await;
    let invoice: Invoice = response.invoice.parse().unwrap();
    assert_eq!((&invoice, invoice.amount()), (&made, Some(21_000)));
    assert_eq!(response.payment_hash, Some(invoice.payment_hash()));
    assert_eq!(response.request.inner.request_id, "i");
    let key = fixture.wallet.public_key();
    assert_eq!((response.request.main_key, response.request.recipient), (key, key));
    // Of the description as much as fits.
    assert_eq!(invoice.description().unwrap(), "é".repeat(319));
    fixture.shop.grant(100_000);
    fixture.shop.pay(invoice.as_str(), None).unwrap();
    assert_eq!(fixture.user.balance(), 1_021_000);

    let now = nostr::Timestamp::now().as_secs();
    for lie in [InvoiceLie::LessAmount, InvoiceLie::MoreAmount, InvoiceLie::NoAmount, InvoiceLie::OtherNetwork] {
        fixture.wallet.send_false_invoice(&request, lie).unwrap();
        let invoice: Invoice = next_invoice(&mut fixture.service).await.invoice.parse().unwrap();
        assert!(invoice.amount() != Some(21_000) || invoice.network() == Network::Bitcoin, "{lie:?}");
    }
    fixture.wallet.send_false_invoice(&request, InvoiceLie::Expired).unwrap();
    let expired: Invoice = next_invoice(&mut fixture.service).await.invoice.parse().unwrap();
    assert!(expired.is_expired(now));
    fixture.wallet.send_false_invoice(&request, InvoiceLie::OtherHash).unwrap();
    let other = next_invoice(&mut fixture.service).await;
    assert_ne!(other.payment_hash, Some(other.invoice.parse::<Invoice>().unwrap().payment_hash()));
    fixture.wallet.send_false_invoice(&request, InvoiceLie::Garbage).unwrap();
    assert!(next_invoice(&mut fixture.service).await.invoice.parse::<Invoice>().is_err());
    // There is no word for no.
    assert!(matches!(fixture.wallet.decline(&request, None), Err(WalletError::CannotAnswer(kind::INVOICE_REQUEST))));
    // By itself.
    fixture.wallet.set_policy(Policy::auto_approve());
    fixture.ask(&invoice_request("j", 5)).await;
    assert_eq!(next_invoice(&mut fixture.service).await.request.inner.request_id, "j");
}

pub(crate) async fn next_invoice(service: &mut Service) -> InvoiceResponse {
    match service.next().await {
        (_, WalletMessage::InvoiceResponse(response)) => response,
        other => panic!("{other:?}"),
    }
}
