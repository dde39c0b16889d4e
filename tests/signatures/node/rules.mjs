// What the receiver guide asks for around any library: the checks that libraries leave to their users.

import { createHash } from 'node:crypto'

const INPUT = new RegExp(
  '^sig1=\\("@method" "@target-uri" "@authority" "content-type" "content-digest"\\);created=(\\d+)' +
    '(?:(?:;expires=(\\d+))?;nonce="[\\w-]+";alg="hmac-sha256";keyid="[^"]*"' +
    '|;keyid="[^"]*";alg="hmac-sha256"(?:;expires=(\\d+))?;nonce="[\\w-]+");tag="checklist-dispatch/v1"$',
)
// 32 bytes in the one spelling that base64 has for them: the last character carries two bits that are always zero.
const SIGNATURE = /^sig1=:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=:$/
const ONCE = ['content-type', 'content-digest', 'signature-input', 'signature']

/** The names of the rules that the request breaks. */
export function brokenRules(request, { url, received, now }) {
  const input = INPUT.exec((request.headers['signature-input'] ?? []).join(', '))
  const broken = []
  if (received !== url) broken.push('url')
  if (request.method !== 'POST') broken.push('method')
  if (ONCE.some((name) => request.headers[name]?.length !== 1)) broken.push('once')
  if (!input || !SIGNATURE.test((request.headers.signature ?? []).join(', '))) broken.push('shape')
  if (!input || !isFresh(Number(input[1]), Number(input[2] ?? input[3] ?? Infinity), now)) broken.push('time')
  if ((request.headers['content-digest'] ?? []).join(', ') !== digestOf(request.body)) broken.push('digest')
  return broken
}

function isFresh(created, expires, now) {
  return created - 5 <= now && now <= Math.min(created + 300, expires) + 5
}

function digestOf(body) {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
}
