//! Users: who shows which credential.

use super::{Actor, Nexus, OpContext};
use nexus_common::Error;
use sha2::{Digest, Sha256};

/// What every API token begins with.
pub const TOKEN_PREFIX: &str = "oxide-token-";

/// The form in which a token is kept. Tokens are long and random, so a plain hash of one tells
/// nothing, and finds it at once.
pub fn hash_token(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

impl Nexus {
    /// The user whose token this is; 401 if it is nobody's, or has expired.
    pub async fn authenticate_token(&self, token: &str) -> Result<Actor, Error> {
        let found = self.datastore.user_by_token(hash_token(token)).await?;
        found.map(Actor::from).ok_or_else(|| Error::unauthenticated("no such token"))
    }

    /// The user who asks.
    pub fn current_user<'a>(&self, opctx: &'a OpContext) -> Result<&'a Actor, Error> {
        opctx.actor()
    }
}
