//! The one error type of the project.
//!
//! An [`Error`] has words for the caller ([`Error::message`]), a status and a code, and, where it
//! is a failure of ours, a cause for the log. The cause never reaches the caller. Errors are
//! values that sagas store, so they can be written and read.

use crate::name::{Name, NameOrId};
use dropshot::{ErrorStatusCode, HttpError};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// The kinds of object that an error can name. They print as in messages: `floating-ip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceType {
    AntiAffinityGroup,
    BackgroundTask,
    Disk,
    FloatingIp,
    Image,
    Instance,
    InstanceNetworkInterface,
    IpPool,
    IpPoolResource,
    MulticastGroup,
    Project,
    ProjectImage,
    SagaDbg,
    Silo,
    SiloImage,
    SiloUser,
    Sled,
    Snapshot,
    SshKey,
    Vmm,
    Vpc,
    VpcRouter,
    VpcSubnet,
    DeviceAccessToken,
    DeviceAuthRequest,
    IdentityProvider,
    SiloGroup,
    UserBuiltin,
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResourceType::AntiAffinityGroup => "anti-affinity-group",
            ResourceType::BackgroundTask => "background-task",
            ResourceType::Disk => "disk",
            ResourceType::FloatingIp => "floating-ip",
            ResourceType::Image => "image",
            ResourceType::Instance => "instance",
            ResourceType::InstanceNetworkInterface => "instance-network-interface",
            ResourceType::IpPool => "ip-pool",
            ResourceType::IpPoolResource => "ip-pool-resource",
            ResourceType::MulticastGroup => "multicast-group",
            ResourceType::Project => "project",
            ResourceType::ProjectImage => "project-image",
            ResourceType::SagaDbg => "saga-dbg",
            ResourceType::Silo => "silo",
            ResourceType::SiloImage => "silo-image",
            ResourceType::SiloUser => "silo-user",
            ResourceType::Sled => "sled",
            ResourceType::Snapshot => "snapshot",
            ResourceType::SshKey => "ssh-key",
            ResourceType::Vmm => "vmm",
            ResourceType::Vpc => "vpc",
            ResourceType::VpcRouter => "vpc-router",
            ResourceType::VpcSubnet => "vpc-subnet",
            ResourceType::DeviceAccessToken => "device-access-token",
            ResourceType::DeviceAuthRequest => "device-auth-request",
            ResourceType::IdentityProvider => "identity-provider",
            ResourceType::SiloGroup => "silo-group",
            ResourceType::UserBuiltin => "user-builtin",
        })
    }
}

/// How an object was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookupBy {
    Name(String),
    Id(Uuid),
    /// By a key that is neither: the text completes `with id "…"`.
    CompositeId(String),
    /// By what the text says; the object's type is not repeated.
    Other(String),
}

impl From<Uuid> for LookupBy {
    fn from(id: Uuid) -> Self {
        LookupBy::Id(id)
    }
}

impl From<&Name> for LookupBy {
    fn from(name: &Name) -> Self {
        LookupBy::Name(name.to_string())
    }
}

impl From<&NameOrId> for LookupBy {
    fn from(selector: &NameOrId) -> Self {
        match selector {
            NameOrId::Id(id) => LookupBy::Id(*id),
            NameOrId::Name(name) => name.into(),
        }
    }
}

/// What went wrong, in the classes that the API knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// 404. Also for what the caller may not see.
    #[error("{}", self.message())]
    NotFound { resource: ResourceType, by: LookupBy },
    /// 400: a name, or another key, is taken.
    #[error("{}", self.message())]
    AlreadyExists { resource: ResourceType, name: String },
    /// 400: the message says what to change.
    #[error("{message}")]
    InvalidRequest { message: String },
    /// 400 for one value.
    #[error("{}", self.message())]
    InvalidValue { label: String, message: String },
    /// 401. The reason is for the log alone.
    #[error("unauthenticated: {reason}")]
    Unauthenticated { reason: String },
    /// 403.
    #[error("forbidden")]
    Forbidden,
    /// 409, where the API's documents say so.
    #[error("{message}")]
    Conflict { message: String },
    /// 408: the client took too long over its request.
    #[error("{message}")]
    TooSlow { message: String },
    /// 431: the path and the headers of a request.
    #[error("{message}")]
    HeadTooLarge { message: String },
    /// 410: the endpoint is no more.
    #[error("{message}")]
    Gone { message: String },
    /// 429 with `Retry-After`: too many failed logins of one user.
    #[error("{}", self.message())]
    TooManyAttempts { retry_after_seconds: u64 },
    /// 501: an operation of the published API that is not served here.
    #[error("not implemented")]
    NotImplemented,
    /// 502 or 504: a sled did not answer a request that only it can serve.
    #[error("sled unreachable: {cause}")]
    SledUnreachable { timeout: bool, cause: String },
    /// 503 with `Retry-After`: something else is in progress, as the message says, and a retry is
    /// safe.
    #[error("{message}")]
    Busy { message: String },
    /// 503 with `Retry-After`: will work later, and a retry is safe. The cause is for the log.
    #[error("unavailable: {cause}")]
    Unavailable { cause: String },
    /// 507: the message says what is used up.
    #[error("insufficient capacity: {message}")]
    InsufficientCapacity { message: String },
    /// 500: a bug, or a broken part of the system. The caller is told nothing of it.
    #[error("internal error: {cause}")]
    Internal { cause: String },
}

