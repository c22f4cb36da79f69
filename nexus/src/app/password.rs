//! Passwords: hashed with argon2, away from the threads that serve requests, and a few at a time.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use nexus_api::types::Password;
use nexus_common::Error;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The most passwords that are hashed at a time: each takes 19 MiB and a processor.
const AT_A_TIME: usize = 4;

/// Hashes and verifies passwords.
#[derive(Debug)]
pub struct Passwords {
    permits: Arc<Semaphore>,
    /// The hash of a password that nobody has, to be verified in place of one that does not exist.
    nobodys: Arc<str>,
}

/// The hash of a password, as a PHC string.
pub fn hash_password(password: &str) -> Result<String, Error> {
    let hash = Argon2::default()
        .hash_password(password.as_bytes())
        .map_err(|error| Error::internal(format!("hashing a password: {error}")))?;
    Ok(hash.to_string())
}

fn verify(password: &str, hash: &str) -> Result<bool, Error> {
    let hash = PasswordHash::new(hash)
        .map_err(|error| Error::internal(format!("reading the hash of a password: {error}")))?;
    Ok(Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

impl Passwords {
    /// Takes as long as one hash.
    pub fn new() -> Result<Self, Error> {
        let nobodys = hash_password(&hex::encode(rand::random::<[u8; 20]>()))?.into();
        Ok(Passwords { permits: Arc::new(Semaphore::new(AT_A_TIME)), nobodys })
    }

    /// The hash of a password.
    pub async fn hash(&self, password: Password) -> Result<String, Error> {
        self.blocking(move || hash_password(password.expose())).await
    }

    /// Whether a password is the one with this hash. That there is no hash takes as long to find
    /// out as that there is another.
    pub async fn verify(&self, password: Password, hash: Option<String>) -> Result<bool, Error> {
        let nobodys = self.nobodys.clone();
        self.blocking(move || {
            let right = verify(password.expose(), hash.as_deref().unwrap_or(&nobodys))?;
            Ok(right && hash.is_some())
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.permits.clone().acquire_owned().await.map_err(Error::internal)?;
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
        .map_err(Error::internal)?
    }
}
