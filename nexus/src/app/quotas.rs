//! Quotas of silos, and how much of them is in use.

use super::authz::{Action, Object};
use super::{Nexus, OpContext};
use crate::db::quotas::{Amounts, QuotasUpdate, SiloUse};
use nexus_api::types::SiloQuotasUpdate;
use nexus_common::{Error, NameOrId, PageBy, PageParams};
use uuid::Uuid;

/// Refuses a quota of CPUs that is none.
pub(super) fn check_cpus(cpus: i64) -> Result<(), Error> {
    if cpus < 0 {
        return Err(Error::invalid_value("cpus", "a quota must not be negative"));
    }
    Ok(())
}

impl Nexus {
    /// The quotas of a silo, with its id.
    pub async fn silo_quotas(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
    ) -> Result<(Uuid, Amounts), Error> {
        let silo = self.silo(opctx, silo).await?;
        Ok((silo.id, self.datastore.silo_quotas(silo.id).await?))
    }

    /// A page of the quotas of all silos.
    pub async fn silo_quotas_list(
        &self,
        opctx: &OpContext,
        page: PageParams<Uuid>,
    ) -> Result<Vec<(Uuid, Amounts)>, Error> {
        opctx.authorize_open(Action::ListChildren, Object::Fleet)?;
        self.datastore.silo_quotas_list(page).await
    }

    /// Changes the quotas of a silo: for who may make silos, not for the silo's own
    /// administrators.
    pub async fn silo_quotas_update(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
        body: SiloQuotasUpdate,
    ) -> Result<(Uuid, Amounts), Error> {
        let silo = self.silo(opctx, silo).await?;
        opctx.authorize_open(Action::CreateChild, Object::Fleet)?;
        body.cpus.map_or(Ok(()), check_cpus)?;
        let change = QuotasUpdate {
            cpus: body.cpus,
            memory: body.memory.map(|memory| memory.to_stored()),
            storage: body.storage.map(|storage| storage.to_stored()),
        };
        Ok((silo.id, self.datastore.silo_quotas_update(silo.id, change).await?))
    }

    /// What the actor's silo may use, and what it uses.
    pub async fn utilization(&self, opctx: &OpContext) -> Result<SiloUse, Error> {
        let silo = opctx.actor()?.silo_id;
        self.silo_utilization(opctx, silo.into()).await
    }

    /// What a silo may use, and what it uses.
    pub async fn silo_utilization(
        &self,
        opctx: &OpContext,
        silo: NameOrId,
    ) -> Result<SiloUse, Error> {
        let silo = self.silo(opctx, silo).await?;
        self.datastore.silo_use(silo).await
    }

    /// A page of what all silos may use, and what they use.
    pub async fn silo_utilization_list(
        &self,
        opctx: &OpContext,
        page: PageBy,
    ) -> Result<Vec<SiloUse>, Error> {
        opctx.authorize_open(Action::ListChildren, Object::Fleet)?;
        self.datastore.silo_use_list(page).await
    }
}
