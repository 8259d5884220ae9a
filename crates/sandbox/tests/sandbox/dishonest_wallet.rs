//! The wallet of a dishonest user.

use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_faults::wallet::{FaultyWallet, false_messages, forged_events};
use usher_protocol::message::{AuthStatus, WalletMessage};
use usher_protocol::{Keys, kind};
use usher_sandbox::wallet::{DeliveryStatus, Identity, Wallet, WalletOptions};

use crate::raw_client::LONG;
use crate::scripted_service::{Service, is_approved};

#[tokio::test]
async fn arbitrary_false_messages_can_be_sent() {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let mut service = Service::start(relay.url()).await;
    let wallet = Wallet::start(WalletOptions::new(Identity::generate())).await;
    wallet.open(&service.url(), LONG).await.unwrap();
    service.next_handshake().await;
    service.challenge(&wallet.public_key(), "c").await;
    let request = wallet.next_request(LONG).await.unwrap();

    // Twice, and both ways.
    let first = wallet.approve(&request).unwrap().unwrap();
    let second = wallet.approve(&request).unwrap().unwrap();
    let third = wallet.decline(&request, None).unwrap();
    assert_ne!(first.id, second.id);
    let mut approvals = 0;
    for _ in 0..3 {
        let (event, response) = service.next_response().await;
        approvals += u32::from(is_approved(&response));
        assert_eq!(event.id == third.id, response.status == AuthStatus::Declined { reason: None });
    }
    assert_eq!(approvals, 2);

    // By a third person.
    let other = Keys::generate();
    let approval = wallet.approval(&request).unwrap();
    wallet.send_as(&other, request.from, &approval).unwrap();
    let (event, response) = service.next_response().await;
    assert_eq!((event.pubkey, response.challenge.as_str()), (other.public_key(), "c"));

    // To another challenge.
    wallet.send(request.from, &false_messages::with_challenge("d", &approval)).unwrap();
    assert_eq!(service.next_response().await.1.challenge, "d");

    // Again, the very same event.
    wallet.publish(&first).unwrap();
    assert_eq!(service.next_event().await.id, first.id);

    // Nonsense.
    let nonsense = wallet.send_raw(request.from, kind::AUTH_RESPONSE, "[[[").unwrap();
    assert_eq!(service.next_event().await.id, nonsense.id);
    assert!(matches!(approval, WalletMessage::AuthResponse(_)));

    // Forgeries, which an honest relay takes from nobody.
    for forged in [
        forged_events::with_forged_signature(&first),
        forged_events::with_wrong_id(&first),
        forged_events::in_the_name_of(service.key(), &first),
    ] {
        forged.verify().unwrap_err();
        let refused = relay.metrics().events_forged;
        wallet.publish(&forged).unwrap();
        relay.wait_for(LONG, |c| c.events_forged > refused).await.unwrap();
        relay.inject(forged.clone());
        assert_eq!(service.next_event().await, forged);
    }
    assert_eq!(wallet.flush(LONG).await, DeliveryStatus::Failed);
}
