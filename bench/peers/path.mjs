// The path of an event to a receiver as it is stitched together by hand, each round in its turn: a worker on pg-boss or BullMQ that posts
// signed bodies in batches and completes them, and the runs, steps, deliveries and jobs of an automation by four multi-row statements for
// each 200. Reads lines `{"side", "events", "receiver"}`, prints lines `{"rate", "node"}`: events a second, milliseconds of this process for one.
import { createHmac, randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { Queue, Worker } from 'bullmq'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { Agent, request } from 'undici'
import { BY_HAND, TABLES } from './path-statements.mjs'

const [database, redis] = process.argv.slice(2)
const CONNECTIONS = 50
const LOOPS = 3
const FETCHED = 50
const INSERTED = 500
const BY_HAND_BATCH = 200

const agent = new Agent({ connections: CONNECTIONS })
let receiver = ''

async function post(id) {
  const sent = {
    event_id: id,
    event_name: 'bench.path',
    user_id: `QON_${id}`,
    happened_at: new Date().toISOString(),
    properties: { plan: 'x'.repeat(200) },
  }
  const body = JSON.stringify(sent)
  const signature = createHmac('sha256', 'k').update(`${id}.${body}`).digest('base64')
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-signature': signature }
  const answer = await request(receiver, { method: 'POST', dispatcher: agent, headers, body })
  await answer.body.text()
}

const batches = count => Array.from({ length: Math.ceil(count / INSERTED) }, (_, n) => Math.min(INSERTED, count - n * INSERTED))

const boss = new PgBoss({ connectionString: database, max: 10 })
await boss.start()
await boss.createQueue('path')

async function overPgBoss(count) {
  for (const size of batches(count)) {
    const jobs = Array.from({ length: size }, () => ({ data: { id: randomUUID() } }))
    await boss.insert('path', jobs)
  }
  const loop = async () => {
    for (;;) {
      const jobs = await boss.fetch('path', { batchSize: FETCHED })
      if (!jobs?.length) return
      await Promise.all(jobs.map(({ data }) => post(data.id)))
      await boss.complete(
        'path',
        jobs.map(({ id }) => id),
      )
    }
  }
  await Promise.all(Array.from({ length: LOOPS }, loop))
}

const { hostname: host, port } = new URL(redis)
const connection = { host, port: Number(port), maxRetriesPerRequest: null }
const queue = new Queue('path', { connection })

async function overBullmq(count) {
  let done = 0
  await new Promise((resolve, reject) => {
    const worker = new Worker('path', job => post(job.data.id), {
      connection,
      concurrency: LOOPS * FETCHED,
      removeOnComplete: { count: 0 },
    })
    worker.on('completed', () => {
      if (++done === count) worker.close().then(resolve, reject)
    })
    worker.on('failed', (_, error) => reject(error))
    const add = async () => {
      for (const size of batches(count))
        await queue.addBulk(Array.from({ length: size }, () => ({ name: 'post', data: { id: randomUUID() } })))
    }
    add().catch(reject)
  })
}

const pool = new pg.Pool({ connectionString: database, max: 6 })
await pool.query(TABLES)

async function inTransaction(client, { name, text }, values) {
  await client.query('begin')
  const { rows } = await client.query({ name, text, values })
  await client.query('commit')
  return rows
}

async function batchByHand(size) {
  const client = await pool.connect()
  try {
    const ids = Array.from({ length: size }, () => randomUUID())
    const users = ids.map(id => `QON_${id.slice(0, 12)}`)
    const runs = await inTransaction(client, BY_HAND.start, [ids, users])
    const numbers = runs.map(({ number }) => number)
    const sent = await inTransaction(client, BY_HAND.send, [numbers, runs.map(({ id }) => id), runs.map(({ user_id }) => user_id)])
    await Promise.all(sent.map(({ id }) => post(id)))
    await inTransaction(client, BY_HAND.record, [sent.map(({ number }) => number)])
    await inTransaction(client, BY_HAND.end, [numbers])
  } finally {
    client.release()
  }
}

async function byHand(count) {
  let left = count
  const loop = async () => {
    while (left > 0) {
      const size = Math.min(BY_HAND_BATCH, left)
      left -= size
      await batchByHand(size)
    }
  }
  await Promise.all(Array.from({ length: LOOPS }, loop))
}

const SIDES = { 'pg-boss': overPgBoss, BullMQ: overBullmq, 'by hand': byHand }

console.log(JSON.stringify({ ready: true }))
for await (const line of createInterface(process.stdin)) {
  const { side, events, receiver: url } = JSON.parse(line)
  receiver = url
  const cpu = process.cpuUsage()
  const began = performance.now()
  await SIDES[side](events)
  const passed = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(cpu)
  console.log(JSON.stringify({ rate: events / passed, node: (user + system) / 1000 / events }))
}
