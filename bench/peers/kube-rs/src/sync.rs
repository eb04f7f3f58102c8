// Syncs a cache of whole Secrets, less managedFields: what a controller that reads Secrets does at its start.
use crate::{report, selected};
use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, reflector, watcher},
};
use std::time::Instant;

pub async fn whole(client: Client) -> Result<()> {
    let started = Instant::now();
    let (reader, writer) = reflector::store::<Secret>();
    let events = watcher(Api::<Secret>::all(client), selected("sync"))
        .modify(|secret| secret.managed_fields_mut().clear())
        .reflect(writer)
        .default_backoff();
    tokio::spawn(events.for_each(|_| std::future::ready(())));
    reader.wait_until_ready().await?;
    let ms = started.elapsed().as_secs_f64() * 1000.0;
    report(serde_json::json!({ "type": "synced", "objects": reader.len(), "ms": ms }));
    // The store lives as long as somebody can read it.
    tokio::spawn(async move {
        let _kept = reader;
        std::future::pending::<()>().await
    });
    Ok(())
}
