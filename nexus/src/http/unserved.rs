//! Operations of the published API that are not served here: they answer 501, so that a client can
//! tell them from what is no operation at all.
//!
//! The router knows only what is served, so this looks at requests before it does: where it
//! chooses the version of a request.

use super::operation::Operation;
use crate::app::Nexus;
use dropshot::{ApiDescription, Body, DynamicVersionPolicy, HttpError, VersionPolicy};
use http::Request;
use nexus_common::Error;
use semver::Version;
use slog::Logger;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The operations of all published versions, a method and a path on each line.
const PUBLISHED: &str = include_str!("published.txt");

/// Tells what is published from what is served.
#[derive(Debug)]
struct Unserved {
    served: BTreeSet<Operation>,
    unserved: BTreeSet<Operation>,
    version: Box<dyn DynamicVersionPolicy>,
}

impl Unserved {
    fn new(served: BTreeSet<Operation>, version: Box<dyn DynamicVersionPolicy>) -> Self {
        let published = PUBLISHED
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(method, path)| Operation::new(method, path));
        let unserved = published.filter(|operation| !served.contains(operation)).collect();
        Unserved { served, unserved, version }
    }

    fn has(&self, method: &str, path: &str) -> bool {
        // A variable of what is published may stand where something served has a word.
        self.unserved.iter().any(|operation| operation.is(method, path))
            && !self.served.iter().any(|operation| operation.is(method, path))
    }
}

impl DynamicVersionPolicy for Unserved {
    fn request_extract_version(
        &self,
        request: &Request<Body>,
        log: &Logger,
    ) -> Result<Version, HttpError> {
        if self.has(request.method().as_str(), request.uri().path()) {
            return Err(Error::NotImplemented.into());
        }
        self.version.request_extract_version(request, log)
    }
}

/// The version policy of a server of `api` that answers 501 for what is published and not in it.
pub(super) fn with_unserved(
    version: VersionPolicy,
    api: ApiDescription<Arc<Nexus>>,
) -> VersionPolicy {
    match version {
        VersionPolicy::Dynamic(version) => {
            let router = api.into_router();
            let served = router.endpoints(None);
            let served = served.map(|(path, method, _)| Operation::new(&method, &path)).collect();
            VersionPolicy::Dynamic(Box::new(Unserved::new(served, version)))
        }
        unversioned @ VersionPolicy::Unversioned => unversioned,
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn unserved(served: &[(&str, &str)]) -> Unserved {
        let served = served.iter().map(|(method, path)| Operation::new(method, path)).collect();
        let policy = nexus_api::version::version_policy(nexus_api::version::latest_version());
        let VersionPolicy::Dynamic(version) = policy else {
            panic!("the policy looks at requests")
        };
        Unserved::new(served, version)
    }

    #[test]
    fn what_is_published_and_not_served_is_known() {
        let unserved = unserved(&[("GET", "/v1/projects"), ("GET", "/v1/instances/{instance}")]);
        assert!(unserved.has("POST", "/v1/projects"));
        assert!(!unserved.has("GET", "/v1/projects"));
        assert!(!unserved.has("GET", "/v1/instances/web"));
        assert!(unserved.has("PUT", "/v1/instances/web"));
        assert!(unserved.has("GET", "/v1/snapshots/"));
        assert!(!unserved.has("GET", "/v1/no-such-thing"));
        assert!(!unserved.has("PATCH", "/v1/projects"));
    }

    #[test]
    fn the_list_is_well_formed() {
        for line in PUBLISHED.lines() {
            let (method, path) = line.split_once(' ').expect("a method and a path");
            assert!(["GET", "HEAD", "POST", "PUT", "DELETE"].contains(&method), "{line}");
            assert!(path.starts_with('/') && !path.contains(' '), "{line}");
        }
    }

    #[test]
    fn a_word_goes_before_a_variable() {
        let unserved = unserved(&[("GET", "/v1/snapshots/all")]);
        assert!(!unserved.has("GET", "/v1/snapshots/all"));
        assert!(unserved.has("GET", "/v1/snapshots/mine"));
    }
}
