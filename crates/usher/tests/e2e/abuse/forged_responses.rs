//! Invalid replies: forged, from another key, from devices with invalid proofs, oversized, nested.

use serde_json::{Value, json};
use usher_faults::wallet::forged_events;
use usher_protocol::subkey::{Permission, SubkeyProof};
use usher_protocol::{Event, EventId, Keys, envelope, kind};
use usher_sandbox::wallet::Identity;

use super::{assert_silent, caught_up, service};
use crate::harness::{HandmadeWallet, device, now, run_logins};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proofs_that_do_not_count_do_not_count() {
    let (relay, usher) = service().await;
    let (api, service) = (usher.api(), usher.public_key());
    let user = Identity::generate();
    let main = HandmadeWallet { keys: user.keys().clone() };
    let stream = api.authenticate(&main.public_key(), &[]).await;
    let (challenge, asked) = main.challenged(&relay).await;
    let challenge = challenge.challenge.as_str();

    let now = now();
    let expired = device(&user, &[Permission::Auth], now - YEAR, now - 1);
    let early = device(&user, &[Permission::Auth], now + 3600, now + YEAR);
    let payer = device(&user, &[Permission::Payment], now - 60, now + YEAR);
    let changed = |identity: &Identity, change: &dyn Fn(&mut Value)| {
        let mut proof = serde_json::to_value(identity.proof().unwrap()).unwrap();
        change(&mut proof);
        (identity.keys().clone(), proof)
    };
    let as_is = |identity: &Identity| changed(identity, &|_| {});
    let cases: Vec<(&str, (Keys, Value))> = vec![
        ("expired", as_is(&expired)),
        ("not yet valid", as_is(&early)),
        ("for payments only", as_is(&payer)),
        ("prolonged", changed(&expired, &|proof| proof["metadata"]["expires_at"] = json!((now + YEAR).to_string()))),
        ("advanced", changed(&early, &|proof| proof["metadata"]["valid_from"] = json!("0"))),
        ("extended", changed(&payer, &|proof| proof["metadata"]["permissions"] = json!(["auth", "payment"]))),
        (
            "of unknown permissions",
            changed(&payer, &|proof| proof["metadata"]["permissions"] = json!(["auth", "root"])),
        ),
        ("of another version", changed(&payer, &|proof| proof["metadata"]["version"] = json!(1))),
        ("renamed", changed(&expired, &|proof| proof["metadata"]["name"] = json!("x".repeat(60_000)))),
    ];
    for (what, (keys, proof)) in cases {
        let handmade = HandmadeWallet { keys };
        let status = json!({"status": "approved", "granted_permissions": [], "session_token": null});
        let answer = json!({"challenge": challenge, "subkey_proof": proof, "status": status});
        relay.inject(handmade.seal(service, kind::AUTH_RESPONSE, &answer.to_string()));
        relay.inject(handmade.seal_at(service, kind::SUBKEY_PROOF, &proof.to_string(), Some(asked.id), now));
        relay.inject(handmade.approval(service, challenge, None));
        caught_up(&api, &relay).await;
        assert_silent(&api, &stream, what).await;
    }
    let tablet = device(&user, &[Permission::Auth], now - 60, now + YEAR);
    relay.inject(HandmadeWallet { keys: tablet.keys().clone() }.approval(service, challenge, tablet.proof()));
    assert_eq!(api.outcome(&stream).await.main_key(), user.public_key().to_hex());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn monsters_are_ignored() {
    let (relay, usher) = service().await;
    let (api, service) = (usher.api(), usher.public_key());
    let victim = HandmadeWallet::new();
    let stream = api.authenticate(&victim.public_key(), &[]).await;
    let (challenge, _) = victim.challenged(&relay).await;
    let challenge = challenge.challenge.as_str();
    let before = usher.memory();

    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let padded = |bytes: usize| format!("{{\"token\":\"{}\"}}", "A".repeat(bytes));
    let texts = [
        deep(30_000),
        format!("{{\"challenge\":\"{challenge}\",\"subkey_proof\":{},\"status\":{{}}}}", deep(20_000)),
        padded(60_000),
        format!("{{\"challenge\":{challenge:?},\"challenge\":\"x\",\"status\":{{\"status\":\"approved\"}}}}"),
        "{\"challenge\":\"\u{0}\",\"status\":{\"status\":\"approved\"}}".to_owned(),
        format!("{{\"challenge\":\"{challenge}\",\"status\":{{\"status\":\"paid\"}}}}"),
        "null".to_owned(),
        "1e999".to_owned(),
    ];
    for kind in kind::FROM_WALLET {
        for text in &texts {
            relay.inject(HandmadeWallet::new().seal(service, kind, text));
        }
        // Contents that are no ciphertext at all, of 1 MB, and more tags than one can read.
        for content in
            ["A".repeat(1 << 20), format!("Ag{}", "A".repeat(1 << 20)), String::new(), "\u{1F600}".to_owned()]
        {
            relay.inject(raw(&Keys::generate(), service, kind, content, 1));
        }
        relay.inject(raw(&Keys::generate(), service, kind, "AgAA".to_owned(), 8_000));
    }
    caught_up(&api, &relay).await;
    assert_silent(&api, &stream, "monsters").await;
    run_logins(&api, 5, crate::harness::User::Once).await;
    relay.inject(victim.approval(service, challenge, None));
    assert_eq!(api.outcome(&stream).await.status(), "approved");
    assert_eq!(relay.metrics().connections - relay.metrics().open_connections, 5, "only the five wallets hung up");
    assert!(usher.memory() < before + 150, "{before} MiB grew to {} MiB", usher.memory());
}

/// A signed event of any content, with so many `p` tags.
fn raw(keys: &Keys, to: usher_protocol::PublicKey, kind: u16, content: String, tags: usize) -> Event {
    nostr::EventBuilder::new(nostr::Kind::from_u16(kind), content)
        .tags((0..tags).map(|_| nostr::Tag::public_key(to)))
        .sign_with_keys(keys)
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_far_from_now_are_not_answers() {
    let (relay, usher) = service().await;
    let (api, service) = (usher.api(), usher.public_key());
    let victim = HandmadeWallet::new();
    let stream = api.authenticate(&victim.public_key(), &[]).await;
    let (challenge, _) = victim.challenged(&relay).await;
    let status = json!({"status": "approved", "granted_permissions": [], "session_token": null});
    let text = json!({"challenge": challenge.challenge, "subkey_proof": null, "status": status}).to_string();
    for (what, at) in [("of long ago", now() - 7200), ("of 1970", 1), ("of tomorrow", now() + 24 * 3600)] {
        relay.inject(victim.seal_at(service, kind::AUTH_RESPONSE, &text, None, at));
        caught_up(&api, &relay).await;
        assert_silent(&api, &stream, what).await;
    }
    // A clock that is a little wrong is nobody's fault.
    relay.inject(victim.seal_at(service, kind::AUTH_RESPONSE, &text, None, now() - 300));
    assert_eq!(api.outcome(&stream).await.status(), "approved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_encrypted_to_us_is_nothing() {
    let (relay, usher) = service().await;
    let (api, service) = (usher.api(), usher.public_key());
    let victim = HandmadeWallet::new();
    let stream = api.authenticate(&victim.public_key(), &[]).await;
    let (challenge, _) = victim.challenged(&relay).await;
    let to_another = Keys::generate().public_key();
    let approval = victim.approval(to_another, &challenge.challenge, None);
    // The same content under a tag that names us, and the clear text.
    let conversation = envelope::conversation_key(&victim.keys, &to_another).unwrap();
    let clear = envelope::open(&conversation, &approval).unwrap();
    relay.inject(raw(&victim.keys, service, kind::AUTH_RESPONSE, approval.content.clone(), 1));
    relay.inject(raw(&victim.keys, service, kind::AUTH_RESPONSE, clear, 1));
    relay.inject(approval);
    caught_up(&api, &relay).await;
    assert_silent(&api, &stream, "contents for others").await;
}
