//! Sagas that are unfinished.

use super::findings::{Findings, violation};
use super::looks::walk;
use crate::app::Nexus;
use nexus_common::Error;
use nexus_internal_api::types::{Violation, ViolationKind};
use uuid::Uuid;

impl Nexus {
    pub(super) async fn check_sagas(&self, findings: &Findings) -> Result<(), Error> {
        let load = |window| self.datastore.check_sagas(window);
        walk(findings, |(id, _): &(Uuid, String)| *id, load, judge).await?;
        Ok(())
    }
}

fn judge((id, name): &(Uuid, String)) -> Vec<Violation> {
    let message = format!("the saga {name} is unfinished");
    vec![violation(ViolationKind::SagaUnfinished, message, [("saga", *id)])]
}