/// Seconds after which a caller may try again what was unavailable.
pub const RETRY_AFTER_SECONDS: u64 = 1;

impl Error {
    /// 404: no such object, or none that the caller may see.
    pub fn not_found(resource: ResourceType, by: impl Into<LookupBy>) -> Self {
        Error::NotFound { resource, by: by.into() }
    }

    /// 404 in words of its own, after `not found: `.
    pub fn not_found_message(resource: ResourceType, what: impl Into<String>) -> Self {
        Error::NotFound { resource, by: LookupBy::Other(what.into()) }
    }

    /// 400: `name` is taken among the objects of this kind.
    pub fn already_exists(resource: ResourceType, name: impl fmt::Display) -> Self {
        Error::AlreadyExists { resource, name: name.to_string() }
    }

    /// 400.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::InvalidRequest { message: message.into() }
    }

    /// 400 for the value called `label`.
    pub fn invalid_value(label: impl Into<String>, message: impl Into<String>) -> Self {
        Error::InvalidValue { label: label.into(), message: message.into() }
    }

    /// 401.
    pub fn unauthenticated(reason: impl Into<String>) -> Self {
        Error::Unauthenticated { reason: reason.into() }
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Error::Conflict { message: message.into() }
    }

    /// 408.
    pub fn too_slow(message: impl Into<String>) -> Self {
        Error::TooSlow { message: message.into() }
    }

    /// 431.
    pub fn head_too_large(message: impl Into<String>) -> Self {
        Error::HeadTooLarge { message: message.into() }
    }

    /// 503: `busy` says what is in progress.
    pub fn busy(busy: impl fmt::Display) -> Self {
        Error::Busy { message: format!("{busy}; it is safe to retry") }
    }

    /// 503 for a reason that is for the log alone.
    pub fn unavailable(cause: impl fmt::Display) -> Self {
        Error::Unavailable { cause: cause.to_string() }
    }

    /// 507.
    pub fn capacity(message: impl Into<String>) -> Self {
        Error::InsufficientCapacity { message: message.into() }
    }

    /// 500.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Error::Internal { cause: cause.to_string() }
    }

    /// What the caller is told.
    pub fn message(&self) -> String {
        match self {
            Error::NotFound { resource, by } => match by {
                LookupBy::Name(name) => format!("not found: {resource} with name \"{name}\""),
                LookupBy::Id(id) => format!("not found: {resource} with id \"{id}\""),
                LookupBy::CompositeId(id) => format!("not found: {resource} with id \"{id}\""),
                LookupBy::Other(what) => format!("not found: {what}"),
            },
            Error::AlreadyExists { resource, name } => {
                format!("already exists: {resource} \"{name}\"")
            }
            Error::InvalidRequest { message }
            | Error::Conflict { message }
            | Error::TooSlow { message }
            | Error::HeadTooLarge { message }
            | Error::Gone { message }
            | Error::Busy { message } => message.clone(),
            Error::Unavailable { .. } => "Service Unavailable; it is safe to retry".to_string(),
            Error::InvalidValue { label, message } => {
                format!("unsupported value for \"{label}\": {message}")
            }
            Error::Unauthenticated { .. } => "credentials missing or invalid".to_string(),
            Error::Forbidden => "Forbidden".to_string(),
            Error::TooManyAttempts { retry_after_seconds } => {
                format!("too many failed logins; try again in {retry_after_seconds} seconds")
            }
            Error::NotImplemented => "this operation is not implemented here".to_string(),
            Error::InsufficientCapacity { message } => format!("Insufficient capacity: {message}"),
            Error::SledUnreachable { .. } | Error::Internal { .. } => {
                "Internal Server Error".to_string()
            }
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::NotFound { .. } => StatusCode::NOT_FOUND,
            Error::AlreadyExists { .. }
            | Error::InvalidRequest { .. }
            | Error::InvalidValue { .. } => StatusCode::BAD_REQUEST,
            Error::Unauthenticated { .. } => StatusCode::UNAUTHORIZED,
            Error::Forbidden => StatusCode::FORBIDDEN,
            Error::Conflict { .. } => StatusCode::CONFLICT,
            Error::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Error::HeadTooLarge { .. } => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Error::Gone { .. } => StatusCode::GONE,
            Error::TooManyAttempts { .. } => StatusCode::TOO_MANY_REQUESTS,
            Error::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            Error::SledUnreachable { timeout: true, .. } => StatusCode::GATEWAY_TIMEOUT,
            Error::SledUnreachable { timeout: false, .. } => StatusCode::BAD_GATEWAY,
            Error::Busy { .. } | Error::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Error::InsufficientCapacity { .. } => StatusCode::INSUFFICIENT_STORAGE,
            Error::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The `error_code` of the body.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NotFound { .. } => "ObjectNotFound",
            Error::AlreadyExists { .. } => "ObjectAlreadyExists",
            Error::InvalidRequest { .. } => "InvalidRequest",
            Error::InvalidValue { .. } => "InvalidValue",
            Error::Unauthenticated { .. } => "Unauthorized",
            Error::Forbidden => "Forbidden",
            Error::Conflict { .. } => "Conflict",
            Error::TooSlow { .. } => "RequestTimeout",
            Error::HeadTooLarge { .. } => "HeadersTooLarge",
            Error::Gone { .. } => "Gone",
            Error::TooManyAttempts { .. } => "TooManyRequests",
            Error::NotImplemented => "NotImplemented",
            Error::Busy { .. } | Error::Unavailable { .. } => "ServiceNotAvailable",
            Error::InsufficientCapacity { .. } => "InsufficientCapacity",
            Error::SledUnreachable { .. } | Error::Internal { .. } => "Internal",
        }
    }

    /// Whether the same request may succeed later without any change.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Error::Busy { .. } | Error::Unavailable { .. } | Error::SledUnreachable { .. }
        )
    }
}

