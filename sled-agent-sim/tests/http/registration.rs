//! How Nexus learns of a sled.

use crate::nexus::{Heard, Nexus};
use crate::sled::Sled;
use uuid::Uuid;

fn generation(heard: &mut Heard, id: Uuid) -> Option<u64> {
    heard.sleds.get(&id).map(|sled| sled.generation.to_u64())
}

#[tokio::test]
async fn a_sled_tells_nexus_that_it_is_there_until_nexus_hears_it() {
    let nexus = Nexus::start();
    nexus.heard(|heard| heard.fails = true);
    let sled = Sled::start(1, &nexus, vec![]).await;
    nexus.until("a failure", |heard| heard.failures > 0).await;
    nexus.heard(|heard| heard.fails = false);
    nexus.until("the sled", |heard| generation(heard, sled.id).is_some()).await;
    let info = nexus.heard(|heard| heard.sleds[&sled.id].clone());
    assert_eq!(info.sa_address.to_string(), "[fd00:1122:3344:1::1]:12345");
    assert_eq!((info.usable_hardware_threads, info.baseboard.serial.as_str()), (512, "sled-1"));

    let before = info.generation.to_u64();
    sled.simulator.close().await.expect("an end");
    let sled = Sled::start(1, &nexus, vec![]).await;
    nexus
        .until("a later generation", |heard| {
            generation(heard, sled.id).is_some_and(|generation| generation > before)
        })
        .await;
}
