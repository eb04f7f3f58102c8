// Syncs a cache of Secrets, as a controller does at its start: whole objects less managedFields, or only what the common job needs of them.
use crate::{report, selected};
use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client, ResourceExt,
    api::ObjectMeta,
    runtime::{WatchStreamExt, reflector, watcher},
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, time::Instant};

pub async fn whole(client: Client) -> Result<()> {
    sync(client, |secret| secret.managed_fields_mut().clear()).await
}

/// What an expert keeps when memory matters: names and the certificate's digest.
pub async fn digest(client: Client) -> Result<()> {
    sync(client, |secret| {
        let certificate = secret.data.as_ref().and_then(|data| data.get("tls.crt")).map(|bytes| bytes.0.as_slice()).unwrap_or_default();
        let digest = ByteString(Sha256::digest(certificate).to_vec());
        let ObjectMeta { name, namespace, uid, resource_version, .. } = std::mem::take(&mut secret.metadata);
        let metadata = ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() };
        *secret = Secret { metadata, data: Some(BTreeMap::from([("sha256".to_string(), digest)])), ..Secret::default() };
    })
    .await
}

async fn sync(client: Client, keep: fn(&mut Secret)) -> Result<()> {
    let started = Instant::now();
    let (reader, writer) = reflector::store::<Secret>();
    let events = watcher(Api::<Secret>::all(client), selected("sync")).modify(keep).reflect(writer).default_backoff();
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
