//! The checker: proves, or disproves, what must hold when nothing is going on.
//!
//! There is a file for each family of rules: what the rows of the database say of each other, what
//! the switches hold, and what the sleds have. All is read page by page, never at once.
//!
//! Database, switches and sleds are not read at one moment, and the rack may be at work. So what
//! does not fit is read again, that alone, after a moment and after another: only what does not
//! fit at any of these looks is a violation (see [`looks`]). What cannot be reached is said to be
//! unchecked, and never to be consistent.

mod addresses;
mod allocator;
mod findings;
mod instances;
mod looks;
mod nat;
mod parents;
mod ports;
mod sagas;
mod switches;
mod v2p;
mod vmms;

use super::Nexus;
use findings::Findings;
use nexus_common::Error;
use nexus_internal_api::types::CheckReport;

impl Nexus {
    /// Checks everything. Fails only if the database cannot be read.
    pub async fn check(&self) -> Result<CheckReport, Error> {
        let findings = Findings::default();
        tokio::try_join!(
            async {
                // In this order: the second does not repeat what the first has found.
                self.check_addresses(&findings).await?;
                self.check_allocator(&findings).await
            },
            self.check_instances(&findings),
            self.check_vmms(&findings),
            self.check_nat(&findings),
            self.check_switches(&findings),
            self.check_v2p(&findings),
            self.check_sagas(&findings),
            self.check_parents(&findings),
        )?;
        Ok(findings.report())
    }
}
