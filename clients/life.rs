//! The life of a floating IP, as far as the version of the SDK that this is built with knows it.
//!
//! Usage: `sdk-0-N FILE`, with the file in which `nexus-dev run-all` says where its rack is. Prints a
//! line for each step, and exits with 1 at the first that fails. What a version knows is in the features of its package.

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;
use oxide::types::{self, InstanceState};
// The traits are named after the sections of the API, which differ from version to version.
use oxide::*;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::time::Duration;

const SDK: &str = env!("CARGO_PKG_VERSION");
const GIB: u64 = 1 << 30;
const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Life::new() {
        Ok(life) => life.live().await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

struct Life {
    client: Client,
    /// The name of the project, and of the instance and the disk in it.
    name: String,
    /// The address that is asked for.
    explicit: IpAddr,
}

/// A body as this version of the SDK has it; fails if it cannot be put into its words.
fn body<T: serde::de::DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value.clone()).with_context(|| format!("not a body: {value}"))
}

fn passed(step: &str) {
    println!("{step}");
}

impl Life {
    fn new() -> Result<Self> {
        let file = std::env::args().nth(1).context("no file is named")?;
        let ready: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let url = ready["external_api"][0].as_str().context("the rack has no URL")?;
        let token = ready["token"].as_str().context("the rack has no token")?;
        let mut token = HeaderValue::from_str(&format!("Bearer {token}"))?;
        token.set_sensitive(true);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
        let http = reqwest::Client::builder().default_headers(headers).build()?;
        let minor: u8 = env!("CARGO_PKG_VERSION_MINOR").parse()?;
        Ok(Life {
            client: Client::new_with_client(url, http),
            name: format!("sdk-{}", SDK.replace('.', "-")),
            explicit: IpAddr::V4(Ipv4Addr::new(10, 0, 200, minor)),
        })
    }

    async fn live(&self) -> Result<()> {
        self.project().await.context("project")?;
        passed("project");
        self.disk().await.context("disk")?;
        passed("disk");
        let auto = self.floating_ip("auto", None).await.context("floating IP")?;
        passed("auto");
        let explicit = self.floating_ip("explicit", Some(self.explicit)).await;
        let explicit = explicit.context("explicit floating IP")?;
        ensure!(explicit.ip == self.explicit, "{} is not {}", explicit.ip, self.explicit);
        passed("explicit");
        self.lists(&[&auto, &explicit]).await.context("lists")?;
        passed("lists");
        let instance = self.instance(&explicit).await.context("instance")?;
        passed("instance");
        #[cfg(feature = "attach")]
        {
            self.move_about(&auto, &instance).await.context("attach")?;
            passed("attach");
            self.ephemeral(&instance).await.context("ephemeral")?;
            passed("ephemeral");
        }
        #[cfg(feature = "update")]
        {
            self.update(&auto).await.context("update")?;
            passed("update");
        }
        self.delete(&instance).await.context("delete")?;
        passed("delete");
        Ok(())
    }

    async fn project(&self) -> Result<()> {
        let new = json!({"name": self.name, "description": "a project of the SDK"});
        let new: types::ProjectCreate = body(new)?;
        let made = self.client.project_create().body(new).send().await?.into_inner();
        let seen = self.client.project_view().project(self.name.as_str()).send().await?;
        ensure!(seen.id == made.id, "another project");
        let all: Vec<_> = self.client.project_list().stream().try_collect().await?;
        ensure!(all.iter().any(|project| project.id == made.id), "it is not listed");
        Ok(())
    }

    async fn disk(&self) -> Result<()> {
        let mut new = json!({"name": self.name, "description": "a disk", "size": GIB});
        let blank = json!({"type": "blank", "block_size": 512});
        if cfg!(feature = "allocator") {
            new["disk_backend"] = json!({"type": "distributed", "disk_source": blank});
        } else {
            new["disk_source"] = blank;
        }
        let new: types::DiskCreate = body(new)?;
        let project = self.name.as_str();
        self.client.disk_create().project(project).body(new).send().await?;
        let all = self.client.disk_list().project(project).send().await?.into_inner();
        ensure!(all.items.len() == 1, "{} disks", all.items.len());
        Ok(())
    }

