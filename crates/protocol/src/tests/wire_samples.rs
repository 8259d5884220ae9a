//! Wire samples pinned as files: each is written in exactly the same way as it was read.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use usher_protocol::calendar::Calendar;
use usher_protocol::message::*;
use usher_protocol::subkey::{Metadata, Permission, SubkeyProof};
use usher_protocol::{EventId, PublicKey};

pub(crate) const MAIN_KEY: &str = "196f10d0c0726e7c25ac48fb5cfc78f620a24158986f52400e154a068f04381c";
pub(crate) const OTHER_KEY: &str = "270512ff83d4a6eae9340a6a06144a7f7c37e1d59e59486a94f799eb86ff1e48";
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

/// All samples: file name and text.
pub(crate) fn all() -> Vec<(String, String)> {
    let mut samples: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap().trim_end().to_owned())
        })
        .collect();
    samples.sort();
    samples
}

pub(crate) fn sample(name: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.json"))).unwrap().trim_end().to_owned()
}

/// The kind of a sample: its name begins with it.
pub(crate) fn kind(name: &str) -> u16 {
    name.split('-').next().unwrap().parse().unwrap()
}

pub(crate) fn about() -> EventId {
    EventId::from_byte_array([7; 32])
}

pub(crate) fn proof() -> SubkeyProof {
    SubkeyProof {
        main_key: PublicKey::from_hex(MAIN_KEY).unwrap(),
        metadata: Metadata {
            name: "phone".to_owned(),
            nonce: std::array::from_fn(|i| i as u8),
            valid_from: 1_732_137_600,
            expires_at: 1_763_673_600,
            permissions: [Permission::Auth, Permission::Payment].into_iter().collect(),
            version: 2,
        },
    }
}

/// Whether the sample is a message of a wallet, and whether it is one of a service. A proof of a subkey may be either.
pub(crate) fn senders(name: &str) -> (bool, bool) {
    (
        usher_protocol::kind::FROM_WALLET.contains(&kind(name)) && name != "28007-close-by-service",
        usher_protocol::kind::FROM_SERVICE.contains(&kind(name)) && name != "28007-close-by-wallet",
    )
}

#[test]
fn samples_are_read_and_written_exactly() {
    let (mut wallets, mut services) = (BTreeSet::new(), BTreeSet::new());
    for (name, text) in all() {
        let (number, (from_wallet, from_service)) = (kind(&name), senders(&name));
        let expected = if name == "28006-confirmed-expanded" { sample("28006-confirmed") } else { text.clone() };
        if from_wallet {
            let message = WalletMessage::parse(number, Some(about()), &text).unwrap();
            assert_eq!((message.kind(), message.to_json()), (number, expected.clone()), "{name}");
            assert_eq!(message.about(), (number == 30_000).then(about), "{name}");
            wallets.insert(number);
        }
        if from_service {
            let message = ServiceMessage::parse(number, Some(about()), &text).unwrap();
            assert_eq!((message.kind(), message.to_json()), (number, expected), "{name}");
            services.insert(number);
        }
        assert!(from_wallet || from_service, "{name}");
    }
    assert_eq!(wallets, usher_protocol::kind::FROM_WALLET.into_iter().collect());
    assert_eq!(services, usher_protocol::kind::FROM_SERVICE.into_iter().collect());
}

/// Of the answers, what each word means: what they show, without spaces.
#[test]
fn samples_have_the_meaning_of_their_names() {
    for (name, shows) in [
        ("27001-approved", "Approved{granted_permissions:[],session_token:Some("),
        ("27001-approved-by-subkey", "Approved{granted_permissions:[\"profile\"],session_token:None"),
        ("27001-declined", "Declined{reason:Some("),
        ("27001-declined-without-reason", "Declined{reason:None"),
        ("28001-approved", "status:Approved"),
        ("28001-success", "status:Success{preimage:Some("),
        ("28001-success-without-preimage", "status:Success{preimage:None"),
        ("28001-rejected", "status:Rejected{reason:Some("),
        ("28001-failed", "status:Failed{reason:None"),
        ("28002-success", "status:Success{preimage:Some("),
        ("28006-confirmed", "Confirmed{"),
        ("28006-rejected", "Rejected{"),
        ("28007-close-by-wallet", "by_service:false"),
        ("29501-success", "status:Success{token:"),
        ("29501-insufficient-funds", "status:InsufficientFunds"),
        ("29501-rejected", "status:Rejected{"),
    ] {
        let shown = format!("{:?}", WalletMessage::parse(kind(name), None, &sample(name)).unwrap()).replace(' ', "");
        assert!(shown.contains(shows), "{name}: {shown}");
    }
    let parsed = |name: &str| WalletMessage::parse(kind(name), None, &sample(name)).unwrap();
    for (name, expected) in [("27001-approved", None), ("27001-approved-by-subkey", Some(proof()))] {
        let WalletMessage::AuthResponse(response) = parsed(name) else { panic!("{name}") };
        assert_eq!(response.subkey_proof, expected);
    }
    let WalletMessage::RecurringResponse(confirmed) = parsed("28006-confirmed") else { panic!() };
    let RecurringStatus::Confirmed { authorized_amount, authorized_currency, authorized_recurrence, .. } =
        confirmed.status
    else {
        panic!()
    };
    let (calendar, max_payments) = (Calendar::Monthly, Some(12));
    let monthly = Recurrence { until: None, calendar, max_payments, first_payment_due: 1_732_137_600 };
    assert_eq!((authorized_amount, authorized_currency, authorized_recurrence), (10_000, Currency::Millisats, monthly));
    for name in ["28001-success", "28002-success"] {
        let (WalletMessage::PaymentResponse(payment) | WalletMessage::PaymentConfirmation(payment)) = parsed(name)
        else {
            panic!("{name}")
        };
        let PaymentStatus::Success { preimage: Some(preimage) } = payment.status else { panic!("{name}") };
        assert_eq!(preimage.as_bytes()[1], 0x11);
    }
}
