//! A short run with a fixed seed: every kind of part is killed once at least, and nothing is lost.

#![allow(clippy::expect_used, reason = "a test that cannot go on panics")]

use nexus_chaos::{Settings, run};
use nexus_dev::layout::NatMode;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_run() {
    let settings =
        Settings { seed: 2, duration: Duration::from_secs(20), clients: 4, nat: NatMode::Push };
    let outcome = run(settings).await.expect("the run ends");
    let report = &outcome.report;
    assert_eq!(report.count_violations(), 0, "{report}\nkept: {:?}", outcome.kept);
    for kind in ["kill nexus", "kill dpd", "kill postgres", "fault"] {
        assert!(report.troubles(kind) > 0, "no {kind}: {report}");
    }
    assert!(report.probed.passed > 0, "no packet has passed: {report}");
}