impl From<Error> for HttpError {
    fn from(error: Error) -> HttpError {
        // Every status above is an error's; the fallback is for the type's sake.
        let status_code = ErrorStatusCode::from_status(error.status())
            .unwrap_or(ErrorStatusCode::INTERNAL_SERVER_ERROR);
        let later = match error {
            Error::Busy { .. } | Error::Unavailable { .. } => Some(RETRY_AFTER_SECONDS),
            Error::TooManyAttempts { retry_after_seconds } => Some(retry_after_seconds),
            _ => None,
        };
        let headers = later.map(|seconds| {
            let mut headers = http::HeaderMap::new();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            Box::new(headers)
        });
        HttpError {
            status_code,
            error_code: Some(error.code().to_string()),
            external_message: error.message(),
            internal_message: error.to_string(),
            headers,
        }
    }
}

/// What sagas, database calls and handlers return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_caller_never_sees_the_cause() {
        for error in [
            Error::internal("secret"),
            Error::unavailable("secret"),
            Error::unauthenticated("secret"),
            Error::SledUnreachable { timeout: true, cause: "secret".to_string() },
        ] {
            let http = HttpError::from(error);
            assert!(!http.external_message.contains("secret"));
            assert!(http.internal_message.contains("secret"));
        }
    }

    #[test]
    fn what_will_work_later_says_when() {
        let http = HttpError::from(Error::busy("the instance is starting"));
        let headers = http.headers.expect("headers");
        assert_eq!(headers.get(header::RETRY_AFTER), Some(&HeaderValue::from_static("1")));
        assert_eq!(http.external_message, "the instance is starting; it is safe to retry");
    }

    #[test]
    fn messages_are_the_documented_ones() {
        let name: Name = "f".parse().expect("a name");
        assert_eq!(
            Error::not_found(ResourceType::FloatingIp, &name).message(),
            "not found: floating-ip with name \"f\""
        );
        assert_eq!(
            Error::already_exists(ResourceType::Project, "p").message(),
            "already exists: project \"p\""
        );
        assert_eq!(
            Error::invalid_value("size", "too small").message(),
            "unsupported value for \"size\": too small"
        );
    }
}
