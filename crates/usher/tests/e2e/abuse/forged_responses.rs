//! Invalid replies: forged, from another key, from devices with invalid proofs, oversized, nested.

use serde_json::json;
use usher_faults::wallet::forged_events;
use usher_protocol::subkey::{Permission, SubkeyProof};
use usher_protocol::{Event, EventId, kind};
use usher_sandbox::wallet::Identity;

use super::{assert_silent, caught_up, service};
use crate::harness::{HandmadeWallet, device, now};

const YEAR: u64 = 365 * 24 * 3600;

/// `event` with the key of `author` and a matching id: only the signature is wrong.
fn with_author_and_id_of(author: &HandmadeWallet, event: &Event) -> Event {
    let mut forged = event.clone();
    forged.pubkey = author.public_key();
    forged.id = EventId::new(&forged.pubkey, &forged.created_at, &forged.kind, &forged.tags, &forged.content);
    forged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_events_say_nothing() {
    let (relay, usher) = service().await;
    let (api, service) = (usher.api(), usher.public_key());
    let (victim, thief) = (HandmadeWallet::new(), HandmadeWallet::new());
    let stream = api.authenticate(&victim.public_key(), &[]).await;
    let (challenge, _) = victim.challenged(&relay).await;
    let genuine = victim.approval(service, &challenge.challenge, None);
    let thiefs = thief.approval(service, &challenge.challenge, None);
    let mut other_content = genuine.clone();
    other_content.content = thiefs.content.clone();
    let mut older = genuine.clone();
    older.created_at = (now() - 1).into();
    for (what, event) in [
        ("a changed signature", forged_events::with_forged_signature(&genuine)),
        ("a wrong id", forged_events::with_wrong_id(&genuine)),
        ("another's name", forged_events::in_the_name_of(victim.public_key(), &thiefs)),
        ("another's name and the right id", with_author_and_id_of(&victim, &thiefs)),
        ("another's content", other_content),
        ("another time", older),
    ] {
        relay.inject(event);
        caught_up(&api, &relay).await;
        assert_silent(&api, &stream, what).await;
    }
    // Those that carried its id have not used it up.
    relay.inject(genuine);
    let event = api.outcome(&stream).await;
    assert_eq!((event.status(), event.main_key()), ("approved", victim.public_key().to_hex().as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_answers_for_another() {
    let (relay, usher) = service().await;
    let (api, service) = (usher.api(), usher.public_key());
    let user = Identity::generate();
    let (victim, thief) = (HandmadeWallet { keys: user.keys().clone() }, Identity::generate());
    let stream = api.authenticate(&victim.public_key(), &[]).await;
    // The worst case: the challenge and a proof of the victim's have leaked.
    let (challenge, asked) = victim.challenged(&relay).await;
    let challenge = challenge.challenge.as_str();
    let leaked = device(&user, &[Permission::Auth], 0, now() + YEAR).proof().unwrap().clone();
    let thiefs_device = device(&thief, &[Permission::Auth], 0, now() + YEAR);
    let thiefs_proof = thiefs_device.proof().unwrap();
    let in_the_victims_name = SubkeyProof { main_key: victim.public_key(), metadata: thiefs_proof.metadata.clone() };
    let puppets =
        [HandmadeWallet { keys: thief.keys().clone() }, HandmadeWallet { keys: thiefs_device.keys().clone() }];
    for proof in [None, Some(&leaked), Some(thiefs_proof), Some(&in_the_victims_name)] {
        for handmade in &puppets {
            relay.inject(handmade.approval(service, challenge, proof));
            let declined = json!({"status": "declined", "reason": null});
            relay.inject(handmade.answer(service, challenge, proof, &declined));
            if let Some(proof) = proof {
                let text = serde_json::to_string(proof).unwrap();
                relay.inject(handmade.seal_at(service, kind::SUBKEY_PROOF, &text, Some(asked.id), now()));
                relay.inject(handmade.approval(service, challenge, None));
            }
        }
    }
    caught_up(&api, &relay).await;
    assert_silent(&api, &stream, "answers of strangers").await;
    for handmade in &puppets {
        let to_them = |event: &Event| {
            event.kind.as_u16() == kind::AUTH_CHALLENGE
                && event.tags.public_keys().any(|key| *key == handmade.public_key())
        };
        assert!(!relay.seen().iter().any(to_them), "a stranger was asked, too");
    }
    relay.inject(victim.approval(service, challenge, None));
    assert_eq!(api.outcome(&stream).await.main_key(), victim.public_key().to_hex());
}
