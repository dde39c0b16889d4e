// A receiver with Node's standard library. Settings are environment variables: WEBHOOK_SECRET, WEBHOOK_URL, PORT, INBOX.
//
//     WEBHOOK_SECRET="the secret given at dispatch" node examples/receivers/node/receiver.mjs

import { createServer } from 'node:http'
import { listening, MAX_BODY, PORT, receive, said } from './receive.mjs'

const server = createServer(async (request, response) => {
  try {
    response.statusCode = await answerTo(request)
  } catch (error) {
    console.error(error)
    response.statusCode = 500
  }
  response.end()
})

async function answerTo(request) {
  if (request.method !== 'POST') return said(405, 'refused: a delivery is a POST')
  const parts = []
  let length = 0
  for await (const part of request) {
    length += part.length
    if (length > MAX_BODY) return said(413, 'refused: too large')
    parts.push(part)
  }
  return receive(request, url, Buffer.concat(parts))
}

let url
server.listen(PORT, '127.0.0.1', () => (url = listening(server)))
