//! The ledger of the Lightning network: no money is lost, created or paid twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use usher_faults::lightning::{InvoiceLie, false_invoice};
use usher_protocol::bolt11::{Invoice, Network};
use usher_sandbox::clock::UnixClock;
use usher_sandbox::lightning::{
    Direction, Fees, InvoiceTerms, LightningNetwork, MakeError, NetworkFileError, PayError, State,
};

/// A network whose clock is turned by hand.
fn network() -> (LightningNetwork, Arc<AtomicU64>) {
    let time = Arc::new(AtomicU64::new(1_700_000_000));
    let clock = Arc::clone(&time);
    (LightningNetwork::with_clock(UnixClock(Arc::new(move || clock.load(Ordering::SeqCst)))), time)
}

/// What may happen.
#[derive(Clone, Debug)]
enum Step {
    Make { by: usize, amount: Option<u64>, expiry: u64 },
    Pay { by: usize, which: usize, amount: Option<u64> },
    PayLate { by: usize, which: usize },
    Begin { by: usize, which: usize },
    Settle { by: usize, which: usize },
    Fail { by: usize, which: usize },
    Cancel { by: usize, which: usize },
    Grant { to: usize, amount: u64 },
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0usize..3;
    let which = 0usize..12;
    prop_oneof![
        4 => (who.clone(), prop::option::of(0u64..2_000), 0u64..100)
            .prop_map(|(by, amount, expiry)| Step::Make { by, amount, expiry }),
        6 => (who.clone(), which.clone(), prop::option::of(0u64..2_000))
            .prop_map(|(by, which, amount)| Step::Pay { by, which, amount }),
        1 => (who.clone(), which.clone()).prop_map(|(by, which)| Step::PayLate { by, which }),
        3 => (who.clone(), which.clone()).prop_map(|(by, which)| Step::Begin { by, which }),
        3 => (who.clone(), which.clone()).prop_map(|(by, which)| Step::Settle { by, which }),
        2 => (who.clone(), which.clone()).prop_map(|(by, which)| Step::Fail { by, which }),
        1 => (who.clone(), which).prop_map(|(by, which)| Step::Cancel { by, which }),
        1 => (who, 0u64..u64::MAX / 4).prop_map(|(to, amount)| Step::Grant { to, amount }),
        1 => (0u64..60).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn random_histories_keep_the_ledger_balanced(steps in prop::collection::vec(step(), 1..60), base in 0u64..5) {
        let (network, time) = network();
        network.set_fees(Fees { base, per_million: 10_000 });
        let accounts: Vec<_> = ["a", "b", "c"].into_iter().map(|name| network.open_account(name, 5_000)).collect();
        let mut invoices: Vec<Invoice> = Vec::new();
        let mut settled = 0;
        for step in steps {
            let before: Vec<u64> = accounts.iter().map(|account| account.balance()).collect();
            let mut refused = false;
            match step {
                Step::Make { by, amount, expiry } => {
                    let terms = InvoiceTerms { amount, ..InvoiceTerms::open() }.for_seconds(expiry);
                    match accounts[by].make_invoice(&terms) {
                        Ok(invoice) => invoices.push(invoice),
                        Err(error) => prop_assert_eq!((error, amount), (MakeError::ZeroAmount, Some(0))),
                    }
                }
                Step::Grant { to, amount } => { accounts[to].grant(amount); }
                Step::Wait(seconds) => { time.fetch_add(seconds, Ordering::SeqCst); }
                Step::Pay { by, which, amount } => if let Some(invoice) = invoices.get(which) {
                    let now = network.now();
                    match accounts[by].pay(invoice.as_str(), amount) {
                        Ok(paid) => {
                            settled += 1;
                            prop_assert_eq!(paid.preimage.payment_hash(), invoice.payment_hash());
                            prop_assert_eq!(Some(paid.amount), invoice.amount().or(amount));
                            prop_assert!(!invoice.is_expired(now));
                        }
                        Err(_) => refused = true,
                    }
                },
                Step::PayLate { by, which } => if let Some(invoice) = invoices.get(which) {
                    match accounts[by].pay_late(invoice.as_str(), None) {
                        Ok(_) => settled += 1,
                        Err(_) => refused = true,
                    }
                },
                Step::Begin { by, which } => if let Some(invoice) = invoices.get(which) {
                    refused = accounts[by].begin(invoice.as_str(), None).is_err();
                },
                Step::Settle { by, which } => if let Some(invoice) = invoices.get(which) {
                    match accounts[by].settle(invoice.payment_hash()) {
                        Ok(_) => settled += 1,
                        Err(_) => refused = true,
                    }
                },
                Step::Fail { by, which } => if let Some(invoice) = invoices.get(which) {
                    refused = accounts[by].fail(invoice.payment_hash()).is_err();
                },
                Step::Cancel { by, which } => if let Some(invoice) = invoices.get(which) {
                    accounts[by].cancel_invoice(invoice.payment_hash());
                },
            }
            if refused {
                let after: Vec<u64> = accounts.iter().map(|account| account.balance()).collect();
                prop_assert_eq!(after, before, "what is refused moves nothing");
            }
            prop_assert!(network.totals().add_up(), "{:?}", network.totals());
        }
        let executed: Vec<u32> = invoices.iter().map(|invoice| network.executed(invoice.payment_hash())).collect();
        prop_assert!(executed.iter().all(|times| *times <= 1));
        prop_assert_eq!(executed.iter().sum::<u32>(), settled);
        for account in &accounts {
            for known in account.transactions() {
                let paid = network.executed(known.invoice.payment_hash()) == 1;
                prop_assert!(known.state != State::Settled || paid);
                prop_assert!(known.direction == Direction::Outgoing || (known.state == State::Settled) == paid);
            }
        }
    }
}

#[test]
fn concurrent_payers_pay_an_invoice_once() {
    let network = LightningNetwork::new();
    let shop = network.open_account("shop", 0);
    let payers: Vec<_> = (0..16).map(|n| network.open_account(&format!("payer {n}"), 10_000)).collect();
    let invoices: Vec<Invoice> = (0..20).map(|_| shop.make_invoice(&InvoiceTerms::of(1_000)).unwrap()).collect();
    let paid: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = payers
            .iter()
            .map(|payer| {
                let invoices = &invoices;
                scope.spawn(move || invoices.iter().filter(|i| payer.pay(i.as_str(), None).is_ok()).count())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((paid, shop.balance()), (20, 20_000));
    assert!(invoices.iter().all(|invoice| network.executed(invoice.payment_hash()) == 1));
    assert!(network.totals().add_up());
    assert_eq!(network.totals().fees, 20);
}

#[test]
fn every_refusal_has_its_reason() {
    let (network, time) = network();
    let (shop, user) = (network.open_account("shop", 0), network.open_account("user", 10_010));
    let invoice = shop.make_invoice(&InvoiceTerms::of(10_000).for_seconds(60)).unwrap();
    let text = invoice.as_str();
    assert_eq!(user.pay(text, Some(9_999)), Err(PayError::OtherAmount));
    assert_eq!(network.open_account("poor", 10_009).pay(text, None), Err(PayError::InsufficientBalance));
    assert!(matches!(user.pay("lnbcrt1x", None), Err(PayError::NotAnInvoice(_))));
    let stranger = LightningNetwork::new().open_account("x", 0).make_invoice(&InvoiceTerms::of(1)).unwrap();
    assert_eq!(user.pay(stranger.as_str(), None), Err(PayError::NoRoute));
    let other = InvoiceTerms { network: Network::Signet, ..InvoiceTerms::of(1) };
    assert_eq!(user.pay(shop.make_invoice(&other).unwrap().as_str(), None), Err(PayError::OtherNetwork));
    let open = shop.make_invoice(&InvoiceTerms::open()).unwrap();
    assert_eq!(user.pay(open.as_str(), None), Err(PayError::AmountMissing));
    assert_eq!(user.pay(open.as_str(), Some(0)), Err(PayError::AmountMissing));
    assert_eq!(user.pay(open.as_str(), Some(u64::MAX)), Err(PayError::InsufficientBalance));

    let hash = user.begin(text, None).unwrap();
    assert_eq!((user.balance(), network.totals().in_flight), (0, 10_010));
    assert_eq!(network.open_account("rich", 100_000).pay(text, None), Err(PayError::InFlight));
    assert_eq!(user.outgoing(hash).unwrap().state, State::Pending);
    user.fail(hash).unwrap();
    assert_eq!((user.balance(), user.outgoing(hash).unwrap().state), (10_010, State::Failed));
    assert_eq!(user.settle(hash), Err(PayError::NoSuchPayment));
    time.fetch_add(60, Ordering::SeqCst);
    assert_eq!(user.pay(text, None), Err(PayError::Expired));
    assert_eq!(shop.incoming(hash).unwrap().state, State::Expired);
    user.pay_late(text, None).unwrap();
    assert_eq!(user.pay_late(text, None), Err(PayError::AlreadyPaid));
    assert_eq!(shop.incoming(hash).unwrap().state, State::Settled);
    assert!(shop.cancel_invoice(open.payment_hash()) && !shop.cancel_invoice(hash));
    assert_eq!(network.account("rich").unwrap().pay(open.as_str(), Some(1)), Err(PayError::Cancelled));
    assert!(network.account("nobody").is_none());
}

#[test]
fn invalid_invoice_terms_are_refused() {
    let shop = LightningNetwork::new().open_account("shop", 0);
    let made = |terms: InvoiceTerms| shop.make_invoice(&terms).map(|invoice| invoice.amount());
    assert_eq!(made(InvoiceTerms::of(0)), Err(MakeError::ZeroAmount));
    assert_eq!(made(InvoiceTerms::of(u64::MAX)), Err(MakeError::AmountTooLarge));
    assert_eq!(made(InvoiceTerms::of(1).described("x".repeat(640))), Err(MakeError::DescriptionTooLong));
    assert_eq!(made(InvoiceTerms::of(1).described("x".repeat(639))), Ok(Some(1)));
    assert_eq!(made(InvoiceTerms::of(1).for_seconds(u64::MAX)), Err(MakeError::BadTime));
    assert_eq!(made(InvoiceTerms::of(2_100_000_000_000_000_000)), Err(MakeError::AmountTooLarge));
    assert_eq!(made(InvoiceTerms::of(1_000_000_000_000_000_000)), Ok(Some(1_000_000_000_000_000_000)));
}

#[test]
fn false_invoices_can_be_paid() {
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 0), network.open_account("user", 1_000_000));
    let first = shop.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    let again = false_invoice(&shop, &InvoiceTerms::of(7), InvoiceLie::Reused).unwrap();
    assert_eq!(again.invoice, first.as_str());
    let foreign = false_invoice(&shop, &InvoiceTerms::of(1_000), InvoiceLie::Foreign).unwrap();
    user.pay(&foreign.invoice, None).unwrap();
    assert_eq!((shop.balance(), network.account("stranger").unwrap().balance()), (0, 1_000));
    assert!(shop.incoming(foreign.payment_hash).is_none());
    let less = false_invoice(&shop, &InvoiceTerms::of(1_000), InvoiceLie::LessAmount).unwrap();
    assert_eq!(user.pay(&less.invoice, None).unwrap().amount, 999);
}

#[test]
fn stored_network_resumes_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lightning.json");
    let network = LightningNetwork::at(&path).unwrap();
    let (shop, user) = (network.open_account("shop", 0), network.open_account("user", 100_000));
    let paid = shop.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    let under_way = shop.make_invoice(&InvoiceTerms::of(2_000)).unwrap();
    let open = shop.make_invoice(&InvoiceTerms::of(3_000)).unwrap();
    user.pay(paid.as_str(), None).unwrap();
    user.begin(under_way.as_str(), None).unwrap();
    let (node, transactions) = (shop.node_id(), user.transactions());
    // As if it were killed: it is not stopped.
    std::mem::forget(network);

    let network = LightningNetwork::at(&path).unwrap();
    let (shop, user) = (network.open_account("shop", 7), network.open_account("user", 7));
    assert_eq!((shop.balance(), user.balance()), (1_000, 100_000 - 1_001 - 2_002));
    assert_eq!((shop.node_id(), user.transactions()), (node, transactions));
    assert_eq!(user.pay(paid.as_str(), None), Err(PayError::AlreadyPaid));
    user.settle(under_way.payment_hash()).unwrap();
    user.pay(open.as_str(), None).unwrap();
    assert_eq!(shop.balance(), 6_000);
    assert!(network.totals().add_up());

    std::fs::write(&path, "{\"accounts\": 3}").unwrap();
    assert!(matches!(LightningNetwork::at(&path), Err(NetworkFileError::NotANetwork { line: 1, .. })));
    assert!(matches!(LightningNetwork::at(&path.join("below")), Err(NetworkFileError::Io { .. })));
}
