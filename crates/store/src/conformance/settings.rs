//! Settings: the last write wins.

use super::Subject;

/// Each name for itself, whatever the text.
pub async fn settings_are_set_replaced_and_removed(mut subject: impl Subject) {
    let store = subject.store();
    assert_eq!(store.setting("a").await.unwrap(), None);
    store.set_setting("a", None).await.unwrap();
    for value in ["1", "2", "", "'; DROP TABLE settings; --", "a\0b", "\u{1F511}", &"long".repeat(100_000)] {
        store.set_setting("a", Some(value)).await.unwrap();
        assert_eq!(store.setting("a").await.unwrap().as_deref(), Some(value));
    }
    store.set_setting("A", Some("other")).await.unwrap();
    store.set_setting("", Some("empty name")).await.unwrap();
    store.set_setting("a", None).await.unwrap();
    let store = subject.reopened(store).await;
    assert_eq!(store.setting("a").await.unwrap(), None);
    assert_eq!(store.setting("A").await.unwrap().as_deref(), Some("other"));
    assert_eq!(store.setting("").await.unwrap().as_deref(), Some("empty name"));
}
