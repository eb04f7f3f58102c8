// Keys: each JWKS with its keys as bars, so that one sees how they overlap.
import type { JSX } from "preact";
import type { KeySetRecord, RotationSetRecord } from "../../contract/index.ts";
import { usePage } from "../page-state.ts";
import { EmptyState } from "../parts/connection-state.tsx";
import { keyTracks } from "../timeline/key-tracks.ts";
import { rotationTracks } from "../timeline/rotation-tracks.ts";
import { TimelineView } from "./timeline-view.tsx";

const textsOf = ({ keys, configMap }: KeySetRecord): readonly string[] => [configMap, ...keys.flatMap(({ kid, source }) => [kid, source])];

const legend = [
  { look: "bar live hue-0", meaning: "active" },
  { look: "bar retiring", meaning: "retiring: verifies, signs no more" },
  { look: "bar removed", meaning: "removed" },
  { look: "mark expiry tone-degraded", meaning: "certificate expires" },
  { look: "mark end", meaning: "removal" },
];

export function Keys(): JSX.Element {
  const { live } = usePage();
  return (
    <TimelineView
      view="publish"
      records={live.tables.keySet.value}
      tracksOf={keyTracks}
      textsOf={textsOf}
      noun="key sets"
      label="Keys over time"
      legend={legend}
      empty={
        <EmptyState title="No keys are published yet" command="kubectl get jwksconfigs,jwks -A">
          A JWKSConfig names a Secret with a certificate and the ConfigMap to publish its public key in.
        </EmptyState>
      }
    />
  );
}

// Rotation: a lane per target over time, with what was, what is live, and what is planned.

const textsOfRotation = ({ set, source, lanes }: RotationSetRecord): readonly string[] => [
  set,
  source?.name ?? "",
  ...lanes.map(({ ref }) => ref.name),
];

const legendRotation = [
  { look: "bar past hue-1", meaning: "held before" },
  { look: "bar live hue-1", meaning: "live" },
  { look: "bar planned hue-1", meaning: "planned" },
  { look: "bar past filled hue-1", meaning: "filled in for want of an older one" },
  { look: "band", meaning: "frozen" },
  { look: "band gap", meaning: "gap" },
];

export function Rotation(): JSX.Element {
  const { live } = usePage();
  return (
    <TimelineView
      view="rotate"
      records={live.tables.rotationSet.value}
      tracksOf={rotationTracks}
      textsOf={textsOfRotation}
      noun="rotation sets"
      label="Rotation over time"
      legend={legendRotation}
      legendNote="One colour is one version."
      empty={
        <EmptyState
          title="Nothing is rotated yet"
          command="kubectl annotate secret NAME rotator.k8s.telekom.com/source=true rotator.k8s.telekom.com/rotation-set=SET"
        >
          Mark a Secret as the source of a rotation set, and make a RotationTarget for each version that should be kept of it.
        </EmptyState>
      }
    />
  );
}
