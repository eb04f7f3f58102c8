// The common job: for each labelled Secret a ConfigMap with its certificate's SHA-256, and the same in an annotation of the Secret.
use crate::{readiness::Readiness, selected};
use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    runtime::{
        Controller, WatchStreamExt,
        controller::{Action, Config},
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const DIGEST: &str = "bench/digest";

struct Publisher {
    client: Client,
    published: Store<ConfigMap>,
}

pub async fn run(client: Client) -> Result<()> {
    let readiness = Readiness::of(2);
    let published_readiness = readiness.clone();
    let (secrets, secret_writer) = reflector::store::<Secret>();
    let (published, published_writer) = reflector::store::<ConfigMap>();
    let secret_changes = watcher(Api::<Secret>::all(client.clone()), selected("job"))
        .modify(|secret| secret.managed_fields_mut().clear())
        .reflect(secret_writer)
        .inspect(move |event| readiness.look(event))
        .default_backoff()
        .touched_objects();
    let published_changes = watcher(Api::<ConfigMap>::all(client.clone()), selected("job"))
        .modify(|config_map| config_map.managed_fields_mut().clear())
        .reflect(published_writer)
        .inspect(move |event| published_readiness.look(event))
        .default_backoff()
        .touched_objects();
    let runs = Controller::for_stream(secret_changes, secrets)
        .owns_stream(published_changes)
        .with_config(Config::default().concurrency(16))
        .run(
            reconcile,
            |_, _: &kube::Error, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(Publisher { client, published }),
        );
    // In a task of its own: what runs in `main` itself is woken from other threads.
    tokio::spawn(runs.for_each(|_| std::future::ready(()))).await?;
    Ok(())
}

async fn reconcile(secret: Arc<Secret>, publisher: Arc<Publisher>) -> Result<Action, kube::Error> {
    let certificate = secret.data.as_ref().and_then(|data| data.get("tls.crt")).map(|bytes| bytes.0.as_slice()).unwrap_or_default();
    let digest = Sha256::digest(certificate).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (namespace, name) = (secret.namespace().unwrap_or_default(), secret.name_any());
    publish(&secret, &digest, &publisher).await?;
    if secret.annotations().get(DIGEST) != Some(&digest) {
        let secrets = Api::<Secret>::namespaced(publisher.client.clone(), &namespace);
        let patch = json!({ "metadata": { "annotations": { DIGEST: digest } } });
        secrets.patch_metadata(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    }
    Ok(Action::await_change())
}

async fn publish(secret: &Secret, digest: &str, publisher: &Publisher) -> Result<(), kube::Error> {
    let namespace = secret.namespace().unwrap_or_default();
    let config_maps = Api::<ConfigMap>::namespaced(publisher.client.clone(), &namespace);
    let data = BTreeMap::from([("sha256".to_string(), digest.to_string())]);
    let Some(found) = publisher.published.get(&ObjectRef::new(&secret.name_any()).within(&namespace)) else {
        let mut wanted = ConfigMap { data: Some(data), ..ConfigMap::default() };
        wanted.metadata.name = Some(secret.name_any());
        wanted.metadata.labels = Some(BTreeMap::from([("bench".to_string(), "job".to_string())]));
        wanted.metadata.owner_references = secret.controller_owner_ref(&()).map(|owner| vec![owner]);
        config_maps.create(&PostParams::default(), &wanted).await?;
        return Ok(());
    };
    if found.data.as_ref() == Some(&data) {
        return Ok(());
    }
    let mut wanted = (*found).clone();
    wanted.data = Some(data);
    config_maps.replace(&secret.name_any(), &PostParams::default(), &wanted).await?;
    Ok(())
}
