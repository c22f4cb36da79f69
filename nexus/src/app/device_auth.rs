//! How a program gets a token (RFC 8628): it asks, shows a code, a person who has logged in types
//! the code, and the program is given a token of that person.

use super::context::Credential;
use super::login::{TOKEN_PREFIX, hash_token, random_secret};
use super::{Nexus, OpContext};
use crate::db::now;
use chrono::{DateTime, TimeDelta, Utc};
use db_model::DeviceAccessToken;
use nexus_api::types::DeviceAuthRequest;
use nexus_common::Error;
use rand::Rng;
use uuid::Uuid;

/// Seconds that a person has to type the code.
pub const CODE_LIFETIME_SECONDS: i64 = 300;
/// Consonants, so that no word comes of them.
const CODE_LETTERS: &[u8] = b"BCDFGHJKLMNPQRSTVWXZ";
/// Codes that are tried until one is free.
const CODE_TRIES: u32 = 8;

/// What a program is told that asks to be let in.
#[derive(Clone)]
pub struct DeviceCodes {
    /// The program's own.
    pub device_code: String,
    /// What the person types.
    pub user_code: String,
}

fn user_code() -> String {
    let mut rng = rand::rng();
    let mut letters = || -> String {
        (0..4).map(|_| char::from(CODE_LETTERS[rng.random_range(0..CODE_LETTERS.len())])).collect()
    };
    format!("{}-{}", letters(), letters())
}

/// When a token that is made now expires, or why there can be none: it lives as long as was asked
/// for, which the silo must allow; or as long as the silo allows. It does not outlive the token
/// with which it was confirmed.
fn expiry(
    now: DateTime<Utc>,
    asked: Option<i64>,
    silo_max: Option<i64>,
    confirmed_with: Credential,
) -> Result<Option<DateTime<Utc>>, Error> {
    if let (Some(asked), Some(max)) = (asked, silo_max)
        && asked > max
    {
        return Err(Error::invalid(format!(
            "Requested TTL {asked} seconds exceeds maximum allowed TTL for this silo of {max} \
             seconds"
        )));
    }
    let expires = asked.or(silo_max).map(|seconds| now + TimeDelta::seconds(seconds));
    let Credential::Token { time_expires: Some(bound), .. } = confirmed_with else {
        return Ok(expires);
    };
    match expires {
        Some(expires) if asked.is_some() && expires > bound => Err(Error::invalid(
            "Requested token TTL would exceed the expiration time of the token being used to \
             authenticate the confirm request. To get the full requested TTL, confirm this token \
             using a web console session. Alternatively, omit requested TTL to get a token with \
             the longest allowed lifetime, determined by the lesser of the silo max and the \
             current token's expiration time.",
        )),
        Some(expires) => Ok(Some(expires.min(bound))),
        None => Ok(Some(bound)),
    }
}

impl Nexus {
    /// Notes a program that asks to be let in.
    pub async fn device_auth_request(&self, body: DeviceAuthRequest) -> Result<DeviceCodes, Error> {
        for _ in 0..CODE_TRIES {
            let codes = DeviceCodes { device_code: random_secret(), user_code: user_code() };
            let created = now();
            let row = db_model::DeviceAuthRequest {
                user_code: codes.user_code.clone(),
                device_code_hash: hash_token(&codes.device_code),
                client_id: body.client_id,
                token_ttl_seconds: body.ttl_seconds.map(|seconds| i64::from(seconds.get())),
                time_created: created,
                time_expires: created + TimeDelta::seconds(CODE_LIFETIME_SECONDS),
                silo_user_id: None,
                token_time_expires: None,
            };
            if self.datastore.device_auth_create(row).await? {
                return Ok(codes);
            }
        }
        Err(Error::unavailable("no free user code was found"))
    }

    /// Lets the program in that shows this code, as the actor.
    pub async fn device_auth_confirm(
        &self,
        opctx: &OpContext,
        user_code: String,
    ) -> Result<(), Error> {
        let actor = opctx.actor()?;
        let confirmed_with = actor.credential;
        let expires = move |request: &db_model::DeviceAuthRequest, silo: &db_model::Silo| {
            let now = now();
            if request.time_expires <= now {
                return Err(Error::invalid("device authorization request expired"));
            }
            let max = silo.device_token_max_ttl_seconds;
            expiry(now, request.token_ttl_seconds, max, confirmed_with)
        };
        self.datastore.device_auth_confirm(user_code, actor.silo_id, actor.user_id, expires).await
    }

    /// The token of a program that was let in, with its secret, which is told this once; none if
    /// the program was not let in, or not yet.
    pub async fn device_auth_token(
        &self,
        device_code: &str,
        client_id: Uuid,
    ) -> Result<Option<(String, DeviceAccessToken)>, Error> {
        let secret = format!("{TOKEN_PREFIX}{}", random_secret());
        let (code, hash) = (hash_token(device_code), hash_token(&secret));
        let token = self.datastore.device_auth_token(code, client_id, hash).await?;
        Ok(token.map(|token| (secret, token)))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const SESSION: Credential = Credential::Session { id: Uuid::nil() };

    fn seconds(
        asked: Option<i64>,
        max: Option<i64>,
        confirmed_with: Option<i64>,
    ) -> Result<Option<i64>, String> {
        let now = DateTime::UNIX_EPOCH;
        let with = confirmed_with.map_or(SESSION, |seconds| Credential::Token {
            id: Uuid::nil(),
            time_expires: Some(now + TimeDelta::seconds(seconds)),
        });
        expiry(now, asked, max, with)
            .map(|expires| expires.map(|expires| expires.timestamp()))
            .map_err(|error| error.message())
    }

    #[test]
    fn a_token_lives_as_long_as_it_may() {
        assert_eq!(seconds(None, None, None), Ok(None));
        assert_eq!(seconds(Some(10), None, None), Ok(Some(10)));
        assert_eq!(seconds(None, Some(60), None), Ok(Some(60)));
        assert_eq!(seconds(Some(60), Some(60), None), Ok(Some(60)));
        let error = seconds(Some(61), Some(60), None).expect_err("too long for the silo");
        assert_eq!(
            error,
            "Requested TTL 61 seconds exceeds maximum allowed TTL for this silo of 60 seconds"
        );
    }

    #[test]
    fn a_token_does_not_outlive_the_one_that_confirmed_it() {
        assert_eq!(seconds(None, None, Some(5)), Ok(Some(5)));
        assert_eq!(seconds(None, Some(60), Some(5)), Ok(Some(5)));
        assert_eq!(seconds(None, Some(60), Some(90)), Ok(Some(60)));
        assert_eq!(seconds(Some(5), None, Some(5)), Ok(Some(5)));
        assert!(seconds(Some(6), None, Some(5)).expect_err("too long").contains("would exceed"));
    }

    #[test]
    fn codes_are_what_the_console_can_type() {
        let code = user_code();
        assert_eq!(code.len(), 9);
        assert_eq!(code.as_bytes()[4], b'-');
        assert!(code.bytes().all(|b| b == b'-' || CODE_LETTERS.contains(&b)), "{code}");
    }
}
