// Keys: each JWKS with its keys as bars, so that one sees how they overlap.
import type { JSX } from "preact";
import type { KeySetRecord } from "../../contract/index.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import { usePage } from "../state/page.ts";
import { keyTracks } from "../timeline/key-tracks.ts";
import { TimelineView } from "./timeline-view.tsx";

const textsOf = ({ keys, configMap }: KeySetRecord): readonly string[] => [configMap, ...keys.flatMap(({ kid, source }) => [kid, source])];

const legend = [
  { look: "bar live hue-0", meaning: "active" },
  { look: "bar retiring", meaning: "retiring: verifies, signs no more" },
  { look: "bar removed", meaning: "removed" },
  { look: "mark expiry tone-warning", meaning: "certificate expires" },
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
