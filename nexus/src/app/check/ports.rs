//! What the ports of VMMs are to have, for those who can see what they do have.

use crate::app::Nexus;
use crate::db::check::{VmmFacts, Window};
use db_model::{ExternalIp, IpKind, IpState};
use nexus_common::{Error, PageParams, ResourceType};
use nexus_internal_api::types::{IntendedPort, IntendedSnat};
use uuid::Uuid;

impl Nexus {
    /// A page of the VMMs that are to have ports, by id, with the external addresses of each.
    pub async fn intended_ports(&self, page: PageParams<Uuid>) -> Result<Vec<IntendedPort>, Error> {
        let window = Window::After(page.marker);
        let rows = self.datastore.check_port_vmms(window, page.limit()).await?;
        rows.iter().map(intended).collect()
    }

    /// What the ports of one VMM are to have. One that is to have none is not found.
    pub async fn intended_port(&self, vmm_id: Uuid) -> Result<IntendedPort, Error> {
        let rows = self.datastore.check_port_vmms(Window::These(vec![vmm_id]), 1).await?;
        let row = rows.first().ok_or_else(|| Error::not_found(ResourceType::Vmm, vmm_id))?;
        intended(row)
    }
}

fn intended(facts: &VmmFacts) -> Result<IntendedPort, Error> {
    let settled = |ip: &&ExternalIp| ip.state == IpState::Attached;
    let attached = || facts.ips.iter().filter(settled);
    let of_kind = |kind| attached().filter(move |ip| ip.kind == kind).map(|ip| ip.ip.0);
    let snat = attached().filter(|ip| ip.kind == IpKind::Snat).map(|ip| {
        Ok(IntendedSnat {
            ip: ip.ip.0,
            first_port: u16::try_from(ip.first_port).map_err(Error::internal)?,
            last_port: u16::try_from(ip.last_port).map_err(Error::internal)?,
        })
    });
    Ok(IntendedPort {
        vmm_id: facts.vmm.id,
        instance_id: facts.vmm.instance_id,
        sled_id: facts.vmm.sled_id,
        floating: of_kind(IpKind::Floating).collect(),
        ephemeral: of_kind(IpKind::Ephemeral).collect(),
        snat: snat.collect::<Result<_, Error>>()?,
        in_transition: facts.ips.iter().filter(|ip| !settled(ip)).map(|ip| ip.ip.0).collect(),
    })
}
