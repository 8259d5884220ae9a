use std::sync::Arc;

use usher_engine::ports::{SettingStore as _, Store as _};
use usher_store::conformance::{create, id};

use super::Place;

#[tokio::test]
async fn failed_commit_does_not_affect_others_in_its_group() {
    let place = Place::new().await;
    let (_, store) = place.open(&place.options()).await;
    place.psql("ALTER TABLE operations ADD CHECK (state <> 'bad')").await;
    let mut commits = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = Arc::clone(&store);
        commits.spawn(async move {
            let mut commit = create(id(number));
            if number % 10 == 5 {
                commit.state.0 = "bad".to_owned();
            }
            store.set_setting(&number.to_string(), Some("1")).await.unwrap();
            (number, store.commit(commit).await)
        });
    }
    for (number, result) in commits.join_all().await {
        assert_eq!(result.is_ok(), number % 10 != 5, "{number}: {result:?}");
        assert_eq!(store.operation(id(number)).await.unwrap().is_some(), result.is_ok());
        assert_eq!(store.setting(&number.to_string()).await.unwrap().as_deref(), Some("1"));
    }
}
