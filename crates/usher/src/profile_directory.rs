//! The directory of users, and the service's own profile.

use std::sync::Arc;

use usher_engine::ports::{ProfileChange, Store};
use usher_relays::{DirectoryError, RelaysOfUser};

use crate::config::Config;
use crate::failure::Failure;

pub(crate) fn configured(config: &Config) -> ProfileChange {
    let profile = &config.profile;
    ProfileChange {
        name: profile.name.as_ref().map(|name| name.as_str().to_owned()),
        display_name: profile.display_name.as_ref().map(|name| name.as_str().to_owned()),
        picture: profile.picture.as_ref().map(|picture| picture.url().to_string()),
        about: None,
        nip05: profile.nip05.as_ref().map(|identifier| identifier.as_str().to_owned()),
    }
}

pub(crate) fn relays_of_users(store: Arc<dyn Store>) -> RelaysOfUser {
    Arc::new(move |key| {
        let store = Arc::clone(&store);
        Box::pin(async move { store.user_relays(&key).await.unwrap_or_default() })
    })
}

/// Why the directory cannot start, for the operator.
pub(crate) fn failed(error: DirectoryError) -> Failure {
    match error {
        DirectoryError::Profile(errors) => Failure::Configuration(
            errors.iter().map(|error| format!("profile.{} {}", error.name(), error.detail)).collect(),
        ),
        other => other.into(),
    }
}
