// What a receiver has to remember: nonces for as long as a signature holds, events for good, work until it is done.
//
// The first attempts of one run may overlap, and a retry may arrive after a later event: order events by `seq`.

import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync } from 'node:fs'
import { link, open, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const EVENT_ID = /^evt-[0-9A-Za-z-]{1,64}$/

/** The event in a verified body; throws an Error when it is none, or of another run than the signature's keyid. */
export function readEvent(body, keyId) {
  let event
  try {
    event = JSON.parse(body.toString('utf8'))
  } catch {
    event = null
  }
  const isEvent =
    ['event_id', 'event', 'run_id'].every((name) => typeof event?.[name] === 'string') &&
    Number.isInteger(event.delivery_attempt) &&
    EVENT_ID.test(event.event_id)
  if (!isEvent) throw new Error('event: the body is none')
  if (event.run_id !== keyId) throw new Error("run_id: not the run of the signature's keyid")
  return event
}

/**
 * The nonces of the last 310 s, which is how long `verify` takes a signature: 300 s, and 5 s of skew either way.
 *
 * Each transmission has a nonce of its own, a repeated attempt too. One that comes twice is a copy made on the way.
 */
export class Nonces {
  #seen = new Map()

  constructor(keepSeconds = 310) {
    this.keep = keepSeconds
  }

  isNew(nonce, now) {
    for (const [old, seenAt] of this.#seen) {
      if (seenAt >= now - this.keep) break // a Map keeps the order in which things came
      this.#seen.delete(old)
    }
    if (this.#seen.has(nonce)) return false
    this.#seen.set(nonce, now)
    return true
  }
}

/**
 * One file for each event, named by its event_id: it is there whole or not at all, and no event is there twice.
 *
 * `work` is called after the answer, once for each event and one at a time, and at the next start for those whose work
 * had not come to its end. With several machines, use a table with a unique event_id in the same way.
 */
export class Inbox {
  #last = Promise.resolve()

  constructor(folder, work) {
    this.events = join(folder, 'events')
    this.done = join(folder, 'done')
    this.work = work
    for (const each of [this.events, this.done]) mkdirSync(each, { recursive: true })
    const done = new Set(readdirSync(this.done))
    for (const name of readdirSync(this.events))
      if (name.endsWith('.json') && !done.has(name.slice(0, -5))) this.#queue(name.slice(0, -5))
  }

  /** Whether the event is new. When this has come to its end, it is stored and may be acknowledged. */
  async add(eventId, body) {
    if (!EVENT_ID.test(eventId)) throw new Error('event_id: not one of ours, and it is to name a file')
    const made = join(this.events, randomUUID())
    try {
      const file = await open(made, 'wx')
      await file.writeFile(body)
      await file.sync()
      await file.close()
      await link(made, join(this.events, `${eventId}.json`)) // fails when it is there; replaces nothing
    } catch (error) {
      if (error.code === 'EEXIST') return false
      throw error
    } finally {
      await unlink(made)
    }
    this.#queue(eventId)
    return true
  }

  #queue(eventId) {
    this.#last = this.#last.then(async () => {
      try {
        await this.work(JSON.parse(await readFile(join(this.events, `${eventId}.json`), 'utf8')))
        await writeFile(join(this.done, eventId), '')
      } catch (error) {
        console.error(error) // it stays undone, and is tried again at the next start
      }
    })
  }
}
