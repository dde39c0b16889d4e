// A receiver with Express. Settings are environment variables: WEBHOOK_SECRET, WEBHOOK_URL, PORT, INBOX.
//
//     cd examples/receivers/express && npm ci && WEBHOOK_SECRET="the secret given at dispatch" npm start

import express from 'express'
import { listening, MAX_BODY, PORT, receive } from '../node/receive.mjs'

const app = express()

// The bytes as they came, whatever Content-Type says. `express.json()` before this would leave none of them.
app.post('/hook', express.raw({ type: () => true, limit: MAX_BODY, inflate: false }), async (request, response) => {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  response.status(await receive(request, url, body)).end()
})

let url
const server = app.listen(PORT, '127.0.0.1', () => (url = listening(server)))
