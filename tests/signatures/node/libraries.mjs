// The libraries, each asked for all that it can check by itself. Each function throws when it refuses.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { RFC9421SignatureBaseFactory, verifyRFC9530DigestHeader } from '@misskey-dev/node-http-message-signatures'
import { verifySignature } from 'http-message-sig'
import { createVerifier, httpbis } from 'http-message-signatures'

const COMPONENTS = ['@method', '@target-uri', '@authority', 'content-type', 'content-digest']
const FIELDS = ['content-type', 'content-digest', 'signature-input', 'signature']
const PARAMETERS = ['created', 'keyid', 'alg', 'nonce', 'tag']

export const libraries = {
  /** npm http-message-signatures. It knows no tag, no label and no digest, and no clock but the system's. */
  async 'http-message-signatures'(request, { received, secret, now }) {
    const verify = createVerifier(Buffer.from(secret), 'hmac-sha256')
    const systemClock = Date.now
    if (now !== null) Date.now = () => now * 1000
    try {
      const verified = await httpbis.verifyMessage(
        {
          keyLookup: async ({ keyid }) => ({ id: keyid, algs: ['hmac-sha256'], verify }),
          requiredFields: COMPONENTS,
          requiredParams: PARAMETERS,
          // It takes `tolerance` off `created` before it looks at the age: 310 means 300 s and 5 s of skew.
          maxAge: 310,
          tolerance: 5,
          all: true,
        },
        { method: request.method, url: received, headers: request.headers },
      )
      if (verified !== true) throw new Error('not verified')
    } finally {
      Date.now = systemClock
    }
  },

  /** npm http-message-sig, of Cloudflare. It has label, age, skew and an own clock; the tag is checked by its hook. */
  async 'http-message-sig'(request, { received, secret, now }) {
    const verifier = { algorithm: 'hmac-sha256', verify: (base, signature) => isMac(secret, base, signature) }
    // Only the fields in question: it refuses a request for a letter outside of ASCII in any other one.
    const fields = request.pairs.map(({ name, value }) => ({ name: name.toLowerCase(), value })).filter(isOurs)
    await verifySignature(
      { kind: 'request', method: request.method, targetUri: received, fields },
      {
        label: 'sig1',
        policy: {
          algorithms: ['hmac-sha256'],
          requiredComponents: COMPONENTS,
          requiredParameters: PARAMETERS,
          maxAge: 300,
          clockSkew: 5,
          ...(now === null ? {} : { now }),
          validate: ({ parameters }) => parameters.tag === 'checklist-dispatch/v1',
        },
        resolveVerifier: () => verifier,
      },
    )
  },

  /** npm @misskey-dev/node-http-message-signatures: signature base and digest are its own, the MAC is Node's. */
  async '@misskey-dev/node-http-message-signatures'(request, { received, secret }) {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, values]) => [name, values.join(', ')]))
    const message = { method: request.method, url: received, headers }
    const factory = new RFC9421SignatureBaseFactory(message)
    const [components, parameters] = factory.requestSignatureInput.get('sig1')
    if (components.map(([name]) => name).join() !== COMPONENTS.join()) throw new Error('other components')
    if (!PARAMETERS.every((name) => parameters.has(name))) throw new Error('a parameter is missing')
    const signature = /^sig1=:([^:]*):$/.exec(headers.signature)
    if (!signature || !isMac(secret, factory.generate('sig1'), Buffer.from(signature[1], 'base64')))
      throw new Error('the signature does not match')
    const options = { failOnNoDigest: true, verifyAll: true, algorithms: ['sha-256'] }
    if (!(await verifyRFC9530DigestHeader(message, request.body, options))) throw new Error('the digest does not match')
  },
}

function isOurs({ name }) {
  return FIELDS.includes(name)
}

function isMac(secret, base, signature) {
  const mac = createHmac('sha256', secret).update(base).digest()
  return signature.byteLength === mac.length && timingSafeEqual(mac, signature)
}
