//! Which version of the API a request speaks.

use dropshot::{
    Body, ClientSpecifiesVersionInHeader, DynamicVersionPolicy, HttpError, VersionPolicy,
};
use dropshot_api_manager_types::api_versions;
use http::{HeaderName, Request};
use semver::Version;

api_versions!([
    // A new version goes on top: (YYYYMMDDNN, WHAT_IT_BRINGS). The operations that it changes say
    // `versions = VERSION_WHAT_IT_BRINGS..`, and those that they replace say `versions =
    // ..VERSION_WHAT_IT_BRINGS`.
    (2026091500, PROJECT_DEFAULTS),
]);

/// The oldest version that a request may name. What is served has had the same shapes since.
pub const OLDEST_SERVED: Version = Version::new(2026061100, 0, 0);

/// The header in which a request names its version.
pub const API_VERSION: HeaderName = HeaderName::from_static("api-version");

/// How a server chooses the version of a request: what its `api-version` header says or, where it
/// has none, `on_missing`.
///
/// A version need not be one that was published. It stands for the newest published one that is
/// not newer than it.
pub fn version_policy(on_missing: Version) -> VersionPolicy {
    let header = ClientSpecifiesVersionInHeader::new(API_VERSION, latest_version())
        .min_version(OLDEST_SERVED)
        .on_missing(on_missing);
    VersionPolicy::Dynamic(Box::new(OneHeader(header)))
}

/// Refuses a request that names several versions, of which dropshot would take the first.
#[derive(Debug)]
struct OneHeader(ClientSpecifiesVersionInHeader);

impl DynamicVersionPolicy for OneHeader {
    fn request_extract_version(
        &self,
        request: &Request<Body>,
        log: &slog::Logger,
    ) -> Result<Version, HttpError> {
        if request.headers().get_all(API_VERSION).iter().count() > 1 {
            return Err(HttpError::for_bad_request(
                None,
                format!("header {API_VERSION:?} is given more than once"),
            ));
        }
        self.0.request_extract_version(request, log)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn version_of(headers: &[&str]) -> Result<String, String> {
        let mut request = Request::builder();
        for value in headers {
            request = request.header("API-Version", *value);
        }
        let request = request.body(Body::empty()).expect("a request");
        let VersionPolicy::Dynamic(policy) = version_policy(Version::new(2026070100, 0, 0)) else {
            panic!("the policy looks at requests");
        };
        policy
            .request_extract_version(&request, &slog::Logger::root(slog::Discard, slog::o!()))
            .map(|version| version.to_string())
            .map_err(|error| error.external_message)
    }

    #[test]
    fn the_header_decides() {
        assert_eq!(version_of(&["2026072800.0.0"]), Ok("2026072800.0.0".to_string()));
        assert_eq!(version_of(&[]), Ok("2026070100.0.0".to_string()));
    }

    #[test]
    fn what_is_not_served_is_refused() {
        let too_new = "server does not support this API version: 2026091501.0.0";
        assert_eq!(version_of(&["2026091501.0.0"]), Err(too_new.to_string()));
        let too_old = "server no longer supports this API version: 2026061099.0.0 (oldest \
                       supported version: 2026061100.0.0)";
        assert_eq!(version_of(&["2026061099.0.0"]), Err(too_old.to_string()));
        let unreadable = version_of(&["1"]).expect_err("not a version");
        assert!(unreadable.starts_with("bad value for header \"api-version\": "), "{unreadable}");
    }

    #[test]
    fn two_headers_are_one_too_many() {
        let error = version_of(&["2026072800.0.0", "2026072800.0.0"]).expect_err("two");
        assert_eq!(error, "header \"api-version\" is given more than once");
    }
}
