//! The internal API: what sleds and switches call.

use crate::app::Nexus;
use crate::db::now;
use db_model as model;
use dropshot::{
    ApiDescription, ApiDescriptionBuildErrors, HttpError, HttpResponseOk,
    HttpResponseUpdatedNoContent, Path, Query, RequestContext, TypedBody,
};
use nexus_common::{ByteCount, Error, Vni};
use nexus_internal_api::internal::{
    NatChangesetPath, NatChangesetQuery, NexusInternalApi, SledAgentPath, VmmPath,
    nexus_internal_api_mod,
};
use nexus_internal_api::types::{
    Baseboard, Generation, NatEntryView, SledAgentInfo, SledCpuFamily, SledRole, SledVmmState,
};
use std::net::{IpAddr, SocketAddrV6};
use std::sync::Arc;
use uuid::Uuid;

/// The API, ready to be served.
pub(super) fn api() -> Result<ApiDescription<Arc<Nexus>>, ApiDescriptionBuildErrors> {
    nexus_internal_api_mod::api_description::<Internal>()
}

enum Internal {}

/// The most changes of one answer, whatever the switch asks for.
const MAX_CHANGES: u32 = 10_000;

impl NexusInternalApi for Internal {
    type Context = Arc<Nexus>;

    async fn sled_agent_get(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<SledAgentPath>,
    ) -> Result<HttpResponseOk<SledAgentInfo>, HttpError> {
        let sled = rqctx.context().sled(path.into_inner().sled_id).await?;
        Ok(HttpResponseOk(sled_info(sled)?))
    }

    async fn sled_agent_put(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<SledAgentPath>,
        info: TypedBody<SledAgentInfo>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let row = sled_row(path.into_inner().sled_id, info.into_inner());
        rqctx.context().sled_register(row).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn cpapi_instances_put(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<VmmPath>,
        state: TypedBody<SledVmmState>,
    ) -> Result<HttpResponseUpdatedNoContent, HttpError> {
        let report = crate::dataplane::sled::report(state.into_inner());
        rqctx.context().vmm_reported(path.into_inner().propolis_id, report).await?;
        Ok(HttpResponseUpdatedNoContent())
    }

    async fn ipv4_nat_changeset(
        rqctx: RequestContext<Arc<Nexus>>,
        path: Path<NatChangesetPath>,
        query: Query<NatChangesetQuery>,
    ) -> Result<HttpResponseOk<Vec<NatEntryView>>, HttpError> {
        let limit = query.into_inner().limit.min(MAX_CHANGES);
        let rows = rqctx.context().nat_changeset(path.into_inner().from_gen, limit).await?;
        let views: Result<Vec<_>, Error> = rows.into_iter().map(nat_entry).collect();
        Ok(HttpResponseOk(views?))
    }
}

fn nat_entry(row: model::NatEntry) -> Result<NatEntryView, Error> {
    let IpAddr::V6(sled_address) = row.sled_address.0 else {
        return Err(Error::internal("a sled's address is not IPv6"));
    };
    Ok(NatEntryView {
        external_address: row.external_address.0,
        first_port: row.first_port as u16,
        last_port: row.last_port as u16,
        sled_address,
        vni: Vni::try_from(row.vni as u32).map_err(Error::internal)?,
        mac: row.mac.0,
        generation: row.generation,
        deleted: row.time_deleted.is_some(),
    })
}

fn sled_row(id: Uuid, info: SledAgentInfo) -> model::Sled {
    let created = now();
    model::Sled {
        id,
        underlay_address: IpAddr::V6(*info.sa_address.ip()).into(),
        port: i32::from(info.sa_address.port()),
        repo_depot_port: i32::from(info.repo_depot_port),
        role: match info.role {
            SledRole::Gimlet => model::SledRole::Gimlet,
            SledRole::Scrimlet => model::SledRole::Scrimlet,
        },
        serial_number: info.baseboard.serial,
        part_number: info.baseboard.part,
        revision: i64::from(info.baseboard.revision),
        usable_hardware_threads: i64::from(info.usable_hardware_threads),
        usable_physical_ram: info.usable_physical_ram.to_stored(),
        reservoir_size: info.reservoir_size.to_stored(),
        cpu_family: match info.cpu_family {
            SledCpuFamily::Unknown => "unknown",
            SledCpuFamily::AmdMilan => "amd_milan",
            SledCpuFamily::AmdTurin => "amd_turin",
            SledCpuFamily::AmdTurinDense => "amd_turin_dense",
        }
        .to_string(),
        provision_policy: model::ProvisionPolicy::Provisionable,
        generation: info.generation.to_stored(),
        time_created: created,
        time_modified: created,
    }
}

fn sled_info(row: model::Sled) -> Result<SledAgentInfo, Error> {
    let IpAddr::V6(ip) = row.underlay_address.0 else {
        return Err(Error::internal("a sled's address is not IPv6"));
    };
    Ok(SledAgentInfo {
        sa_address: SocketAddrV6::new(ip, row.port as u16, 0, 0),
        repo_depot_port: row.repo_depot_port as u16,
        role: match row.role {
            model::SledRole::Gimlet => SledRole::Gimlet,
            model::SledRole::Scrimlet => SledRole::Scrimlet,
        },
        baseboard: Baseboard {
            serial: row.serial_number,
            part: row.part_number,
            revision: row.revision as u32,
        },
        usable_hardware_threads: row.usable_hardware_threads as u32,
        usable_physical_ram: ByteCount::from_stored(row.usable_physical_ram),
        reservoir_size: ByteCount::from_stored(row.reservoir_size),
        cpu_family: match row.cpu_family.as_str() {
            "amd_milan" => SledCpuFamily::AmdMilan,
            "amd_turin" => SledCpuFamily::AmdTurin,
            "amd_turin_dense" => SledCpuFamily::AmdTurinDense,
            _ => SledCpuFamily::Unknown,
        },
        generation: Generation::from_stored(row.generation),
        decommissioned: false,
    })
}
