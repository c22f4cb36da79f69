//! Writes the OpenAPI documents in `openapi/` from the API traits, and checks that they agree.
//!
//! The external API has a document for each of its versions. What is committed of those is
//! *blessed*: a client may rely on it, and the code cannot say otherwise any more. The documents of
//! all other APIs are *lockstep*: each is what the code says now, whatever was committed before.

use anyhow::Context;
use clap::Parser;
use dpd_sim::api::dpd_api_mod;
use dropshot::{ApiDescription, ApiDescriptionBuildErrors, StubContext};
use dropshot_api_manager::{App, Environment, ManagedApi, ManagedApiConfig, ManagedApis};
use dropshot_api_manager_types::{ManagedApiMetadata, Versions, semver};
use nexus_api::api::nexus_external_api_mod;
use nexus_api::version;
use nexus_internal_api::internal::{self, nexus_internal_api_mod};
use nexus_internal_api::operator::nexus_operator_api_mod;
use sled_agent_sim::api::sled_agent_api_mod;
use std::process::ExitCode;

/// The version of what has none: its clients are delivered with it.
const UNVERSIONED: semver::Version = semver::Version::new(0, 0, 1);

fn main() -> anyhow::Result<ExitCode> {
    let root = camino::Utf8PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = root.parent().context("this crate lies below the repository's root")?;
    // What is blessed is what this commit has, whatever the branches and remotes are called.
    let environment =
        Environment::new("cargo xtask openapi", root, "openapi")?.with_default_git_branch("HEAD");
    let apis = ManagedApis::new(apis())?;
    Ok(App::parse().exec(&environment, &apis))
}

type Description = fn() -> Result<ApiDescription<StubContext>, ApiDescriptionBuildErrors>;

/// Every document in `openapi/`.
fn apis() -> Vec<ManagedApi> {
    let managed = |ident, versions, title, description, api_description: Description| {
        ManagedApi::from(ManagedApiConfig {
            ident,
            versions,
            title,
            metadata: ManagedApiMetadata {
                description: Some(description),
                ..ManagedApiMetadata::default()
            },
            api_description,
        })
    };
    let document = |ident, version, title, description, api_description: Description| {
        managed(ident, Versions::new_lockstep(version), title, description, api_description)
    };
    vec![
        managed(
            "nexus",
            Versions::new_versioned(version::supported_versions()),
            "Nexus API",
            "Floating IPs, and the instances, networks, disks and IP pools around them",
            nexus_external_api_mod::stub_api_description,
        ),
        document(
            "nexus-internal",
            internal::latest_version(),
            "Nexus internal API",
            "What sled agents and switches call",
            nexus_internal_api_mod::stub_api_description,
        ),
        document(
            "nexus-operator",
            UNVERSIONED,
            "Nexus operator API",
            "Sagas, background tasks, migration and the checker, for the operator's tools",
            nexus_operator_api_mod::stub_api_description,
        ),
        document(
            "sled-agent",
            sled_agent_sim::api::VERSION,
            "Sled agent API",
            "The part of a sled agent's API that Nexus uses",
            sled_agent_api_mod::stub_api_description,
        ),
        document(
            "dpd",
            dpd_sim::api::VERSION,
            "dpd API",
            "The part of a switch's API that Nexus uses",
            dpd_api_mod::stub_api_description,
        ),
    ]
}
