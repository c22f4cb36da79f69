//! The certificate of the external API, read from files.
//!
//! Each new connection asks for the certificate of that moment, so a new one can take its place
//! while the server runs; connections that are there know nothing of it. Files that cannot be used
//! change nothing.

use crate::config::{TlsConfig, is_public};
use anyhow::{Context, bail};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// A certificate that can be replaced.
#[derive(Debug)]
pub(in crate::http) struct Certificate {
    files: TlsConfig,
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Certificate {
    /// Reads the files.
    pub fn read(files: &TlsConfig) -> anyhow::Result<Self> {
        let current = Arc::new(Current(RwLock::new(Arc::new(read(files)?))));
        Ok(Certificate { files: files.clone(), current })
    }

    /// Reads the files again. New connections get what they hold now; if that is no good, all
    /// stays as it was.
    pub fn reload(&self) -> anyhow::Result<()> {
        let new = Arc::new(read(&self.files)?);
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// Takes TLS connections with it.
    pub fn acceptor(&self) -> anyhow::Result<TlsAcceptor> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Whether everyone on this machine may read the private key.
    pub fn key_is_public(&self) -> bool {
        is_public(&self.files.key_file)
    }
}

/// The certificate chain and the private key, if they belong together.
fn read(files: &TlsConfig) -> anyhow::Result<CertifiedKey> {
    let pem = |path: &Path| {
        std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (cert_file, key_file) = (&files.cert_file, &files.key_file);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem(cert_file)?)
        .collect::<Result<_, _>>()
        .with_context(|| format!("{} does not hold certificates as PEM", cert_file.display()))?;
    if chain.is_empty() {
        bail!("{} holds no certificate", cert_file.display());
    }
    let key = PrivateKeyDer::from_pem_slice(&pem(key_file)?)
        .with_context(|| format!("{} does not hold a private key as PEM", key_file.display()))?;
    let certified = CertifiedKey::from_der(chain, key, &default_provider());
    certified.with_context(|| {
        format!(
            "the certificate in {} and the private key in {} cannot be used together",
            cert_file.display(),
            key_file.display()
        )
    })
}