    /// A floating IP with an address of the pool's choice, or with this one.
    async fn floating_ip(&self, name: &str, ip: Option<IpAddr>) -> Result<types::FloatingIp> {
        let mut new = json!({"name": name, "description": "an address"});
        match ip {
            Some(ip) if cfg!(feature = "address") => new["address"] = json!(ip),
            Some(ip) if cfg!(feature = "ip") => new["ip"] = json!(ip),
            Some(ip) => new["address_allocator"] = json!({"type": "explicit", "ip": ip}),
            None if cfg!(feature = "allocator") => {
                let v4 = json!({"type": "auto", "ip_version": "v4"});
                new["address_allocator"] = json!({"type": "auto", "pool_selector": v4});
            }
            None => new["pool"] = json!("default"),
        }
        let new: types::FloatingIpCreate = body(new)?;
        let project = self.name.as_str();
        let made = self.client.floating_ip_create().project(project).body(new).send().await?;
        let made = made.into_inner();
        let seen = self.client.floating_ip_view().project(project).floating_ip(name);
        let seen = seen.send().await?.into_inner();
        ensure!(seen.id == made.id && seen.ip == made.ip, "another floating IP");
        Ok(made)
    }

    /// Every floating IP is on one page, and in one place only.
    async fn lists(&self, expected: &[&types::FloatingIp]) -> Result<()> {
        let one = std::num::NonZeroU32::MIN;
        let mut page = self.client.floating_ip_list().project(self.name.as_str()).limit(one);
        let mut all = Vec::new();
        loop {
            let fips = page.send().await?.into_inner();
            all.extend(fips.items);
            let Some(token) = fips.next_page else { break };
            // The token is enough: it says which project's.
            page = self.client.floating_ip_list().limit(one).page_token(token);
        }
        let found: Vec<_> = all.iter().map(|fip| fip.id).collect();
        let expected: Vec<_> = expected.iter().map(|fip| fip.id).collect();
        ensure!(found == expected, "{found:?} instead of {expected:?}");
        #[cfg(not(feature = "allocator"))]
        let pools = self.client.project_ip_pool_list();
        #[cfg(feature = "allocator")]
        let pools = self.client.ip_pool_list();
        let pools: Vec<_> = pools.stream().try_collect().await?;
        ensure!(pools.iter().any(|pool| pool.name.to_string() == "default"), "no default pool");
        Ok(())
    }

    /// An instance with the disk and a floating IP, which runs.
    async fn instance(&self, fip: &types::FloatingIp) -> Result<types::Instance> {
        let external_ip = if cfg!(feature = "floating-ip-name") {
            json!({"type": "floating", "floating_ip_name": fip.name})
        } else {
            json!({"type": "floating", "floating_ip": fip.name})
        };
        let new: types::InstanceCreate = body(json!({
            "name": self.name,
            "description": "a machine",
            "hostname": self.name,
            "ncpus": 1,
            "memory": GIB,
            "disks": [{"type": "attach", "name": self.name}],
            "external_ips": [external_ip],
            "start": true,
        }))?;
        let project = self.name.as_str();
        let made = self.client.instance_create().project(project).body(new).send().await?;
        let made = made.into_inner();
        self.reaches(&made, InstanceState::Running).await?;
        ensure!(self.has(&made, "floating", Some(fip.ip)).await?, "its address is not listed");
        let disks = self.client.instance_disk_list().instance(id(&made)).send().await?;
        ensure!(disks.items.len() == 1, "{} disks", disks.items.len());
        let nics = self.client.instance_network_interface_list().instance(id(&made));
        let nics = nics.send().await?.into_inner();
        ensure!(nics.items.len() == 1, "{} network interfaces", nics.items.len());
        Ok(made)
    }

