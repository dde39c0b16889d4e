/**
 * The places of a run's answers: a drawing to scale, without a map behind it. Tiles of a map come from another server,
 * which would learn where people work. `geo:` opens the map app of the person's choice.
 */
import type { Geo } from "../../core/types";
import { Icon } from "../../kit/controls/icon";
import { CopyButton } from "../parts/copy";
import { Section } from "../parts/page_head";
import { distanceText, placeMap } from "./run_places";
import { answeredSteps, type RunStory } from "./runs_types";

const WIDTH = 360;
const HEIGHT = 200;
const AT_MOST = 100;

export interface NumberedPlace {
  readonly number: number;
  readonly geo: Geo;
  readonly label: string;
}

/** In the order of the checklist. */
export function placesOf(story: RunStory): ReadonlyMap<string, NumberedPlace> {
  const found = new Map<string, NumberedPlace>();
  for (const { step, answer } of answeredSteps(story)) {
    if (answer.geo) found.set(step.id, { number: found.size + 1, geo: answer.geo, label: step.label });
  }
  return found;
}

export function Places({ places }: { places: readonly NumberedPlace[] }) {
  const shown = places.slice(0, AT_MOST);
  if (shown.length === 0) return null;
  const { spots, bar, metres } = placeMap(
    shown.map(({ geo }) => geo),
    WIDTH,
    HEIGHT,
  );
  const label = shown.length === 1 ? "The place of 1 answer, with its accuracy" : `The places of ${shown.length} answers, with their accuracy`;
  return (
    <Section title="Places" lead="North is up; a circle is the accuracy. There is no map behind it, because its server would learn the places.">
      <svg class="place-map" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {spots.map(({ x, y, radius }, index) => (
          <circle key={index} class="place-accuracy" cx={x} cy={y} r={radius ?? 0} />
        ))}
        {spots.map(({ x, y }, index) => (
          <g key={index} transform={`translate(${x} ${y})`}>
            <circle class="place-dot" r="9" />
            <text class="place-number" dy="4">
              {shown[index]?.number}
            </text>
          </g>
        ))}
        <path class="place-bar" d={`M12 ${HEIGHT - 12}v-6m0 3h${bar}m0-3v6`} />
        <text class="place-scale" x={18 + bar} y={HEIGHT - 11}>
          {distanceText(metres)}
        </text>
      </svg>
    </Section>
  );
}

export function Place({ geo, number }: { geo: Geo; number: number | undefined }) {
  const coordinates = `${geo.lat.toFixed(5)}, ${geo.lng.toFixed(5)}`;
  return (
    <p class="place small">
      <Icon name="pin" />
      {number !== undefined && <span class="place-mark tabular">{number}</span>}
      <a class="tabular" href={`geo:${geo.lat.toFixed(6)},${geo.lng.toFixed(6)}`} title="Open in the map app of this device">
        {coordinates}
      </a>
      <span class="quiet">{geo.accuracy_m === null ? "accuracy unknown" : `accurate to ${Math.round(geo.accuracy_m)} m`}</span>
      <CopyButton text={coordinates} label="Copy the coordinates" />
    </p>
  );
}
