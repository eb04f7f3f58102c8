// What Prometheus sees when all is well, and for each alert a story in which something is not.

/** Values by series, in promtool's notation: `1x180` is a 1 in each minute, `0+60x180` grows by 60. */
type Series = Readonly<Record<string, string>>;

/** What differs from when all is well, and the one alert that is firing after three hours, with its labels and its summary. */
export interface AlertStory {
  readonly alert: string;
  readonly series: Series;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
}

/** How long stories last. */
export const storyMinutes = 180;

const always = (value: number): string => `${value}x${storyMinutes}`;
const growingBy = (perMinute: number): string => `0+${perMinute}x${storyMinutes}`;
const leases = ["kyma", "eventing-auth", "rotation", "jwks", "jwks-rieset", "checksum", "checksum-ingress", "sidecars"];
const day = 86_400;

/** Two processes, of which the first leads everything. */
export const healthy: Series = {
  'runtime_build_info{instance="a"}': always(1),
  'runtime_build_info{instance="b"}': always(1),
  // Another operator, whose troubles are not ours.
  'controller_runtime_reconcile_total{controller="other",instance="z"}': growingBy(10),
  'controller_runtime_reconcile_errors_total{controller="other",instance="z"}': growingBy(10),
  'workqueue_longest_running_processor_seconds{controller="other",instance="z"}': always(9999),
  'leader_election_master_status{name="other",namespace="other",instance="z"}': always(0),
  ...Object.fromEntries(
    leases.flatMap((name) => [
      [`leader_election_master_status{name="keyturn-${name}",namespace="keyturn-system",instance="a"}`, always(1)],
      [`leader_election_master_status{name="keyturn-${name}",namespace="keyturn-system",instance="b"}`, always(0)],
    ]),
  ),
  'controller_runtime_max_concurrent_reconciles{controller="rotation",instance="a"}': always(4),
  'runtime_watch_quiet_seconds{resource="secrets",namespace="",instance="a"}': always(40),
  'runtime_watch_state{resource="secrets",namespace="",state="live",instance="a"}': always(1),
  // Nobody watches, so nothing is heard.
  'runtime_watch_quiet_seconds{resource="rollouts.argoproj.io",namespace="",instance="a"}': always(9999),
  'runtime_watch_state{resource="rollouts.argoproj.io",namespace="",state="idle",instance="a"}': always(1),
  'controller_runtime_reconcile_total{controller="rotation",instance="a"}': growingBy(60),
  'controller_runtime_reconcile_errors_total{controller="rotation",instance="a"}': growingBy(1),
  'workqueue_longest_running_processor_seconds{controller="rotation",instance="a"}': always(2),
  'workqueue_queue_duration_seconds_bucket{controller="rotation",le="1",instance="a"}': growingBy(60),
  'workqueue_queue_duration_seconds_bucket{controller="rotation",le="1000",instance="a"}': growingBy(60),
  'workqueue_queue_duration_seconds_bucket{controller="rotation",le="+Inf",instance="a"}': growingBy(60),
  'rest_client_requests_total{host="api",code="200",instance="a"}': growingBy(600),
  'keyturn_rotation_next_due_timestamp_seconds{instance="a"}': always(100 * day),
  // It led once, and stopped hearing about what it looked after then.
  'keyturn_rotation_next_due_timestamp_seconds{instance="b"}': always(60),
  'keyturn_rotation_standstill{namespace="shop",set="old",reason="NoSource",instance="b"}': always(1),
  'keyturn_jwks_certificate_expiry_timestamp_seconds{kind="JWKSConfig",namespace="shop",name="site",instance="a"}': always(100 * day),
  'keyturn_jwks_keys{kind="JWKSConfig",namespace="shop",name="site",state="Active",instance="a"}': always(1),
  'keyturn_checksum_problem_objects{kind="SecretCheckSum",namespace="shop",reason="NoVersion",instance="a"}': always(0),
  'keyturn_checksum_awaited{kind="SecretCheckSum",namespace="shop",instance="a"}': always(0),
  'keyturn_agent_alarm{alarm="Mismatch",namespace="shop",instance="gateway"}': always(0),
  'keyturn_agent_alarm{alarm="ServedExpired",namespace="shop",instance="gateway"}': always(0),
  'keyturn_agent_alarm{alarm="Damaged",namespace="shop",instance="gateway"}': always(0),
  'keyturn_agent_staleness_seconds{namespace="shop",instance="gateway"}': always(0),
  'keyturn_eventing_auth_ready{namespace="kcp",name="one",instance="a"}': always(1),
  'keyturn_eventing_auth_target_reachable{namespace="kcp",name="one",instance="a"}': always(1),
  'keyturn_eventing_auth_identity_requests_total{step="create",code="201",instance="a"}': growingBy(60),
  'keyturn_eventing_auth_abandoned_total{instance="a"}': always(0),
  'keyturn_sidecars_stuck_rollouts{instance="a"}': always(0),
  'keyturn_sidecars_restart_failures_total{instance="a"}': always(0),
  'keyturn_sidecars_unknown_workloads{reason="WebhookFailed",instance="a"}': always(0),
  'keyturn_consumers_stuck_rollouts{instance="a"}': always(0),
  'keyturn_consumers_outdated_workloads{reason="CredentialChanged",instance="a"}': always(0),
  'keyturn_consumers_restart_failures_total{instance="a"}': always(0),
};

