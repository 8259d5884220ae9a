//! TLS: the server's certificate and name are verified.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rcgen::{CertificateParams, KeyPair};
use usher_store::{Lease, PostgresOptions};
use usher_testing::PostgresServer;

use crate::chain;

#[tokio::test]
async fn certificate_and_name_are_verified() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (pem, key) = (pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", &key.serialize_der()));
    let server = tokio::task::spawn_blocking(move || PostgresServer::start_with_tls(&pem, &key)).await.unwrap();
    let url = server.url("postgres").replace("sslmode=disable", "sslmode=verify-full");
    let with = |host: &str, trusted| {
        let url = url.replace("127.0.0.1", host);
        PostgresOptions { trusted, ..PostgresOptions::new(url.into()) }
    };
    let trusted = || vec![certificate.der().clone()];
    Lease::connect(&with("localhost", trusted())).await.unwrap();
    for (options, reason) in
        [(with("localhost", Vec::new()), "UnknownIssuer"), (with("127.0.0.1", trusted()), "not valid for name")]
    {
        let text = chain(&Lease::connect(&options).await.unwrap_err());
        assert!(text.contains(reason), "{text}");
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(der);
    let lines: Vec<_> = encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}
