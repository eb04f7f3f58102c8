// Rotation: a lane per target over time, with what was, what is live, and what is planned.
import type { JSX } from "preact";
import type { RotationSetRecord } from "../../contract/index.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import { usePage } from "../state/page.ts";
import { rotationTracks } from "../timeline/rotation-tracks.ts";
import { TimelineView } from "./timeline-view.tsx";

const textsOf = ({ set, source, lanes }: RotationSetRecord): readonly string[] => [
  set,
  source?.name ?? "",
  ...lanes.map(({ target }) => target.name),
];

const legend = [
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
      textsOf={textsOf}
      noun="rotation sets"
      label="Rotation over time"
      legend={legend}
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
