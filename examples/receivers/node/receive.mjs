// What Node receivers do with one delivery, whatever framework brought it.

import { setTimeout as sleep } from 'node:timers/promises'
import { Inbox, Nonces, readEvent } from './inbox.mjs'
import { verify } from './verify.mjs'

export const MAX_BODY = 2 * 1024 * 1024
export const PORT = Number(process.env.PORT ?? 9000)

const SECRET = process.env.WEBHOOK_SECRET
if (!SECRET) throw new Error('set WEBHOOK_SECRET to the secret given in webhook.secret at dispatch')

/** What your system does with an event, after the answer. */
async function work(event) {
  await sleep(Number(process.env.WORK_SECONDS ?? 0) * 1000)
  console.log(`worked on: ${event.event_id}`)
}

const inbox = new Inbox(process.env.INBOX ?? 'inbox', work)
const nonces = new Nonces()

/** The status to answer with. `url` is the configured one, `body` the bytes as they came. */
export async function receive(request, url, body) {
  const now = Date.now() / 1000
  let keyId, nonce
  try {
    ;({ keyId, nonce } = verify(request.method, url, request.headersDistinct, body, SECRET, { now }))
  } catch (error) {
    return said(401, `refused: ${error.message}`)
  }
  if (!nonces.isNew(nonce, now)) return said(401, 'refused: nonce: this very transmission has come before')
  let event
  try {
    event = readEvent(body, keyId)
  } catch (error) {
    return said(400, `refused: ${error.message}`)
  }
  const about = `${event.event} ${event.event_id} attempt ${event.delivery_attempt} of ${event.run_id}`
  const isNew = await inbox.add(event.event_id, body)
  return said(204, `${isNew ? 'verified' : 'duplicate'}: ${about}`)
}

/** The configured URL; for trying things out it may be left out. Says where the server listens. */
export function listening(server) {
  const url = process.env.WEBHOOK_URL ?? `http://127.0.0.1:${server.address().port}/hook`
  console.log(`listening: ${url}`)
  return url
}

export function said(status, line) {
  console.log(`${status} ${line}`)
  return status
}
