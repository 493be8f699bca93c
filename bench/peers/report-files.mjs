// Report files by hand: for each report one windowed SELECT to CSV, one PUT of the file and two row writes, four reports at a time. Reads a line
// `{"selects": [SQL of each report], "receiver"}` and prints `{"seconds", "node"}`: of all reports; milliseconds of this process for one.
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { to } from 'pg-copy-streams'
import { Agent, request } from 'undici'

const [database] = process.argv.slice(2)
const AT_ONCE = 4

const pool = new pg.Pool({ connectionString: database, max: AT_ONCE })
const agent = new Agent({ connections: AT_ONCE })
await pool.query(
  'create table report_files_by_hand (id bigint generated always as identity primary key, report int, bytes int, sent_at timestamptz)',
)

async function one(report, select, receiver) {
  const client = await pool.connect()
  try {
    const { rows } = await client.query({
      name: 'begin',
      text: 'insert into report_files_by_hand (report) values ($1) returning id',
      values: [report],
    })
    const body = await text(client.query(to(`copy (${select}) to stdout with (format csv, header)`)))
    const answer = await request(receiver, { method: 'PUT', dispatcher: agent, headers: { 'content-type': 'text/csv' }, body })
    await answer.body.text()
    await client.query({
      name: 'end',
      text: 'update report_files_by_hand set bytes = $2, sent_at = now() where id = $1',
      values: [rows[0].id, body.length],
    })
  } finally {
    client.release()
  }
}

console.log('{}')
for await (const line of createInterface(process.stdin)) {
  const { selects, receiver } = JSON.parse(line)
  const began = performance.now()
  const cpu = process.cpuUsage()
  const queue = selects.entries()
  const loop = async () => {
    for (const [report, select] of queue) await one(report, select, receiver)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, loop))
  const { user, system } = process.cpuUsage(cpu)
  console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000, node: (user + system) / 1000 / selects.length }))
}
