//! Rows below a parent that was deleted, or that never was.

use super::findings::{Findings, violation};
use super::looks::walk;
use crate::app::Nexus;
use crate::db::check::{ChildFacts, Family};
use nexus_common::Error;
use nexus_internal_api::types::{Violation, ViolationKind};

impl Nexus {
    pub(super) async fn check_parents(&self, findings: &Findings) -> Result<(), Error> {
        for family in Family::ALL {
            let load = |window| self.datastore.check_children(family, window);
            let judge = |facts: &ChildFacts| judge(family.names(), facts);
            let seen = walk(findings, |facts: &ChildFacts| facts.id, load, judge).await?;
            findings.count(|counts| counts.children += seen);
        }
        let load = |window| self.datastore.check_links(window);
        let judge = |facts: &ChildFacts| judge(("silo", "ip_pool"), facts);
        let key = |facts: &ChildFacts| (facts.id, facts.parent_id);
        let seen = walk(findings, key, load, judge).await?;
        findings.count(|counts| counts.children += seen);
        Ok(())
    }
}

fn judge((child, parent): (&'static str, &'static str), facts: &ChildFacts) -> Vec<Violation> {
    if facts.parent_lives {
        return Vec::new();
    }
    let message = format!("{child} {} refers to a {parent} that is no more", facts.id);
    vec![violation(
        ViolationKind::DeletedParent,
        message,
        [(child, facts.id), (parent, facts.parent_id)],
    )]
}
