//! Clients that the operator stores, changes and deletes while the service runs.

use usher_engine::ports::{
    NewOpenIdClient, OpenIdClientError, OpenIdClientFields, OpenIdControl as _, OpenIdStore as _,
};

use crate::fixture::{Browser, Fixture, Reply, VERIFIER, authorize_with, user};

const CALLBACK: &str = "https://wiki.example/callback";

fn redirects(uri: &str) -> OpenIdClientFields {
    OpenIdClientFields { redirect_uris: Some(vec![uri.to_owned()]), ..OpenIdClientFields::default() }
}

fn wiki() -> NewOpenIdClient {
    let fields = OpenIdClientFields { name: Some("The Wiki".to_owned()), ..redirects(CALLBACK) };
    NewOpenIdClient { client_id: Some("wiki".to_owned()), is_public: false, fields }
}

async fn create(fixture: &Fixture) -> String {
    fixture.provider.create_client(wiki()).await.unwrap().1.unwrap()
}

const ASKS: [(&str, &str); 3] = [("client_id", "wiki"), ("redirect_uri", CALLBACK), ("scope", "openid offline_access")];

/// User 1 logs in to the wiki, and agrees; the code.
async fn code(fixture: &Fixture, browser: &mut Browser) -> String {
    let asked = fixture.log_in(browser, 1, &ASKS).await;
    browser.allow(fixture, &asked).await
}

async fn redeem(fixture: &Fixture, secret: &str, code: &str) -> Reply {
    fixture.redeem_as("wiki", Some(secret), code, CALLBACK, VERIFIER).await
}

#[track_caller]
fn refused_at(result: Result<impl Sized, OpenIdClientError>) -> String {
    match result.err() {
        Some(OpenIdClientError::Refused(errors)) => errors[0].pointer.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn stored_client_logs_users_in_at_once_and_after_a_restart_until_it_is_deleted() {
    let mut fixture = Fixture::start().await;
    let secret = create(&fixture).await;
    let first = code(&fixture, &mut fixture.browser()).await;
    let tokens = redeem(&fixture, &secret, &first).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert!(!String::from_utf8_lossy(&fixture.database()).contains(&secret), "only its hash is stored");

    fixture.restart().await;
    let access = tokens.token("access_token");
    assert_eq!(fixture.userinfo(&access).await.status, 200);
    let mut browser = fixture.browser();
    fixture.log_in(&mut browser, 1, &ASKS).await;
    let unused = fixture.next_code(&mut browser, &ASKS).await;

    fixture.provider.delete_client("wiki").await.unwrap();
    assert_eq!(fixture.userinfo(&access).await.status, 401);
    assert_eq!(redeem(&fixture, &secret, &unused).await.status, 401);
    browser.get(&fixture, &authorize_with(&ASKS)).await.is_page(400);
    assert_eq!(fixture.consents().await, []);
    // Another one with its id gets nothing of it.
    let secret = create(&fixture).await;
    redeem(&fixture, &secret, &unused).await.refuses("invalid_grant");
    assert_eq!(fixture.store.openid_consent("wiki", &user(1).to_hex()).await.unwrap(), None);
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", &*tokens.token("refresh_token"))];
    fixture.token("wiki", Some(&secret), &refresh).await.refuses("invalid_grant");
}

#[tokio::test]
async fn changes_are_in_force_at_once() {
    let fixture = Fixture::start().await;
    let old_secret = create(&fixture).await;
    let mut browser = fixture.browser();
    let before = code(&fixture, &mut browser).await;
    let moved = redirects("https://wiki.example/elsewhere");
    let (changed, secret) = fixture.provider.change_client("wiki", moved, true).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.redirect_uris.len()), ("The Wiki", 1), "the rest stays");
    let secret = secret.unwrap();
    assert_eq!(redeem(&fixture, &old_secret, &before).await.status, 401);
    redeem(&fixture, &secret, &before).await.refuses("invalid_grant");
    browser.get(&fixture, &authorize_with(&ASKS)).await.is_page(400);
    // What users have agreed to stays.
    let asks = [ASKS[0], ("redirect_uri", "https://wiki.example/elsewhere"), ASKS[2]];
    fixture.next_code(&mut browser, &asks).await;
}

#[tokio::test]
async fn stored_clients_follow_the_rules_of_the_configuration() {
    let fixture = Fixture::start().await;
    create(&fixture).await;
    let provider = &fixture.provider;
    let public = |require_pkce| NewOpenIdClient {
        client_id: None,
        is_public: true,
        fields: OpenIdClientFields { require_pkce, ..wiki().fields },
    };
    for (new, pointer) in [
        (wiki(), "/client_id"),
        (NewOpenIdClient { client_id: Some("shop".to_owned()), ..wiki() }, "/client_id"),
        (NewOpenIdClient { client_id: Some("a b".to_owned()), ..wiki() }, "/client_id"),
        (NewOpenIdClient { fields: redirects(CALLBACK), ..public(None) }, "/name"),
        (NewOpenIdClient { fields: redirects("http://wiki.example/"), ..public(None) }, "/name"),
        (public(Some(false)), "/require_pkce"),
    ] {
        assert_eq!(refused_at(provider.create_client(new).await), pointer);
    }
    let bye = OpenIdClientFields {
        post_logout_redirect_uris: Some(vec!["javascript:alert(1)".to_owned()]),
        ..OpenIdClientFields::default()
    };
    for (change, pointer) in
        [(redirects("http://wiki.example/"), "/redirect_uris"), (bye, "/post_logout_redirect_uris")]
    {
        assert_eq!(refused_at(provider.change_client("wiki", change, false).await), pointer);
    }
    let (client, secret) = provider.create_client(public(None)).await.unwrap();
    assert!(client.is_public && client.require_pkce && secret.is_none());
    let rotated = provider.change_client(&client.client_id, OpenIdClientFields::default(), true).await;
    assert_eq!(refused_at(rotated), "/rotate_secret");

    for id in ["shop", "nobody"] {
        let configured = id == "shop";
        let changed = provider.change_client(id, OpenIdClientFields::default(), false).await.map(|_| ());
        for refused in [changed, provider.delete_client(id).await] {
            assert_eq!(matches!(refused, Err(OpenIdClientError::Configured)), configured);
            assert_eq!(matches!(refused, Err(OpenIdClientError::NotFound)), !configured);
        }
    }
    for _ in provider.clients().iter().filter(|client| client.created_at.is_some()).count()..100 {
        provider.create_client(public(None)).await.unwrap();
    }
    assert_eq!(refused_at(provider.create_client(public(None)).await), "/client_id");
}

#[tokio::test]
async fn service_is_a_provider_from_its_first_client_on() {
    let mut fixture = Fixture::start_with(Vec::new()).await;
    let configuration = "/.well-known/openid-configuration";
    let mut browser = fixture.browser();
    assert_eq!(browser.get(&fixture, configuration).await.status, 404);
    assert!(!fixture.provider.is_on() && fixture.provider.keys().is_empty());
    let secret = create(&fixture).await;
    assert_eq!(browser.get(&fixture, configuration).await.status, 200);
    fixture.restart().await;
    let code = code(&fixture, &mut browser).await;
    assert_eq!(redeem(&fixture, &secret, &code).await.status, 200);
    fixture.provider.delete_client("wiki").await.unwrap();
    assert_eq!(browser.get(&fixture, configuration).await.status, 404);
}
