//! What browsers and apps hold (pages, cookies, codes, refresh tokens) is worth the same at the instance that takes over.

use serde_json::json;
use usher_test_tools::{Library, PostgresServer};

use super::balancer::Balancer;
use super::until_role;
use crate::openid_provider::{Fixture, Place};

#[tokio::test(flavor = "multi_thread")]
async fn a_login_by_openid_connect_survives_take_overs() {
    let server = PostgresServer::start();
    let balancer = Balancer::start().await;
    let place = Place::Instance { database: server.url(&server.database()), balancer: &balancer };
    let mut fixture = Fixture::start_at(Library::OpenidClient, json!({}), place).await;
    let mut second = fixture.usher.start_beside().await;
    until_role(&second.api(), "standby").await;
    balancer.set(&[&fixture.usher.api().base, &second.api().base]);

    // The login page is open while its instance is killed.
    fixture.open_login().await;
    fixture.until_extension_is_offered().await;
    fixture.usher.kill();
    until_role(&second.api(), "active").await;
    fixture.click_extension().await;

    // The page that asks for consent is open while its instance stops.
    fixture.until_asked().await;
    fixture.usher.spawn();
    until_role(&fixture.usher.api(), "standby").await;
    second.stop().await;
    until_role(&fixture.usher.api(), "active").await;
    fixture.agree().await;
    let result = fixture.done().await;

    second.spawn();
    until_role(&second.api(), "standby").await;
    fixture.usher.kill();
    until_role(&second.api(), "active").await;
    let refreshed = fixture.app.ask(&json!({ "refresh": result["tokens"]["refresh_token"] }));
    assert_eq!(refreshed["claims"]["sub"], result["claims"]["sub"], "{refreshed}");
    // The browser is logged in and has agreed.
    fixture.open_login().await;
    let again = fixture.done().await;
    assert_eq!(again["claims"]["auth_time"], result["claims"]["auth_time"]);
}
