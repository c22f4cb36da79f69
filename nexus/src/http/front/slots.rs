//! A bounded number of something at a time, of which one client gets at most half.

use nexus_common::Error;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// As many as there are.
#[derive(Debug)]
pub(super) struct Slots {
    all: Arc<Semaphore>,
    share: usize,
    /// Of the clients that have, or wait for, some.
    shares: Mutex<HashMap<IpAddr, Weak<Semaphore>>>,
    wait: Duration,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _share: OwnedSemaphorePermit,
    _one: OwnedSemaphorePermit,
}

impl Slots {
    /// So many; who does not get one in this time is refused.
    pub fn new(number: usize, wait: Duration) -> Self {
        Slots {
            all: Arc::new(Semaphore::new(number)),
            share: number.div_ceil(2),
            shares: Mutex::default(),
            wait,
        }
    }

    fn share_of(&self, client: IpAddr) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&client).and_then(Weak::upgrade) {
            return share;
        }
        // Never many more than there are connections.
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.share));
        shares.insert(client, Arc::downgrade(&share));
        share
    }

    /// One of them, in the order of asking; 503 if it takes too long.
    pub async fn take(&self, client: IpAddr) -> Result<Slot, Error> {
        let (share, all) = (self.share_of(client), self.all.clone());
        let take = async move {
            // Its own share first: who waits for that holds up nobody else.
            let _share = share.acquire_owned().await?;
            let _one = all.acquire_owned().await?;
            Ok::<_, tokio::sync::AcquireError>(Slot { _share, _one })
        };
        match tokio::time::timeout(self.wait, take).await {
            Ok(slot) => slot.map_err(Error::internal),
            Err(_) => Err(Error::busy("too many requests are being handled")),
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[tokio::test]
    async fn one_client_leaves_half_to_others() {
        let slots = Slots::new(4, Duration::from_millis(20));
        let [greedy, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(slots.take(greedy).await.expect("its share"));
        }
        assert_eq!(slots.take(greedy).await.expect_err("no more").status(), 503);
        let others = slots.take(other).await.expect("there are some left");
        held.pop();
        slots.take(greedy).await.expect("one is free again");
        drop((held, others));
        slots.take(IpAddr::from([192, 0, 2, 3])).await.expect("there are some");
        assert_eq!(slots.shares.lock().expect("a lock").len(), 1, "nobody else is remembered");
    }
}
