import Koa from 'koa'
import pg from 'pg'
import { ready } from './list.mjs'

// A launch that reads its body and one row, and writes the row where there is none: no keys, no shapes, no limits. The answer is as long as the product's.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
await pool.query('create table if not exists launches (id text primary key, answer text not null)')
const answer = process.env.ANSWER

const FIND = { name: 'find', text: 'select answer from launches where id = $1' }
const CREATE = {
  name: 'create',
  text: 'insert into launches (id, answer) values ($1, $2) on conflict (id) do update set answer = excluded.answer returning answer',
}

async function bodyOf(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

const app = new Koa()
app.use(async ctx => {
  const { q_uid } = await bodyOf(ctx.req)
  const found = await pool.query({ ...FIND, values: [q_uid] })
  const { rows } = found.rowCount === 0 ? await pool.query({ ...CREATE, values: [q_uid, answer] }) : found
  ctx.type = 'json'
  ctx.body = rows[0].answer
})
const server = app.listen(0, '127.0.0.1', () => ready(server))
