//! The external API by TLS, and a new certificate while it runs.

use super::wire::{Wire, head};
use crate::own_nexus::{OwnNexus, table};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nexus_tests::{TestRack, eventually};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use toml::{Table, Value};

/// A certificate of `localhost`, and its private key.
struct Issued {
    cert: String,
    der: CertificateDer<'static>,
    key: String,
}

fn issue() -> Issued {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_string()]);
    let issued = issued.expect("a certificate");
    Issued {
        cert: issued.cert.pem(),
        der: issued.cert.der().clone(),
        key: issued.signing_key.serialize_pem(),
    }
}

/// Connects as a client that trusts these certificates alone.
async fn connect(to: SocketAddr, trusted: &[&Issued], alpn: &str) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    trusted.iter().for_each(|issued| roots.add(issued.der.clone()).expect("a certificate"));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    let stream = TcpStream::connect(to).await.expect("it takes connections");
    let name = ServerName::try_from("localhost").expect("a name");
    let tls = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    tls.expect("TLS with a trusted certificate")
}

/// The certificate that a new connection sees.
async fn shown(to: SocketAddr, of: &[&Issued]) -> CertificateDer<'static> {
    let stream = connect(to, of, "http/1.1").await;
    let chain = stream.get_ref().1.peer_certificates().expect("a certificate");
    chain[0].clone().into_owned()
}

struct Files {
    cert: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(dir: &Path) -> Self {
        Files { cert: dir.join("cert.pem"), key: dir.join("key.pem") }
    }

    fn write(&self, cert: &str, key: &str) {
        std::fs::write(&self.cert, cert).expect("written");
        nexus_dev::state_dir::write_private(&self.key, key).expect("written");
    }

    fn config(&self) -> Value {
        let path = |path: &Path| Value::from(path.display().to_string());
        let files = [("cert_file", path(&self.cert)), ("key_file", path(&self.key))];
        Value::Table(files.map(|(key, path)| (key.to_string(), path)).into_iter().collect())
    }
}

#[tokio::test]
async fn certificates_are_replaced_while_connections_live() {
    let rack = TestRack::start().await;
    let dir = tempfile::tempdir().expect("a directory");
    let files = Files::new(dir.path());
    let (first, second) = (issue(), issue());
    files.write(&first.cert, &first.key);
    let nexus = OwnNexus::start(&rack, |config: &mut Table| {
        table(config, "external").insert("tls".to_string(), files.config());
    })
    .await;
    let at = nexus.external;
    let mut old = Wire::new(connect(at, &[&first], "http/1.1").await);
    assert_eq!(old.get("/v1/ping").await.expect("an answer").status, 200);

    // What is no good, or does not belong together, changes nothing.
    let reload = async |times: usize, said: &str| {
        nexus.signal("-HUP");
        nexus.logged(said, times).await;
    };
    for (times, cert, key) in [
        (1, "no certificate", first.key.as_str()),
        (2, first.cert.as_str(), second.key.as_str()),
        (3, first.cert.as_str(), "no key"),
    ] {
        files.write(cert, key);
        reload(times, "the old certificate stays").await;
        assert_eq!(shown(at, &[&first]).await, first.der);
    }
    assert!(nexus.log().contains(&files.cert.display().to_string()), "which file is it?");

    files.write(&second.cert, &second.key);
    reload(1, "new connections get the certificate").await;
    assert_eq!(shown(at, &[&first, &second]).await, second.der);
    assert_eq!(old.get("/v1/ping").await.expect("it lives on").status, 200);
}

#[tokio::test]
async fn everything_is_secure_by_tls() {
    let rack = TestRack::start().await;
    let dir = tempfile::tempdir().expect("a directory");
    let (files, issued) = (Files::new(dir.path()), issue());
    files.write(&issued.cert, &issued.key);
    let nexus = OwnNexus::start(&rack, |config: &mut Table| {
        table(config, "external").insert("tls".to_string(), files.config());
    })
    .await;
    let mut wire = Wire::new(connect(nexus.external, &[&issued], "http/1.1").await);
    let body = json!({"username": "admin", "password": rack.rack().password()}).to_string();
    let length = format!("content-length: {}\r\ncontent-type: application/json\r\n", body.len());
    wire.send(&(head("POST", "/v1/login/default-silo/local", &length) + &body)).await;
    let answer = wire.answer().await.expect("an answer");
    assert_eq!(answer.status, 204);
    let cookie = answer.head.iter().find(|line| line.starts_with("set-cookie: session="));
    assert!(cookie.expect("a cookie").contains("; secure;"), "{cookie:?}");
    let cookie = rack.try_login("default-silo", "admin", rack.rack().password()).await;
    let cookie = cookie.headers["set-cookie"].to_str().expect("text").to_string();
    assert!(!cookie.contains("Secure"), "without TLS, browsers would refuse it: {cookie}");

    // HTTP/2, which has neither a first line nor the header `host`.
    let stream = connect(nexus.external, &[&issued], "h2").await;
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("HTTP/2");
    tokio::spawn(connection);
    for path in ["/v1/ping", "/v1/projects"] {
        let request = http::Request::get(format!("https://localhost{path}"))
            .header("authorization", format!("Bearer {}", rack.ready().token))
            .body(String::new())
            .expect("a request");
        assert_eq!(client.send_request(request).await.expect("an answer").status(), 200);
    }

    // Whoever does not speak TLS is told nothing.
    let mut plain = Wire::connect(nexus.external).await;
    plain.send(&head("GET", "/v1/ping", "")).await;
    assert!(plain.closed().await);
    eventually("the server goes on", async || {
        let mut wire = Wire::new(connect(nexus.external, &[&issued], "http/1.1").await);
        match wire.get("/v1/ping").await {
            Some(answer) if answer.status == 200 => Ok(()),
            other => Err(other),
        }
    })
    .await;
}
