//! Which version of the API a request speaks.

use dropshot::{
    Body, ClientSpecifiesVersionInHeader, DynamicVersionPolicy, HttpError, VersionPolicy,
};
use dropshot_api_manager_types::api_versions_picky;
use http::{HeaderName, Request};
use semver::Version;

api_versions_picky!([
    // A new version goes on top: (YYYYMMDDNN, 0, 0, WHAT_IT_BRINGS). docs/api-versions.md says what
    // else it takes.
    (2026091500, 0, 0, PROJECT_DEFAULTS),
    // Published then; nothing that is served here had changed.
    (2026072800, 0, 0, JULY_2026),
    (2026061100, 0, 0, POOL_ASSIGNMENT),
    (2026060800, 0, 0, TURIN_V2),
    (2026060500, 0, 0, JUMBO_FRAMES),
    (2026060300, 0, 0, BLOCK_SIZES),
    // Published then; nothing that is served here had changed.
    (2026021301, 0, 0, FEBRUARY_2026),
    (2026020900, 0, 0, POOL_NAMES),
    (2026012200, 0, 0, ALLOCATOR_WITHOUT_POOL),
    (2026011600, 0, 0, ADDRESS_ALLOCATOR),
    (2026010800, 0, 0, JOIN_SPECS),
    (2026010500, 0, 0, POOL_SELECTORS),
    (2026010300, 0, 0, DUAL_STACK_NICS),
    (2025122300, 0, 0, IP_VERSIONS),
    (2025120300, 0, 0, LOCAL_DISKS),
    (2025112000, 0, 0, NULLABLE_UPDATES),
    // Until here a version was the day of its publication, with no number of that day.
    (20251008, 0, 0, LIMITED_COLLABORATOR),
    (20250730, 0, 0, SNAT),
    // Published then; nothing that is served here had changed.
    (20250604, 0, 0, JUNE_2025),
    (20241204, 0, 0, INSTANCE_UPDATE),
    (20240327, 0, 0, FLOATING_IP_UPDATE),
    (0, 0, 6, POOL_LINKS),
    (0, 0, 1, FIRST),
]);

/// The header in which a request names its version.
pub const API_VERSION: HeaderName = HeaderName::from_static("api-version");

/// How a server chooses the version of a request: what its `api-version` header says or, where it
/// has none, `on_missing`.
///
/// A version need not be one that was published. It stands for the newest published one that is
/// not newer than it.
pub fn version_policy(on_missing: Version) -> VersionPolicy {
    let header = ClientSpecifiesVersionInHeader::new(API_VERSION, latest_version())
        .min_version(oldest_version())
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
        let too_old = "server no longer supports this API version: 0.0.0 (oldest supported \
                       version: 0.0.1)";
        assert_eq!(version_of(&["0.0.0"]), Err(too_old.to_string()));
        let unreadable = version_of(&["1"]).expect_err("not a version");
        assert!(unreadable.starts_with("bad value for header \"api-version\": "), "{unreadable}");
    }

    #[test]
    fn two_headers_are_one_too_many() {
        let error = version_of(&["2026072800.0.0", "2026072800.0.0"]).expect_err("two");
        assert_eq!(error, "header \"api-version\" is given more than once");
    }
}
