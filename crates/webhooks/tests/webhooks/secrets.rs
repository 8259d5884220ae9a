//! Neither the secrets in the URL nor the signing secrets are shown; invalid options are refused.

use std::time::Duration;

use crate::common::{LONG, no_answer, post};
use secrecy::SecretString;
use tokio::net::TcpListener;
use url::Url;
use usher_webhooks::{HttpWebhookSender, WebhookError, WebhookOptions};

const HIDDEN: [&str; 4] = ["hidden-user", "hidden-password", "hidden-path", "hidden-token"];

#[track_caller]
fn shows_nothing(text: &str) {
    assert!(!text.contains("hidden"), "{text}");
}

fn url(port: u16) -> Url {
    let [user, password, path, token] = HIDDEN;
    Url::parse(&format!("http://{user}:{password}@127.0.0.1:{port}/{path}?key={token}#{token}")).unwrap()
}

#[tokio::test]
async fn errors_and_debug_hide_secrets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url(listener.local_addr().unwrap().port());
    let options =
        WebhookOptions { secrets: vec![SecretString::from("hidden-secret")], ..WebhookOptions::new(url.clone()) };
    let shown = format!("{options:?} {options:#?}");
    shows_nothing(&shown);
    assert!(shown.contains("http://127.0.0.1:"), "{shown}");
    let receiver = HttpWebhookSender::new(options).unwrap();
    shows_nothing(&format!("{receiver:?} {receiver:#?}"));

    shows_nothing(&no_answer(post(&url, Duration::from_millis(100)).await));
    drop(listener);
    shows_nothing(&no_answer(post(&url, LONG).await));
}

#[test]
fn invalid_options_are_refused_without_showing_secrets() {
    let good = || WebhookOptions::new(url(1));
    let with_secrets = |secrets: &[&str]| WebhookOptions {
        secrets: secrets.iter().map(|secret| SecretString::from(*secret)).collect(),
        ..good()
    };
    let refused = |options: WebhookOptions| {
        let error = HttpWebhookSender::new(options).unwrap_err();
        shows_nothing(&format!("{error} {error:?}"));
        error
    };
    let ftp = Url::parse("ftp://hidden-user:hidden-password@example.com/").unwrap();
    assert!(matches!(refused(WebhookOptions::new(ftp)), WebhookError::Url));
    let mail = Url::parse("mailto:hidden@example.com").unwrap();
    assert!(matches!(refused(WebhookOptions::new(mail)), WebhookError::Url));
    for (position, secrets) in [
        (1, &[""][..]),
        (2, &["good", "", ""]),
        (1, &["whsec_"]),
        (1, &["whsec_hidden!"]),
        (1, &["whsec_hidden secret"]),
        (3, &["whsec_aGlkZGVu", "hidden", "whsec_a"]),
    ] {
        let error = refused(with_secrets(secrets));
        assert!(matches!(error, WebhookError::NotAKey { position: found } if found == position), "{error:?}");
    }
    for timeout in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
        assert!(matches!(refused(WebhookOptions { timeout, ..good() }), WebhookError::Timeout(_)));
    }
    let certificates = |pem: &str| WebhookOptions { trusted_certificates: Some(pem.into()), ..good() };
    assert!(matches!(refused(certificates("")), WebhookError::Certificates));
    assert!(matches!(refused(certificates("hidden")), WebhookError::Certificates));
    let broken = "-----BEGIN CERTIFICATE-----\naGlkZGVu\n-----END CERTIFICATE-----\n";
    assert!(matches!(refused(certificates(broken)), WebhookError::Tls(_)));
}

#[test]
fn common_secret_forms_are_accepted() {
    for secret in ["s", "whsec", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_aA", "whsec_aA==", "żółw 🐢"] {
        let secrets = vec![SecretString::from(secret)];
        assert!(HttpWebhookSender::new(WebhookOptions { secrets, ..WebhookOptions::new(url(1)) }).is_ok(), "{secret}");
    }
}
