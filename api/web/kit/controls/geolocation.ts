/** Reads the device's location once, as accurately as possible within a time limit. */

export interface Place {
  lat: number;
  lng: number;
  accuracy_m: number | null;
}

export type NoPlace = "denied" | "unavailable" | "unsupported";

const OPTIONS: PositionOptions = { enableHighAccuracy: true, timeout: 20_000, maximumAge: 30_000 };

export function locate(): Promise<Place | NoPlace> {
  const device = navigator.geolocation;
  if (!device || !window.isSecureContext) return Promise.resolve("unsupported");
  return new Promise((resolve) => {
    device.getCurrentPosition(
      ({ coords }) =>
        resolve({
          // Seven decimals are a centimetre; more is noise.
          lat: rounded(coords.latitude, 7),
          lng: rounded(coords.longitude, 7),
          accuracy_m: Number.isFinite(coords.accuracy) ? rounded(coords.accuracy, 1) : null,
        }),
      (error) => resolve(error.code === error.PERMISSION_DENIED ? "denied" : "unavailable"),
      OPTIONS,
    );
  });
}

function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
