// Reacts to changes of labelled Secrets: says when the reconcile that answers a change begins.
use crate::{readiness::Readiness, report, selected};
use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    runtime::{
        Controller, WatchStreamExt,
        controller::{Action, Config},
        reflector, watcher,
    },
};
use std::{convert::Infallible, sync::Arc, time::Duration};

pub async fn run(client: Client) -> Result<()> {
    let readiness = Readiness::of(1);
    let (secrets, writer) = reflector::store::<Secret>();
    let changes = watcher(Api::<Secret>::all(client), selected("react"))
        .modify(|secret| secret.managed_fields_mut().clear())
        .reflect(writer)
        .inspect(move |event| readiness.look(event))
        .default_backoff()
        .touched_objects();
    let runs = Controller::for_stream(changes, secrets)
        .with_config(Config::default().concurrency(16))
        .run(reconcile, |_, _: &Infallible, _| Action::requeue(Duration::from_secs(1)), Arc::new(()));
    tokio::spawn(runs.for_each(|_| std::future::ready(()))).await?;
    Ok(())
}

async fn reconcile(secret: Arc<Secret>, _context: Arc<()>) -> Result<Action, Infallible> {
    let at_ns = monotonic_ns();
    let sequence = secret.annotations().get("bench/sequence").cloned().unwrap_or_default();
    report(serde_json::json!({ "type": "reconciled", "sequence": sequence, "atNs": at_ns.to_string() }));
    Ok(Action::await_change())
}

/// The kernel's monotonic clock, which all processes of a machine share.
fn monotonic_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
