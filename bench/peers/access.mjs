import { Agent, createServer, request } from 'node:http'
import pg from 'pg'
import { ready } from './list.mjs'

// The same round trips and nothing else: the row of a notification is committed, the store is asked as often, the row says so, the webhook goes out.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
await pool.query('create table if not exists sales (id text primary key, active boolean not null)')
const agent = new Agent({ keepAlive: true })

const send = (url, method, body) =>
  new Promise((resolve, reject) => {
    const out = request(url, { method, agent }, answer => answer.resume().once('end', resolve))
    out.once('error', reject).end(body)
  })

async function handle(user, calls) {
  for (let n = 0; n < calls; n++) await send(process.env.STORE_URL, 'GET')
  await pool.query({ name: 'activate', text: 'update sales set active = true where id = $1', values: [user] })
  await send(process.env.SINK_URL, 'POST', JSON.stringify({ event_id: user, user_id: user }))
}

const server = createServer(async (incoming, response) => {
  const { pathname, searchParams } = new URL(incoming.url, 'http://localhost')
  const user = searchParams.get('user')
  for await (const _ of incoming);
  if (pathname === '/access') {
    const { rows } = await pool.query({ name: 'access', text: 'select active from sales where id = $1', values: [user] })
    return response.end(String(rows[0]?.active ?? false))
  }
  await pool.query({ name: 'record', text: 'insert into sales values ($1, false) on conflict do nothing', values: [user] })
  response.end()
  await handle(user, Number(searchParams.get('calls')))
})
server.listen(0, '127.0.0.1', () => ready(server))
