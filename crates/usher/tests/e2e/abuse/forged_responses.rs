//! Invalid replies: forged, from another key, from devices with invalid proofs, guessed. Each declines: what it declined could not
//! be approved afterwards.

use serde_json::json;
use usher_protocol::subkey::{Permission, SubkeyProof};
use usher_protocol::{Event, EventId, kind};
use usher_sandbox::wallet::Identity;
use usher_testing::wallet::forged_events;

use super::caught_up;
use crate::harness::{HandmadeWallet, TestUsher, device, now};

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
    let (relay, usher) = TestUsher::builder().start_at_relay().await;
    let (api, service) = (usher.api(), usher.public_key());
    let (victim, thief) = (HandmadeWallet::new(), HandmadeWallet::new());
    let handshake = api.handshake(json!({})).await;
    relay.inject(victim.handshake(&handshake.url));
    api.outcome(&handshake.stream).await;
    let stream = api.authenticate(&victim.public_key(), &[]).await;
    let (challenge, asked) = victim.challenged(&relay).await;
    assert!(challenge.challenge.len() >= 32 && !asked.content.contains(&challenge.challenge), "it travels encrypted");
    let declined = json!({"status": "declined", "reason": null});
    let genuine = victim.approval(service, &challenge.challenge, None);
    let refusal = victim.answer(service, &challenge.challenge, None, &declined);
    let thiefs = thief.answer(service, &challenge.challenge, None, &declined);
    let (mut other_content, mut older, mut echo) = (genuine.clone(), refusal.clone(), asked.clone());
    other_content.content = thiefs.content.clone();
    older.created_at = (now() - 1).into();
    echo.kind = nostr::Kind::from_u16(kind::AUTH_RESPONSE);
    for event in [
        forged_events::with_forged_signature(&refusal),
        forged_events::with_wrong_id(&refusal),
        forged_events::in_the_name_of(victim.public_key(), &thiefs),
        with_author_and_id_of(&victim, &thiefs),
        older,
        // These have the id of the genuine one, and do not use it up.
        forged_events::with_forged_signature(&genuine),
        other_content,
        // Nor does it help to send the service's own words back to it.
        echo,
    ] {
        relay.inject(event);
    }
    // What others can see or guess is no challenge.
    for guess in [handshake.url.token.as_str(), stream.as_str(), &asked.id.to_hex(), ""] {
        relay.inject(victim.answer(service, guess, None, &declined));
    }
    caught_up(&api, &relay).await;
    relay.inject(genuine);
    let event = api.outcome(&stream).await;
    assert_eq!((event.status(), event.main_key()), ("approved", victim.public_key().to_hex().as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_answers_for_another() {
    let (relay, usher) = TestUsher::builder().start_at_relay().await;
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
    let declined = json!({"status": "declined", "reason": null});
    let puppets =
        [HandmadeWallet { keys: thief.keys().clone() }, HandmadeWallet { keys: thiefs_device.keys().clone() }];
    for proof in [None, Some(&leaked), Some(thiefs_proof), Some(&in_the_victims_name)] {
        for handmade in &puppets {
            relay.inject(handmade.answer(service, challenge, proof, &declined));
            if let Some(proof) = proof {
                let text = serde_json::to_string(proof).unwrap();
                relay.inject(handmade.seal_at(service, kind::SUBKEY_PROOF, &text, Some(asked.id), now()));
                relay.inject(handmade.answer(service, challenge, None, &declined));
            }
        }
    }
    caught_up(&api, &relay).await;
    for handmade in &puppets {
        let to_them = |event: &Event| {
            event.kind.as_u16() == kind::AUTH_CHALLENGE
                && event.tags.public_keys().any(|key| *key == handmade.public_key())
        };
        assert!(!relay.seen().iter().any(to_them), "a stranger was asked, too");
    }
    relay.inject(victim.approval(service, challenge, None));
    let event = api.outcome(&stream).await;
    assert_eq!((event.status(), event.main_key()), ("approved", victim.public_key().to_hex().as_str()));
}
