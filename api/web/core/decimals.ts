/**
 * Decimal arithmetic on the shortest text of a number, which Python and JavaScript write the same. Binary fractions
 * cannot tell how many decimals 0.1 has.
 */

// Relative rounding error of binary fractions (0.1 + 0.2 is 0.30000000000000004): 1e-14.
const NOISE = 10n ** 14n;

/** The number without the rounding error of binary fractions; null if it has more decimals. */
export function roundedTo(value: number, decimals: number): number | null {
  const [mantissa = "0", exponent = "0"] = String(Math.abs(value)).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const scale = fraction.length - Number(exponent);
  if (scale <= decimals) return value;
  const digits = BigInt(whole + fraction);
  const unit = 10n ** BigInt(scale - decimals);
  const [quotient, rest] = [digits / unit, digits % unit];
  const up = rest * 2n > unit || (rest * 2n === unit && quotient % 2n === 1n);
  const off = up ? unit - rest : rest;
  if (off * NOISE > digits) return null;
  return off === 0n ? value : Math.sign(value) * Number(`${quotient + (up ? 1n : 0n)}e-${decimals}`);
}
