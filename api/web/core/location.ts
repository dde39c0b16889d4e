import type { Geo, JsonValue, Problem } from "./types";

/** Problems of a location; empty for null, which means no location. */
export function geoProblems(geo: JsonValue | Geo): Problem[] {
  if (geo === null) return [];
  if (typeof geo !== "object" || Array.isArray(geo)) return [{ path: "geo", code: "wrong_type" }];
  const given = geo as Readonly<Record<string, JsonValue | undefined>>;
  return GEO_LIMITS.flatMap(([name, min, max]) => {
    const amount = given[name];
    const path = `geo.${name}`;
    if (amount == null) return name === "accuracy_m" ? [] : [{ path, code: "missing" }];
    if (typeof amount !== "number") return [{ path, code: "wrong_type" }];
    return amount >= min && amount <= max ? [] : [{ path, code: "out_of_range", params: { min, max } }];
  });
}

const GEO_LIMITS = [
  ["lat", -90, 90],
  ["lng", -180, 180],
  ["accuracy_m", 0, Number.MAX_SAFE_INTEGER],
] as const;
