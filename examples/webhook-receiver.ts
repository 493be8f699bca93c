// Receives webhooks, verifies their signatures and prints their events: `npm run receiver`, or `deno run -A examples/webhook-receiver.ts`.
// SIGNING_SECRET is the secret that Perennial showed when the integration was configured; PORT is 9000 by default.
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const { SIGNING_SECRET, PORT = '9000' } = process.env
if (!SIGNING_SECRET) {
  console.error('SIGNING_SECRET is missing: the generated_signing_secret of the integration')
  process.exit(1)
}
const webhook = new Webhook(SIGNING_SECRET)
/** When the answer to a delivery is lost, the delivery comes again with the same id. A real receiver stores the ids with the events. */
const known = new Set<string>()

const server = createServer(async (request, response) => {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const id = String(request.headers['webhook-id'])
  let event: Record<string, unknown>
  try {
    // The signature is over the received bytes, so verify before parsing.
    event = webhook.verify(text, request.headers as Record<string, string>) as Record<string, unknown>
  } catch (error) {
    console.log(`refused: ${(error as Error).message}`)
    response.writeHead(401).end()
    return
  }
  const kind = known.has(id) ? 'again, dropped' : event.test ? 'test' : 'verified'
  known.add(id)
  console.log(`${kind}: ${event.event_name}, webhook-id ${id}`)
  if (kind === 'verified') console.log(JSON.stringify(event, null, 2))
  // The test of an activation needs exactly 200.
  response.writeHead(200).end()
})
server.listen(Number(PORT), '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  console.log(`receiver: http://127.0.0.1:${port}`)
})
