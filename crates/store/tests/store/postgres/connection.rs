//! How PostgreSQL is reached: over its socket, by whom, and not through a pooler that shares sessions.

use usher_store::{Lease, PostgresFailure, PostgresOpenError, PostgresOptions};

use super::Place;
use crate::chain;

#[tokio::test]
async fn a_unix_socket_is_a_folder_in_either_place() {
    let place = Place::new().await;
    for url in place.server.socket_urls(&place.database) {
        let options = PostgresOptions { url: url.into(), ..place.options() };
        Lease::connect(&options).await.unwrap();
    }
}

/// What the second connection through a pooler in transaction mode sees: the session of the first one.
#[tokio::test]
async fn a_pooler_that_shares_sessions_is_refused_in_words() {
    let place = Place::new().await;
    Lease::connect(&place.options()).await.unwrap();
    let (server, database) = (place.server, place.database.clone());
    let sql = format!("ALTER DATABASE {database} SET usher.session = 'marked'");
    tokio::task::spawn_blocking(move || server.psql("postgres", &sql)).await.unwrap();
    let refused = Lease::connect(&place.options()).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::Unusable(PostgresFailure::SharedSession)), "{refused:?}");
    assert!(chain(&refused).contains("session mode"), "{}", chain(&refused));
}
