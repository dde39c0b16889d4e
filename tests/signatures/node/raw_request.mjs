// The bytes of one request, read by Node's own HTTP server over a stream in memory.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { duplexPair } from 'node:stream'

/**
 * `{method, target, host, headers, pairs, body}` of the request that the bytes are; rejects when they are none.
 * `headers` holds all values of each name in lower case, `pairs` the fields in their order.
 */
export async function readRequest(raw) {
  const server = createServer()
  const [client, connection] = duplexPair()
  const read = new Promise((resolve, reject) => {
    server.on('clientError', reject)
    server.on('request', (request) => {
      const parts = []
      request.on('data', (part) => parts.push(part))
      request.on('error', reject)
      request.on('end', () => resolve(described(request, Buffer.concat(parts))))
    })
    client.on('close', () => reject(new Error('no complete request')))
  })
  server.emit('connection', connection)
  client.resume()
  client.write(raw)
  // Bytes that leave a request unfinished would be waited for, as on a socket.
  setImmediate(() => client.end())
  try {
    return await read
  } finally {
    connection.destroy()
    client.destroy()
    if (!connection.closed) await once(connection, 'close')
  }
}

function described(request, body) {
  const pairs = []
  for (let at = 0; at < request.rawHeaders.length; at += 2)
    pairs.push({ name: request.rawHeaders[at], value: request.rawHeaders[at + 1] })
  const headers = request.headersDistinct
  return { method: request.method, target: request.url, host: (headers.host ?? []).join(), headers, pairs, body }
}
