// The Rust contestant: what an expert would write on kube-rs for each scenario, with its best settings.
//
// It takes the scenario's name as its argument and a kubeconfig in BENCH_KUBECONFIG, says on standard output, in lines of JSON,
// what it reached, and ends when its standard input does, so that it never outlives the benchmark.
mod job;
mod react;
mod readiness;
mod sync;

use anyhow::{Context, Result, bail};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::watcher,
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
        Some("sync-whole") => sync::whole(client).await?,
        Some("sync-digest") => sync::digest(client).await?,
        Some("react") => react::run(client).await?,
        Some("job") => job::run(client).await?,
        _ => bail!("usage: peer sync-whole|sync-digest|react|job"),
    }
    std::future::pending().await
}

/// What a scenario watches: objects with the scenario's label, streamed (WatchList) rather than listed.
pub fn selected(label: &str) -> watcher::Config {
    watcher::Config::default().labels(&format!("bench={label}")).streaming_lists()
}

pub fn report(line: serde_json::Value) {
    println!("{line}");
}
