import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import pg from 'pg'
import { ready } from './list.mjs'

// The product's own statements on a pool as large as the product's, and nothing else: no keys, no shapes, no limits.
const { requests, noteSeen, seenMicros } = JSON.parse(readFileSync(process.env.STATEMENTS, 'utf8'))
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })

const filled = (value, words) => (Array.isArray(value) ? value.map(one => filled(one, words)) : (words[value] ?? value))
const run = ({ name, text, values }, words) => pool.query({ name, text, values: filled(values, words) })

const app = Fastify()
app.get('/start/:step', async ({ params, query }) => {
  const words = { $user: query.user, $identity: query.identity }
  const [find, ...rest] = requests[Number(params.step)]
  const { rows } = await run(find, words)
  if (Number(rows[0].now) - Number(rows[0].last_seen_at) >= seenMicros) await run(noteSeen, words)
  let last = rows
  for (const statement of rest) last = (await run(statement, words)).rows
  return { data: last }
})
await app.listen({ port: 0, host: '127.0.0.1' })
ready(app.server)
