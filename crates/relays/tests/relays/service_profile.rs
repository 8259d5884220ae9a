//! The service's own profile and relay list.

use std::time::Duration;

use serde_json::{Value, json};
use usher_engine::ports::{Directory as _, ProfileChange, PublishError, RelayRegistry as _};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::relay::{Quirks, QuirkyRelay, RelayMetrics};

use crate::fixture::{DEADLINE, Plan, Service, relay, until};
use crate::wallet::{event, relay_list, store, stored};

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn plan(relays: &[&str]) -> Plan {
    let mut plan = Plan::new(relays);
    plan.directory.profile =
        ProfileChange { name: some("usher"), display_name: some("The Usher"), ..Default::default() };
    plan
}

fn has_both(metrics: &RelayMetrics) -> bool {
    metrics.events_of(0) == 1 && metrics.events_of(10_002) == 1
}

async fn content(url: &str, plan: &Plan) -> Value {
    let event = stored(url, &plan.key(), 0).await.expect("a profile");
    serde_json::from_str(&event.content).unwrap()
}

async fn published(service: &Service, name: &str) {
    let has_name =
        async || service.directory.own_profile().is_some_and(|profile| profile.name.as_deref() == Some(name));
    until("published", has_name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profile_is_published_once_per_relay() {
    let (first, second) = (relay().await, relay().await);
    let (port, url) = (second.port(), second.url().to_owned());
    second.stop().await;
    drop(second);
    let plan = plan(&[first.url(), &url]);
    let service = plan.start().await;
    first.wait_for(DEADLINE, has_both).await.unwrap();
    assert_eq!(content(first.url(), &plan).await, json!({"name": "usher", "display_name": "The Usher"}));
    let list = stored(first.url(), &plan.key(), 10_002).await.unwrap();
    let listed: Vec<_> = list.tags.iter().map(|tag| tag.as_slice()[1].clone()).collect();
    assert_eq!(listed, [first.url(), &url]);

    // The relay that was down gets both when it is back.
    let second = QuirkyRelay::start_on(port, Quirks::default()).await.unwrap();
    second.wait_for(DEADLINE, has_both).await.unwrap();
    let noted = async || {
        let record: Value = serde_json::from_str(&plan.setting("profile").unwrap()).unwrap();
        record["accepted"].as_object().is_some_and(|accepted| {
            accepted.len() == 2 && accepted.values().all(|ids| ids.as_array().is_some_and(|ids| ids.len() == 2))
        })
    };
    until("noted", noted).await;
    service.stop().await;

    // Nothing new: nothing is sent.
    for _ in 0..2 {
        let service = plan.serve().await;
        assert_eq!(service.directory.own_profile().unwrap().name.as_deref(), Some("usher"));
        let before = [first.metrics(), second.metrics()];
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!([first.metrics(), second.metrics()], before, "an idle service sends nothing");
        assert!(has_both(&before[0]) && has_both(&before[1]));
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_configuration_updates_only_the_named_fields() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let plan = plan(&[relay.url()]);
    let mut profile = json!({"name": "old", "about": "older", "website": "https://shop.example"});
    store(relay.url(), &[&event(&plan.relays.identity.keys, 0, &profile.to_string(), &[], 100)]).await;
    let service = plan.start().await;
    published(&service, "usher").await;
    (profile["name"], profile["display_name"]) = ("usher".into(), "The Usher".into());
    until("published", async || content(relay.url(), &plan).await == profile).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profile_published_at_run_time_is_kept() {
    let relay = relay().await;
    let plan = plan(&[relay.url()]);
    let service = plan.start().await;
    published(&service, "usher").await;
    // The service knows its profile before the relay has it.
    let noted = async || plan.setting("profile").is_some_and(|record| record.contains("\"accepted\":{\"ws"));
    until("noted", noted).await;
    assert_eq!(service.name(&plan.key()).await, "usher");
    let change = ProfileChange {
        name: some("till"),
        picture: some("https://pic.example/t.png"),
        about: some("Till 1"),
        nip05: some("_@shop.example"),
        ..Default::default()
    };
    let profile = service.directory.publish_profile(change.clone()).await.unwrap();
    assert_eq!((profile.pubkey, profile.name.as_deref(), &profile.display_name), (plan.key(), Some("till"), &None));
    assert_eq!(profile.nip05.as_ref().map(ToString::to_string), some("_@shop.example"));
    assert_eq!(service.directory.own_profile().as_ref(), Some(&profile));
    relay.wait_for(DEADLINE, |metrics| metrics.events_of(0) == 2).await.unwrap();
    assert_eq!(stored(relay.url(), &plan.key(), 0).await.unwrap().id, profile.id);
    assert_eq!(service.name(&plan.key()).await, "till");

    // The same again is nothing new.
    assert_eq!(service.directory.publish_profile(change).await.unwrap(), profile);
    let known = service.directory.well_known();
    assert_eq!(known.names, [("_".to_owned(), plan.key().to_hex())].into());
    assert_eq!(known.relays, [(plan.key().to_hex(), vec![relay.url().to_owned()])].into());
    until("noted", noted).await;
    service.stop().await;

    // It stays although the configuration differs, because the configuration has not changed.
    let service = plan.serve().await;
    assert_eq!(service.directory.own_profile(), Some(profile));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(relay.metrics().events_of(0), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_profile_is_not_published() {
    let nobody = Service::at(&[]).await;
    let good = ProfileChange { name: some("till"), ..Default::default() };
    assert!(matches!(nobody.directory.publish_profile(good.clone()).await, Err(PublishError::NoRelay)));
    let bad = ProfileChange { name: some("a till"), picture: some(" https://x.example"), ..Default::default() };
    let Err(PublishError::Invalid(faults)) = nobody.directory.publish_profile(bad).await else { panic!("taken") };
    assert_eq!(faults.iter().map(usher_engine::FieldError::name).collect::<Vec<_>>(), ["name", "picture"]);

    let relay = relay().await;
    let plan = Plan::new(&[relay.url()]);
    let service = plan.serve().await;
    plan.settings.fail(&["setting", "set_setting"], usize::MAX);
    assert!(matches!(service.directory.publish_profile(good.clone()).await, Err(PublishError::Store(_))));
    assert_eq!(service.directory.own_profile(), None);
    plan.settings.work();
    service.directory.publish_profile(good).await.unwrap();
    relay.wait_for(DEADLINE, has_both).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_relay_list_is_not_replaced() {
    let relay = relay().await;
    let plan = plan(&[relay.url()]);
    let foreign = relay_list(&plan.relays.identity.keys, &["wss://mine.example"], 1000);
    store(relay.url(), &[&foreign]).await;
    let _service = plan.start().await;
    relay.wait_for(DEADLINE, |metrics| metrics.events_of(0) == 1).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(stored(relay.url(), &plan.key(), 10_002).await.unwrap().id, foreign.id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn added_relay_gets_profile_and_relay_list() {
    let (first, second) = (relay().await, relay().await);
    let plan = plan(&[first.url()]);
    let service = plan.start().await;
    first.wait_for(DEADLINE, has_both).await.unwrap();
    service.manager.add(second.url(), false).await.unwrap();
    first.wait_for(DEADLINE, |metrics| metrics.events_of(10_002) == 2).await.unwrap();
    let list = stored(first.url(), &plan.key(), 10_002).await.unwrap();
    assert_eq!(list.tags.len(), 2);
    let newest = async || stored(second.url(), &plan.key(), 10_002).await.is_some_and(|event| event.id == list.id);
    until("the new list", newest).await;
    assert_eq!(content(second.url(), &plan).await["name"], "usher");
    assert_eq!(first.metrics().events_of(0), 1, "the first has it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_subkey_the_profile_is_its_own_and_nip05_names_the_main_key() {
    let relay = relay().await;
    let mut plan = plan(&[relay.url()]);
    let main_key = Keys::generate().public_key();
    plan.relays.identity.main_key = main_key;
    let service = plan.start().await;
    relay.wait_for(DEADLINE, has_both).await.unwrap();
    assert_eq!(service.directory.own_profile().unwrap().pubkey, plan.key());
    assert_eq!(content(relay.url(), &plan).await["name"], "usher");
    assert!(stored(relay.url(), &main_key, 0).await.is_none(), "for which nobody here can sign");
    let known = service.directory.well_known();
    assert_eq!(known.names, [("usher".to_owned(), main_key.to_hex())].into(), "by which users know the service");
    assert_eq!(known.relays, [(main_key.to_hex(), vec![relay.url().to_owned()])].into());
}
