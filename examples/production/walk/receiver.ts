// Your own server, as the walk needs it: stores each webhook as a line of a file, and then answers 200. A real one verifies the signature before:
// examples/webhook-receiver.ts.
//
//   node receiver.ts PORT FILE
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import process from 'node:process'
import { text } from 'node:stream/consumers'

const [port, file = ''] = process.argv.slice(2)
createServer(async (request, response) => {
  // A worker that is killed while it sends has sent nothing.
  const body = await text(request).catch(() => null)
  if (body === null) return
  const parsed = JSON.parse(body)
  // The test of an activation is no event.
  if (parsed.test !== true)
    appendFileSync(file, `${JSON.stringify({ id: request.headers['webhook-id'], path: request.url, body: parsed })}\n`)
  response.end()
}).listen(Number(port), '127.0.0.1')
