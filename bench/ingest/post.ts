import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { item } from './items.ts'
import { type Job, timeBatches } from './job.ts'

const body = ({ users, batchRows }: Job, from: number): Buffer =>
  Buffer.from(JSON.stringify({ events: Array.from({ length: batchRows }, (_, i) => item(from + i, users)) }))

await timeBatches(body, async ({ url, key, concurrency, batchRows }) => {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const post = (content: Buffer) =>
    new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': content.length }
      const outgoing = request(`${url}/v4/events`, { method: 'POST', agent, headers }, response => {
        text(response).then(
          answer => (response.statusCode === 200 ? resolve(answer) : reject(new Error(`${response.statusCode}: ${answer.slice(0, 500)}`))),
          reject,
        )
      })
      outgoing.on('error', reject)
      outgoing.end(content)
    })
  return {
    async send(content) {
      const answer = await post(content)
      if (!answer.startsWith(`{"object":"event_batch","url":"/v4/events","created":${batchRows},`))
        throw new Error(`not every event was created: ${answer.slice(0, 200)}`)
    },
    close: async () => agent.destroy(),
  }
})
