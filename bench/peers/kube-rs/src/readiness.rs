// Says when everything that is there has been seen.
//
// Not by the stores' `wait_until_ready`: in kube 5.0.0 it wakes only one of those who wait, and the controller waits too.
use crate::report;
use kube::runtime::watcher;
use std::sync::{
    Arc,
    atomic::{AtomicIsize, Ordering},
};

#[derive(Clone)]
pub struct Readiness(Arc<AtomicIsize>);

impl Readiness {
    /// Ready once so many watchers have shown what is there.
    pub fn of(watchers: isize) -> Self {
        Self(Arc::new(AtomicIsize::new(watchers)))
    }

    pub fn look<K>(&self, event: &watcher::Result<watcher::Event<K>>) {
        if matches!(event, Ok(watcher::Event::InitDone)) && self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            report(serde_json::json!({ "type": "ready" }));
        }
    }
}
