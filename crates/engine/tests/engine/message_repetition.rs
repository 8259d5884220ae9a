//! Resending of messages: when, as which event, to which keys, and not after the user has replied.

use usher_protocol::subkey::{Metadata, Permission, SubkeyProof, derive_secret};

use crate::common::*;

fn device(main: &Keys) -> (Keys, SubkeyProof) {
    let metadata = Metadata {
        name: "phone".to_owned(),
        nonce: [1; 32],
        valid_from: NOW.secs(),
        expires_at: NOW.secs() + 3600,
        permissions: [Permission::Auth, Permission::Payment].into_iter().collect(),
        version: 2,
    };
    let keys = derive_secret(main.secret_key(), &metadata).unwrap();
    (keys, SubkeyProof { main_key: main.public_key(), metadata })
}

/// Advances the clock second by second for `seconds`, and records which messages are sent when.
async fn watch(usher: &mut Running, seconds: u64, sent: &mut Vec<(u64, OutgoingMessage, Vec<EventId>)>, from: u64) {
    for second in from..from + seconds {
        usher.clock.turn(Duration::from_secs(1));
        // Messages that are due are sent while the clock stands still.
        tokio::time::sleep(Duration::from_millis(4)).await;
        while let Ok((message, ids)) = usher.messages.try_recv() {
            sent.push((second + 1, message, ids));
        }
    }
}

/// Its message may have been about something else, and the request may be lost: so it gets a fresh event.
#[tokio::test]
async fn wallet_that_was_heard_gets_no_copy_of_the_same_event() {
    let mut usher = Running::new().await;
    for n in [1, 2] {
        usher.authenticate(n).await;
    }
    let mut sent = Vec::new();
    watch(&mut usher, 5, &mut sent, 0).await;
    // A copy of a reply to a login that ended long ago.
    usher.receive(1, &user(1), approval("unknown")).await;
    watch(&mut usher, 195, &mut sent, 5).await;
    let of = |n: u8| sent.iter().filter(move |(_, message, _)| message.recipients[0] == user(n).public_key());
    let ids = |n: u8| of(n).map(|(_, _, ids)| ids[0]).collect::<Vec<_>>();
    let (heard, silent) = (ids(1), ids(2));
    assert_eq!((heard.len(), silent.len()), (2, 4));
    assert!(heard[0] != heard[1] && of(1).next_back().unwrap().0 >= 133, "as another event, later");
}

#[tokio::test]
async fn after_a_proof_only_the_device_gets_a_new_copy() {
    let mut usher = Running::new().await;
    let stream = usher.authenticate(1).await;
    let (asked, first) = usher.next_message().await;
    let (device, proof) = device(&user(1));
    usher.receive(1, &device, WalletMessage::SubkeyProof { proof, about: first[0] }).await;
    let (copy, of_device) = usher.next_message().await;
    assert_eq!((&copy.recipients[..], &copy.content), (&[device.public_key()][..], &asked.content));
    assert_eq!(copy.participants, [user(1).public_key(), device.public_key()]);
    // Each is repeated as it was, also after a restart.
    let mut usher = usher.restart(Duration::from_secs(30)).await;
    assert_eq!([usher.next_message().await.1, usher.next_message().await.1], [first, of_device]);
    usher.receive(2, &device, approval(&challenge(&asked))).await;
    assert_eq!(data(&usher.page(stream, 0).await, 0)["status"], "approved");
}