/** One for each alert, at least. */
export const alertStories: readonly AlertStory[] = [
  {
    alert: "KeyturnDown",
    series: { 'controller_runtime_max_concurrent_reconciles{controller="rotation",instance="a"}': "4x100 _x80" },
    labels: { severity: "critical" },
    summary: "No process of Keyturn is seen.",
  },
  {
    alert: "KeyturnNoLeader",
    series: { 'leader_election_master_status{name="keyturn-jwks",namespace="keyturn-system",instance="a"}': "1x100 0x80" },
    labels: { severity: "critical", name: "keyturn-jwks", namespace: "keyturn-system" },
    summary: "No leader for keyturn-jwks.",
  },
  {
    alert: "KeyturnTwoLeaders",
    series: { 'leader_election_master_status{name="keyturn-jwks",namespace="keyturn-system",instance="b"}': "0x100 1x80" },
    labels: { severity: "warning", name: "keyturn-jwks", namespace: "keyturn-system" },
    summary: "More than one process leads keyturn-jwks.",
  },
  {
    alert: "KeyturnWatchStale",
    series: { 'runtime_watch_quiet_seconds{resource="secrets",namespace="",instance="a"}': "0+60x180" },
    labels: { severity: "critical", resource: "secrets", instance: "a" },
    summary: "Keyturn hears nothing about secrets.",
  },
  {
    alert: "KeyturnWatchFails",
    series: { 'runtime_watch_state{resource="configmaps",namespace="shop",state="forbidden",instance="a"}': always(1) },
    labels: { severity: "critical", resource: "configmaps", namespace: "shop", state: "forbidden", instance: "a" },
    summary: "Keyturn cannot watch configmaps (forbidden).",
  },
  {
    alert: "KeyturnKindMissing",
    series: { 'runtime_watch_state{resource="jwks.rieset.io",namespace="",state="missing",instance="a"}': always(1) },
    labels: { severity: "info", resource: "jwks.rieset.io", state: "missing", instance: "a" },
    summary: "The API server does not know jwks.rieset.io.",
  },
  {
    alert: "KeyturnReconcileErrors",
    series: { 'controller_runtime_reconcile_errors_total{controller="rotation",instance="a"}': growingBy(30) },
    labels: { severity: "warning", controller: "rotation" },
    summary: "The controller rotation fails often.",
  },
  {
    alert: "KeyturnReconcileStuck",
    series: { 'workqueue_longest_running_processor_seconds{controller="rotation",instance="a"}': growingBy(60) },
    labels: { severity: "warning", controller: "rotation", instance: "a" },
    summary: "Reconcile of rotation is stuck.",
  },
  {
    alert: "KeyturnQueueSlow",
    series: { 'workqueue_queue_duration_seconds_bucket{controller="rotation",le="1",instance="a"}': growingBy(30) },
    labels: { severity: "warning", controller: "rotation" },
    summary: "The controller rotation is behind.",
  },
  {
    alert: "KeyturnApiErrors",
    series: { 'rest_client_requests_total{host="api",code="<error>",instance="a"}': growingBy(200) },
    labels: { severity: "warning", host: "api" },
    summary: "The API server at api fails.",
  },
  {
    alert: "KeyturnRotationLate",
    series: { 'keyturn_rotation_next_due_timestamp_seconds{instance="a"}': always(6000) },
    labels: { severity: "critical", instance: "a" },
    summary: "A rotation is late.",
  },
  {
    alert: "KeyturnRotationStandstill",
    series: { 'keyturn_rotation_standstill{namespace="shop",set="signing",reason="NoSource",instance="a"}': always(1) },
    labels: { severity: "warning", namespace: "shop", set: "signing", reason: "NoSource", instance: "a" },
    summary: "The set signing in shop stands still (NoSource).",
  },
  {
    alert: "KeyturnCertificateExpiresSoon",
    series: { 'keyturn_jwks_certificate_expiry_timestamp_seconds{kind="JWKSConfig",namespace="shop",name="site",instance="a"}': always(4 * day) },
    labels: { severity: "warning", kind: "JWKSConfig", namespace: "shop", name: "site" },
    summary: "A certificate of JWKSConfig shop/site expires soon.",
  },
  {
    alert: "KeyturnCertificateExpires",
    series: { 'keyturn_jwks_certificate_expiry_timestamp_seconds{kind="JWKSConfig",namespace="shop",name="site",instance="a"}': always(day / 2) },
    labels: { severity: "critical", kind: "JWKSConfig", namespace: "shop", name: "site" },
    summary: "A certificate of JWKSConfig shop/site expires within a day, or has expired.",
  },
  {
    alert: "KeyturnNoActiveKey",
    series: { 'keyturn_jwks_keys{kind="JWKSConfig",namespace="shop",name="site",state="Active",instance="a"}': always(0) },
    labels: { severity: "critical", kind: "JWKSConfig", namespace: "shop", name: "site" },
    summary: "JWKSConfig shop/site publishes no active key.",
  },
  {
    alert: "KeyturnChecksumLeftOut",
    series: { 'keyturn_checksum_problem_objects{kind="SecretCheckSum",namespace="shop",reason="NoVersion",instance="a"}': always(3) },
    labels: { severity: "warning", kind: "SecretCheckSum", namespace: "shop", reason: "NoVersion" },
    summary: "3 objects of shop are a problem for its SecretCheckSum (NoVersion).",
  },
  {
    alert: "KeyturnChecksumHeld",
    series: { 'keyturn_checksum_held{kind="SecretCheckSum",namespace="shop",instance="a"}': always(1) },
    labels: { severity: "critical", kind: "SecretCheckSum", namespace: "shop" },
    summary: "What is in shop is not published as its SecretCheckSum.",
  },
  {
    alert: "KeyturnAnnouncementLasts",
    series: { 'keyturn_checksum_awaited{kind="SecretCheckSum",namespace="shop",instance="a"}': always(1) },
    labels: { severity: "warning", kind: "SecretCheckSum", namespace: "shop" },
    summary: "An announced state of shop has not come.",
  },
  {
    alert: "KeyturnAgentMismatch",
    series: { 'keyturn_agent_alarm{alarm="Mismatch",namespace="shop",instance="gateway"}': always(1) },
    labels: { severity: "warning", alarm: "Mismatch", namespace: "shop", instance: "gateway" },
    summary: "The Secrets of shop match no checksum.",
  },
  {
    alert: "KeyturnAgentServesExpired",
    series: { 'keyturn_agent_alarm{alarm="ServedExpired",namespace="shop",instance="gateway"}': always(1) },
    labels: { severity: "critical", alarm: "ServedExpired", namespace: "shop", instance: "gateway" },
    summary: "A gateway in shop serves an expired certificate.",
  },
  {
    alert: "KeyturnAgentAlarm",
    series: { 'keyturn_agent_alarm{alarm="Damaged",namespace="shop",instance="gateway"}': always(1) },
    labels: { severity: "warning", alarm: "Damaged", namespace: "shop", instance: "gateway" },
    summary: "The agent gateway raises the alarm Damaged.",
  },
  {
    alert: "KeyturnAgentSetOld",
    series: { 'keyturn_agent_staleness_seconds{namespace="shop",instance="gateway"}': growingBy(60) },
    labels: { severity: "warning", namespace: "shop", instance: "gateway" },
    summary: "What a gateway in shop serves is unverified.",
  },
  {
    alert: "KeyturnAgentSetOld",
    series: { 'keyturn_agent_staleness_seconds{namespace="shop",instance="gateway"}': always(-1) },
    labels: { severity: "warning", namespace: "shop", instance: "gateway" },
    summary: "What a gateway in shop serves is unverified.",
  },
  {
    alert: "KeyturnIssuingFails",
    series: { 'keyturn_eventing_auth_ready{namespace="kcp",name="one",instance="a"}': always(0) },
    labels: { severity: "warning", namespace: "kcp", name: "one" },
    summary: "The runtime one has no credentials.",
  },
  {
    alert: "KeyturnIdentityProviderFails",
    series: { 'keyturn_eventing_auth_identity_requests_total{step="create",code="<error>",instance="a"}': growingBy(120) },
    labels: { severity: "critical" },
    summary: "The identity provider refuses or does not answer.",
  },
  {
    alert: "KeyturnRuntimeUnreachable",
    series: { 'keyturn_eventing_auth_target_reachable{namespace="kcp",name="one",instance="a"}': always(0) },
    labels: { severity: "warning", namespace: "kcp", name: "one" },
    summary: "The cluster of the runtime one does not answer.",
  },
  {
    alert: "KeyturnLeftBehind",
    series: { 'keyturn_eventing_auth_abandoned_total{instance="a"}': "0x150 1x30" },
    labels: { severity: "info", instance: "a" },
    summary: "A deletion left something behind.",
  },
  {
    alert: "KeyturnRestartsStuck",
    series: { 'keyturn_sidecars_stuck_rollouts{instance="a"}': always(2) },
    labels: { severity: "critical", instance: "a" },
    summary: "2 restarted workloads are not healthy in time.",
  },
  {
    alert: "KeyturnRestartsRefused",
    series: { 'keyturn_sidecars_restart_failures_total{instance="a"}': growingBy(1) },
    labels: { severity: "warning", instance: "a" },
    summary: "Restarts are refused.",
  },
  {
    alert: "KeyturnSidecarsUnknown",
    series: { 'keyturn_sidecars_unknown_workloads{reason="WebhookFailed",instance="a"}': always(7) },
    labels: { severity: "warning", reason: "WebhookFailed" },
    summary: "Of 7 workloads it is not known whether their sidecar is outdated (WebhookFailed).",
  },
  {
    alert: "KeyturnCredentialRolloutStuck",
    series: { 'keyturn_consumers_stuck_rollouts{instance="a"}': always(1) },
    labels: { severity: "critical", instance: "a" },
    summary: "1 restarted workloads are not healthy in time.",
  },
  {
    alert: "KeyturnOldCredentialInUse",
    series: { 'keyturn_consumers_outdated_workloads{reason="CredentialChanged",instance="a"}': always(3) },
    labels: { severity: "warning", instance: "a", reason: "CredentialChanged" },
    summary: "3 workloads have run with old content for an hour.",
  },
  {
    alert: "KeyturnCredentialRestartsRefused",
    series: { 'keyturn_consumers_restart_failures_total{instance="a"}': growingBy(1) },
    labels: { severity: "warning", instance: "a" },
    summary: "Restarts are refused.",
  },
];
