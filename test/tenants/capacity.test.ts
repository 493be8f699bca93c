import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sealSecret } from '../../domain/integrations/config.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { type Hostile, hostileServer } from '../harness/hostile.ts'
import { type S3Host, s3Host } from '../harness/report-bucket.ts'
import { finishedRun, sandbox, webhookTo } from '../harness/reports.ts'
import { type Sink, startSink } from '../harness/sink.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { until } from '../harness/until.ts'

// The uploads of one project wait for a bucket that never finishes its answers.
let api: TestApi
let slow: Hostile
let bucket: S3Host
let sink: Sink
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 30_000 })
  slow = await hostileServer(drip)
  bucket = await s3Host()
  sink = await startSink()
})
afterAll(async () => {
  await slow.close()
  await api.stop()
  await bucket.close()
  await sink.close()
})

/** A header line now and then: the answer never ends, and the connection is never idle. */
function drip(socket: Socket): void {
  socket.write('HTTP/1.1 200 OK\r\n')
  const timer = setInterval(() => socket.write('x: y\r\n'), 500)
  socket.on('close', () => clearInterval(timer))
}

async function bucketAt(project: TestProjectKeys, endpoint: string): Promise<string> {
  const environment = project.sandboxEnvironment
  const settings = { bucket: 'reports', region: 'us-east-1', access_key_id: 'S3RVER', endpoint }
  const integration = await storedIntegration(api.pool, environment, { slug: 'amazon_s3', settings })
  const sealed = sealSecret({ secrets: api.secrets, environment, integration }, 'secret_access_key', 'S3RVER')
  await api.pool.query('update integrations set secrets = $2 where id = $1', [integration, JSON.stringify({ secret_access_key: sealed })])
  return integration
}

/** Sends a test of a report to these destinations. */
async function send(project: TestProjectKeys, destinations: string[]) {
  const box = sandbox(api, project.sandbox)
  const report = await box.create(destinations, { status: 'draft' })
  await box.good('POST', `${report.url}/send-test`)
  return { delivered: () => box.runOf(report.id, finishedRun) }
}

test('uploads that hang hold up neither the uploads of another project nor a webhook', async () => {
  const hanging = await bucketAt(api.project, slow.url)
  for (let n = 0; n < 40; n++) await send(api.project, [hanging])
  await until('the uploads of A use their share', () => slow.open.size >= 16 || undefined)

  const other = await api.newProject()
  const [uploaded, notified, ownNotified] = await Promise.all([
    send(other, [await bucketAt(other, bucket.endpoint)]),
    send(other, [await webhookTo(api, sink.url, other.sandboxEnvironment)]),
    send(api.project, [await webhookTo(api, sink.url)]),
  ])
  for (const { delivered } of [uploaded, notified, ownNotified]) expect(await delivered()).toMatchObject({ outcome: 'empty' })
  expect(slow.open.size).toBe(16)
})
