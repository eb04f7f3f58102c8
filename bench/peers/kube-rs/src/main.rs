// The Rust contestant: what an expert would write on kube-rs for each scenario, with its best settings.
//
// It takes the scenario's name as its argument and a kubeconfig in BENCH_KUBECONFIG, says on standard output, in lines of JSON,
// what it reached, and ends when its standard input does, so that it never outlives the benchmark.
use anyhow::{Context, Result, bail};
use futures::StreamExt;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicIsize, Ordering},
    },
    time::{Duration, Instant},
};

#[tokio::main]
async fn main() -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let path = std::env::var("BENCH_KUBECONFIG").context("reading BENCH_KUBECONFIG")?;
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    match std::env::args().nth(1).as_deref() {
        Some("sync-whole") => sync_whole(client).await?,
        Some("sync-digest") => sync_digest(client).await?,
        Some("react") => react(client).await?,
        Some("job") => job(client).await?,
        _ => bail!("usage: peer sync-whole|sync-digest|react|job"),
    }
    std::future::pending().await
}

/// What a scenario watches: objects with the scenario's label, streamed (WatchList) rather than listed.
fn selected(label: &str) -> watcher::Config {
    watcher::Config::default().labels(&format!("bench={label}")).streaming_lists()
}

fn report(line: serde_json::Value) {
    println!("{line}");
}

/// Says when everything that is there has been seen. Not by the stores' `wait_until_ready`: in kube 5.0.0 it wakes only one of those who wait, and the controller waits too.
#[derive(Clone)]
struct Readiness(Arc<AtomicIsize>);

impl Readiness {
    /// Ready once so many watchers have shown what is there.
    fn of(watchers: isize) -> Self {
        Self(Arc::new(AtomicIsize::new(watchers)))
    }

    fn look<K>(&self, event: &watcher::Result<watcher::Event<K>>) {
        if matches!(event, Ok(watcher::Event::InitDone)) && self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            report(json!({ "type": "ready" }));
        }
    }
}

const DIGEST: &str = "bench/digest";

struct Publisher {
    client: Client,
    published: Store<ConfigMap>,
}

/// The common job: for each labelled Secret a ConfigMap with its certificate's SHA-256, and the same in an annotation of the Secret.
async fn job(client: Client) -> Result<()> {
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
        .with_config(controller::Config::default().concurrency(16))
        .run(
            publish_digest,
            |_, _: &kube::Error, _| Action::requeue(Duration::from_millis(100)),
            Arc::new(Publisher { client, published }),
        );
    // In a task of its own: what runs in `main` itself is woken from other threads.
    tokio::spawn(runs.for_each(|_| std::future::ready(()))).await?;
    Ok(())
}

async fn publish_digest(secret: Arc<Secret>, publisher: Arc<Publisher>) -> Result<Action, kube::Error> {
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

/// Reacts to changes of labelled Secrets: says when the reconcile that answers a change begins.
async fn react(client: Client) -> Result<()> {
    let readiness = Readiness::of(1);
    let (secrets, writer) = reflector::store::<Secret>();
    let changes = watcher(Api::<Secret>::all(client), selected("react"))
        .modify(|secret| secret.managed_fields_mut().clear())
        .reflect(writer)
        .inspect(move |event| readiness.look(event))
        .default_backoff()
        .touched_objects();
    let runs = Controller::for_stream(changes, secrets)
        .with_config(controller::Config::default().concurrency(16))
        .run(report_change, |_, _: &Infallible, _| Action::requeue(Duration::from_secs(1)), Arc::new(()));
    tokio::spawn(runs.for_each(|_| std::future::ready(()))).await?;
    Ok(())
}

async fn report_change(secret: Arc<Secret>, _context: Arc<()>) -> Result<Action, Infallible> {
    let at_ns = monotonic_ns();
    let sequence = secret.annotations().get("bench/sequence").cloned().unwrap_or_default();
    report(json!({ "type": "reconciled", "sequence": sequence, "atNs": at_ns.to_string() }));
    Ok(Action::await_change())
}

/// The kernel's monotonic clock, which all processes of a machine share.
fn monotonic_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Syncs a cache of Secrets, as a controller does at its start: whole objects less managedFields.
async fn sync_whole(client: Client) -> Result<()> {
    sync(client, |secret| secret.managed_fields_mut().clear()).await
}

/// What an expert keeps when memory matters: names and the certificate's digest.
async fn sync_digest(client: Client) -> Result<()> {
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
    report(json!({ "type": "synced", "objects": reader.len(), "ms": ms }));
    // The store lives as long as somebody can read it.
    tokio::spawn(async move {
        let _kept = reader;
        std::future::pending::<()>().await
    });
    Ok(())
}
