/** Geometry of the small map of a run: its places in metres around their middle, north up. Pure. */
import type { Geo } from "../../core/types";

export interface Spot {
  /** In the units of the drawing, from its upper left corner. */
  readonly x: number;
  readonly y: number;
  /** Radius of the accuracy; null if unknown. */
  readonly radius: number | null;
}

export interface PlaceMap {
  readonly spots: readonly Spot[];
  /** The scale bar: its length in the drawing, and what it stands for. */
  readonly bar: number;
  readonly metres: number;
}

const METRES_PER_DEGREE = 111_320;
/** The drawing shows at least this width, so that one place is not magnified without limit. */
const LEAST_M = 60;
const MARGIN = 0.12;

/** Fits all places with their accuracy into a drawing of `width` by `height`. The list must not be empty. */
export function placeMap(places: readonly Geo[], width: number, height: number): PlaceMap {
  const middle = (places[0] as Geo).lat * (Math.PI / 180);
  const origin = places[0] as Geo;
  const points = places.map((geo) => ({
    east: turn(geo.lng - origin.lng) * METRES_PER_DEGREE * Math.cos(middle),
    south: (origin.lat - geo.lat) * METRES_PER_DEGREE,
    radius: geo.accuracy_m,
  }));
  const reach = (axis: "east" | "south") => {
    const from = Math.min(...points.map((point) => point[axis] - (point.radius ?? 0)));
    const until = Math.max(...points.map((point) => point[axis] + (point.radius ?? 0)));
    return { middle: (from + until) / 2, length: until - from };
  };
  const [across, down] = [reach("east"), reach("south")];
  const inner = 1 - 2 * MARGIN;
  const scale = Math.min((width * inner) / Math.max(across.length, LEAST_M), (height * inner) / Math.max(down.length, LEAST_M * (height / width)));
  const metres = roundedDown(width / 3 / scale);
  return {
    spots: points.map(({ east, south, radius }) => ({ x: width / 2 + (east - across.middle) * scale, y: height / 2 + (south - down.middle) * scale, radius: radius === null ? null : radius * scale })),
    bar: metres * scale,
    metres,
  };
}

/** A difference of longitudes, the short way around the earth. */
function turn(degrees: number): number {
  return ((degrees + 540) % 360) - 180;
}

/** 1, 2 or 5 times a power of ten. */
function roundedDown(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const rest = value / power;
  return (rest >= 5 ? 5 : rest >= 2 ? 2 : 1) * power;
}

/** `20 m`, `2 km` */
export function distanceText(metres: number): string {
  return metres < 1 ? `${Math.round(metres * 100)} cm` : metres < 1_000 ? `${metres} m` : `${metres / 1_000} km`;
}
