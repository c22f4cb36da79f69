//! Clients: each does what its plan says, one thing after the other.

use crate::history::Outcome;
use crate::plan::{Action, Step, steps};
use crate::request::Request;
use crate::rig::Rig;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Does a client's plan until told to stop.
pub async fn run(rig: &Rig, seed: u64, index: usize, stop: &AtomicBool) {
    let client = Client { rig, who: format!("client {index}") };
    for Step { action, nexus, pause } in steps(seed, index) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        client.act(nexus, action).await;
        tokio::time::sleep(pause).await;
    }
}

struct Client<'a> {
    rig: &'a Rig,
    who: String,
}

impl Client<'_> {
    async fn request(&self, nexus: usize, request: Request) -> Outcome {
        self.rig.request(&self.who, nexus, request).await
    }

    async fn act(&self, nexus: usize, action: Action) {
        let request = match action {
            Action::FipCreate { fip, spare } => Request::FipCreate { fip, spare },
            Action::FipDelete { fip } => Request::FipDelete { fip },
            Action::FipView { fip } => Request::FipView { fip },
            Action::Attach { fip, instance } => Request::FipAttach { fip, instance },
            Action::Detach { fip } => Request::FipDetach { fip },
            Action::Move { fip, instance } => {
                self.request(nexus, Request::FipDetach { fip }).await;
                Request::FipAttach { fip, instance }
            }
            Action::EphemeralAttach { instance } => Request::EphemeralAttach { instance },
            Action::EphemeralDetach { instance } => Request::EphemeralDetach { instance },
            Action::InstanceCreate { instance, ephemeral, fip } => {
                Request::InstanceCreate { instance, ephemeral, fip }
            }
            Action::InstanceDelete { instance } => {
                self.request(nexus, Request::Stop { instance }).await;
                self.stopped(nexus, instance).await;
                Request::InstanceDelete { instance }
            }
            Action::InstanceView { instance } => {
                self.request(nexus, Request::Addresses { instance }).await;
                Request::InstanceView { instance }
            }
            Action::Start { instance } => Request::Start { instance },
            Action::Stop { instance } => Request::Stop { instance },
            Action::Reboot { instance } => Request::Reboot { instance },
            Action::Migrate { instance, sled } => {
                match self.migration(nexus, instance, sled).await {
                    Some(request) => request,
                    None => return,
                }
            }
            Action::RangeAdd { range } => Request::RangeAdd { range },
            Action::RangeRemove { range } => Request::RangeRemove { range },
            Action::Ranges => {
                self.request(nexus, Request::Links).await;
                Request::Ranges
            }
            Action::Link => Request::Link,
            Action::Unlink => Request::Unlink,
        };
        self.request(nexus, request).await;
    }

    /// Waits for an instance to stop, but not for long: a delete that is refused is a test, too.
    async fn stopped(&self, nexus: usize, instance: usize) {
        const LOOKS: usize = 10;
        const PAUSE: Duration = Duration::from_millis(50);
        for _ in 0..LOOKS {
            let outcome = self.request(nexus, Request::InstanceView { instance }).await;
            match outcome.success() {
                Some(view) if view["run_state"] != "stopped" => tokio::time::sleep(PAUSE).await,
                _ => return,
            }
        }
    }

    /// The operator's API knows instances and sleds by their ids.
    async fn migration(&self, nexus: usize, instance: usize, sled: usize) -> Option<Request> {
        let outcome = self.request(nexus, Request::InstanceView { instance }).await;
        let id = outcome.success()?["id"].as_str()?.to_string();
        let sled_id = self.rig.ready.sled_agents.get(sled)?.id.to_string();
        Some(Request::Migrate { instance, id, sled, sled_id })
    }
}
