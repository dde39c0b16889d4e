// Verify a delivery of Checklist Dispatch with nothing but Node's standard library.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

const NAMES = ['"@method"', '"@target-uri"', '"@authority"', '"content-type"', '"content-digest"']
const INPUT = new RegExp(
  `^sig1=(\\(${NAMES.join(' ')}\\);created=(\\d{1,15})` +
    '(?:(?:;expires=(\\d{1,15}))?;nonce="([\\w-]+)";alg="hmac-sha256";keyid="([^"]*)"' +
    '|;keyid="([^"]*)";alg="hmac-sha256"(?:;expires=(\\d{1,15}))?;nonce="([\\w-]+)")' + // the order of earlier versions
    ';tag="checklist-dispatch/v1")$',
)

/**
 * The keyId and the nonce of a genuine and fresh delivery; else throws an Error that names the check that failed.
 *
 * `headers` are those of `request.headersDistinct`: each name in lower case with all of its values. `body` is a Buffer
 * of the bytes as they came, `now` in seconds.
 */
export function verify(method, url, headers, body, secret, { now = Date.now() / 1000, maxAge = 300, skew = 5 } = {}) {
  const field = (name) => (headers[name] ?? []).join(', ') // a field that occurs twice fits nothing below
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
  if (!same(field('content-digest'), digest)) throw new Error('content-digest: the body is not the one that was sent')
  const signed = INPUT.exec(field('signature-input'))
  if (!signed) throw new Error('signature-input: not one sig1 with the five components, in order, and our tag')
  const [, params, created] = signed
  const expires = signed[3] ?? signed[7] ?? Number(created) + maxAge
  if (!(Number(created) - skew <= now && now <= Math.min(Number(created) + maxAge, Number(expires)) + skew))
    throw new Error('created, expires: too old, or from the future')
  const values = [method, url, url.split('/')[2], field('content-type'), digest]
  const base = NAMES.map((name, position) => `${name}: ${values[position]}\n`).join('') + `"@signature-params": ${params}`
  const mac = createHmac('sha256', secret).update(base).digest('base64')
  if (!same(field('signature'), `sig1=:${mac}:`))
    throw new Error('signature: made with another secret, or for another request')
  return { keyId: signed[5] ?? signed[6], nonce: signed[4] ?? signed[8] }
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
function same(given, expected) {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
