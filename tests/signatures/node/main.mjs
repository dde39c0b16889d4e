// Reads cases as lines of JSON, `{id, url, secret, raw (base64), now (seconds, or null for the clock)}`, and answers
// each with `{id, verdicts: {verifier: {library: why it refuses or null, rules: [broken rules]}}}`.

import { createInterface } from 'node:readline'
import { verify } from '../../../examples/receivers/node/verify.mjs'
import { libraries } from './libraries.mjs'
import { readRequest } from './raw_request.mjs'
import { brokenRules } from './rules.mjs'

const verifiers = {
  ...libraries,
  /** The example of the receiver guide. */
  async 'node-example'(request, { received, secret, now }) {
    verify(request.method, received, request.headers, request.body, secret, now === null ? {} : { now })
  },
}

async function verdictsOn({ url, secret, raw, now }) {
  const names = Object.keys(verifiers)
  let request
  try {
    request = await readRequest(Buffer.from(raw, 'base64'))
  } catch (error) {
    return Object.fromEntries(names.map((name) => [name, { library: `no HTTP: ${error.message}`, rules: [] }]))
  }
  const received = `${url.split('://')[0]}://${request.host}${request.target}`
  const given = { url, received, secret, now }
  const verdicts = {}
  for (const name of names) {
    let library = null
    try {
      await verifiers[name](request, given)
    } catch (error) {
      library = String(error.message)
    }
    const rules = brokenRules(request, { ...given, now: now ?? Date.now() / 1000 })
    verdicts[name] = { library, rules }
  }
  return verdicts
}

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line)
  process.stdout.write(JSON.stringify({ id: given.id, verdicts: await verdictsOn(given) }) + '\n')
}