    async fn reaches(&self, instance: &types::Instance, state: InstanceState) -> Result<()> {
        let patience = tokio::time::Instant::now() + PATIENCE;
        loop {
            let now = self.client.instance_view().instance(id(instance)).send().await?;
            if now.run_state == state {
                return Ok(());
            }
            ensure!(tokio::time::Instant::now() < patience, "it is {:?}", now.run_state);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether an instance has an external IP of a kind, and with an address if one is named.
    async fn has(
        &self,
        instance: &types::Instance,
        kind: &str,
        ip: Option<IpAddr>,
    ) -> Result<bool> {
        let list = self.client.instance_external_ip_list().instance(id(instance)).send().await?;
        let of = |item: Value| item["kind"] == kind && ip.is_none_or(|ip| item["ip"] == json!(ip));
        let items = list.into_inner().items.into_iter();
        Ok(items.filter_map(|item| serde_json::to_value(item).ok()).any(of))
    }

    #[cfg(feature = "attach")]
    async fn move_about(&self, fip: &types::FloatingIp, to: &types::Instance) -> Result<()> {
        let project = self.name.as_str();
        let fip_id = fip.id.to_string();
        let parent = json!({"kind": "instance", "parent": self.name});
        let attach: types::FloatingIpAttach = body(parent)?;
        let attached = self.client.floating_ip_attach().project(project);
        let attached = attached.floating_ip(fip.name.as_str()).body(attach).send().await?;
        ensure!(attached.instance_id == Some(to.id), "{:?}", attached.instance_id);
        ensure!(self.has(to, "floating", Some(fip.ip)).await?, "it is not listed");
        let detached = self.client.floating_ip_detach().floating_ip(fip_id.as_str()).send().await?;
        ensure!(detached.instance_id.is_none(), "{:?}", detached.instance_id);
        ensure!(!self.has(to, "floating", Some(fip.ip)).await?, "it is still listed");
        Ok(())
    }

    #[cfg(feature = "attach")]
    async fn ephemeral(&self, instance: &types::Instance) -> Result<()> {
        let from_default = if cfg!(feature = "allocator") {
            json!({"pool_selector": {"type": "auto", "ip_version": "v4"}})
        } else {
            json!({"pool": "default"})
        };
        let new: types::EphemeralIpCreate = body(from_default)?;
        let attach = self.client.instance_ephemeral_ip_attach().instance(id(instance));
        attach.body(new).send().await?;
        ensure!(self.has(instance, "ephemeral", None).await?, "it is not listed");
        self.client.instance_ephemeral_ip_detach().instance(id(instance)).send().await?;
        ensure!(!self.has(instance, "ephemeral", None).await?, "it is still listed");
        Ok(())
    }

    #[cfg(feature = "update")]
    async fn update(&self, fip: &types::FloatingIp) -> Result<()> {
        let changes: types::FloatingIpUpdate =
            body(json!({"name": "renamed", "description": "another"}))?;
        let fip_id = fip.id.to_string();
        let update = self.client.floating_ip_update().floating_ip(fip_id.as_str());
        let updated = update.body(changes).send().await?.into_inner();
        ensure!(updated.name.to_string() == "renamed" && updated.ip == fip.ip, "{updated:?}");
        Ok(())
    }

    /// Everything, the inner things first.
    async fn delete(&self, instance: &types::Instance) -> Result<()> {
        let project = self.name.as_str();
        self.client.instance_stop().instance(id(instance)).send().await?;
        self.reaches(instance, InstanceState::Stopped).await?;
        self.client.instance_delete().instance(id(instance)).send().await?;
        self.client.disk_delete().project(project).disk(project).send().await?;
        let fips = self.client.floating_ip_list().project(project).send().await?.into_inner();
        for fip in fips.items {
            ensure!(fip.instance_id.is_none(), "it is still attached");
            let fip_id = fip.id.to_string();
            self.client.floating_ip_delete().floating_ip(fip_id.as_str()).send().await?;
        }
        self.client.project_delete().project(project).send().await?;
        let gone = self.client.project_view().project(project).send().await;
        let status = gone.err().and_then(|error| error.status()).map(|status| status.as_u16());
        ensure!(status == Some(404), "{status:?} instead of 404");
        Ok(())
    }
}

fn id(instance: &types::Instance) -> types::NameOrId {
    types::NameOrId::Id(instance.id)
}
