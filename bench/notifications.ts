import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Environment, SignedDataVerifier } from '@apple/app-store-server-library'
import { Pool as HttpPool } from 'undici'
import type { Pool } from '../store/connect.ts'
import { type AppleChain, appleChain } from '../test/harness/stores/apple-chain.ts'
import { APP_ID, BUNDLE } from '../test/harness/stores/apple-jws.ts'
import { appleSubscription } from '../test/harness/stores/apple-subscription.ts'
import { appStore } from '../workflows/stores/apple/client.ts'
import { durability, newDatabase } from './database.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { seedUsers } from './seed.ts'
import { caller } from './sink.ts'

const USERS = 5_000
const CONNECTIONS = 64
const POLL_MS = 250
/** Of the bare checks of signatures. */
const SAMPLE = 500
const CLOCK_TICKS_PER_SECOND = 100

/** Five notifications for each subscription, in the order in which Apple sends them: bought, auto-renew off and on, renewed, refunded in part. */
function notifications(chain: AppleChain, count: number, users: string[]): Uint8Array[] {
  const begin = Date.now() - 31 * 86_400_000
  const bodies: Uint8Array[] = []
  for (let n = 0; bodies.length < count; n++) {
    const hex = users[n % users.length]!.slice(4)
    const account = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    const subscription = appleSubscription(chain, { account })
    const at = begin + n
    const pushes = [
      subscription.subscribe(at),
      subscription.switchAutoRenew(at + 86_400_000, false),
      subscription.switchAutoRenew(at + 2 * 86_400_000, true),
      subscription.renew(at + 30 * 86_400_000),
      subscription.refund(at + 30.5 * 86_400_000, 50_000),
    ]
    bodies.push(...pushes.map(({ body }) => body))
  }
  return bodies.slice(0, count)
}

const settings = {
  project: 1,
  enabled: true,
  value: (name: string) => ({ bundle_id: BUNDLE, app_id: String(APP_ID) })[name] ?? null,
}

/**
 * Milliseconds of CPU for one notification: its outer signature, and all of it verified and read, by this client and by the bare verifier of
 * Apple's library. All of it is what API and worker do together: the outer signature twice, and those of transaction and renewal info.
 */
async function signatureCosts(chain: AppleChain, bodies: Uint8Array[]) {
  const urls = { production: 'http://127.0.0.1:9', sandbox: 'http://127.0.0.1:9' }
  const client = appStore({ fetch, urls, roots: [chain.root], onlineChecks: false })
  const verifier = new SignedDataVerifier([chain.root], false, Environment.PRODUCTION, BUNDLE, APP_ID)
  const address = 'http://127.0.0.1/stores/apple/1'
  const verify = (body: Uint8Array) => client.verify({ body, headers: {}, address, receivedAtMs: Date.now() }, settings)
  const whole = async (body: Uint8Array) => {
    const gate = await verify(body)
    if (gate.is !== 'accepted') throw new Error(gate.is)
    await client.read({ ...gate.notification, body }, settings)
  }
  const bare = (body: Uint8Array) => verifier.verifyAndDecodeNotification(JSON.parse(Buffer.from(body).toString()).signedPayload)
  const bareWhole = async (body: Uint8Array) => {
    const { data } = await bare(body)
    await verifier.verifyAndDecodeTransaction(data!.signedTransactionInfo!)
    await verifier.verifyAndDecodeRenewalInfo(data!.signedRenewalInfo!)
  }
  const cost = async (check: (body: Uint8Array) => Promise<unknown>) => {
    for (const body of bodies.slice(0, 50)) await check(body)
    const before = process.cpuUsage()
    for (const body of bodies.slice(0, SAMPLE)) await check(body)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000 / SAMPLE
  }
  return { outer: await cost(verify), bareOuter: await cost(bare), whole: await cost(whole), bareWhole: await cost(bareWhole) }
}

/** Milliseconds of CPU that a process has used. */
async function cpuOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_TICKS_PER_SECOND
}

type Sent = { slowest: number; late: number; p99: number; refused: number }

/** Sends at an even pace, whatever the answers take. Each answer is timed from the moment at which its request was due. */
async function send(resources: Resources, url: string, bodies: Uint8Array[], perSecond: number, midway: () => void): Promise<Sent> {
  const pool = new HttpPool(url, { connections: CONNECTIONS })
  resources.undo(() => pool.close())
  const times: number[] = []
  let refused = 0
  const one = async (body: Uint8Array, due: number) => {
    const { statusCode, body: answer } = await pool.request({ method: 'POST', path: '/stores/apple/1', body })
    await answer.dump()
    if (statusCode !== 200) refused += 1
    times.push(performance.now() - due)
  }
  const began = performance.now()
  const all: Promise<void>[] = []
  for (const [n, body] of bodies.entries()) {
    const due = began + (n * 1000) / perSecond
    if (due > performance.now()) await sleep(due - performance.now())
    if (n === bodies.length >> 1) midway()
    all.push(one(body, due))
  }
  await Promise.all(all)
  times.sort((a, b) => a - b)
  return {
    slowest: times.at(-1)!,
    p99: times[Math.floor(times.length * 0.99)]!,
    late: times.filter(time => time > 1000).length,
    refused,
  }
}

async function count(pool: Pool, text: string): Promise<number> {
  return (await pool.query<{ n: number }>(`select count(*)::int as n from ${text}`)).rows[0]!.n
}

/** Signed notifications of the App Store at an even rate, with a kill -9 of the worker in the middle: all are acknowledged in time, recorded and processed. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const perSecond = option('rate', 500)
    const seconds = option('seconds', 30)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    const chain = appleChain()
    const root = join(resources.folder, 'root.cer')
    await writeFile(root, chain.root)
    const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error', APPLE_ROOT_CERTIFICATES: root }
    const api = await startProduct(resources, database, 'api', env)
    const call = caller(api.url, tenant!.secretKey)
    await call('POST', '/v4/project-settings/stores/apple', { bundle_id: BUNDLE, app_id: String(APP_ID) })
    const users = await seedUsers(pool, [tenant!.environment], USERS)
    say('signing the notifications')
    const bodies = notifications(chain, perSecond * seconds, users.map(String))
    const costs = await signatureCosts(chain, bodies)
    let worker = await startProduct(resources, database, 'worker', env)

    say(`${thousands(bodies.length)} notifications, ${perSecond} a second`)
    const began = performance.now()
    const before = await cpuOf(api.pid)
    let ofWorkers = 0
    let replaced: Promise<void> = Promise.resolve()
    const sent = await send(resources, api.url, bodies, perSecond, () => {
      replaced = (async () => {
        ofWorkers += await cpuOf(worker.pid)
        process.kill(worker.pid, 'SIGKILL')
        worker = await startProduct(resources, database, 'worker', env)
      })()
    })
    const ofApi = (await cpuOf(api.pid)) - before
    const answered = (performance.now() - began) / 1000
    await replaced
    while ((await count(pool, `store_inbox where state = 'pending'`)) > 0) await sleep(POLL_MS)
    const processed = (performance.now() - began) / 1000
    ofWorkers += await cpuOf(worker.pid)
    const recorded = await count(pool, 'store_inbox')
    const done = await count(pool, `store_inbox where state = 'done'`)
    if (recorded !== bodies.length || done !== recorded) throw new Error(`${recorded} recorded and ${done} processed of ${bodies.length}`)

    console.log(
      `${thousands(bodies.length)} notifications of ${thousands(bodies.length / 5)} subscriptions, ${perSecond} a second for ${seconds} s; the worker is killed in the middle;`,
    )
    console.log(await durability(database))
    table(
      ['', 'ms'],
      [
        ['answer, slowest', sent.slowest.toFixed(0)],
        ['answer, p99', sent.p99.toFixed(0)],
        ['outer signature, CPU', costs.outer.toFixed(2)],
        ["the same by the library's bare verifier", costs.bareOuter.toFixed(2)],
        ['verifying and reading all of one, CPU', costs.whole.toFixed(2)],
        ["its three signatures by the library's bare verifier", costs.bareWhole.toFixed(2)],
        ['receiving one, CPU of the API process', (ofApi / bodies.length).toFixed(2)],
        ['processing one, CPU of the worker processes', (ofWorkers / bodies.length).toFixed(2)],
      ],
    )
    console.log(
      `${sent.refused} refused, ${sent.late} later than 1 s; all answered after ${answered.toFixed(1)} s, all processed after ${processed.toFixed(1)} s`,
    )
    return {
      name: 'notifications',
      ours: round(sent.slowest),
      peer: 1000,
      ratio: round(sent.slowest / 1000, 2),
      unit: 'ms',
      processed: round(processed, 1),
      signature: round(costs.outer, 2),
      librarySignature: round(costs.bareOuter, 2),
      whole: round(costs.whole, 2),
      libraryWhole: round(costs.bareWhole, 2),
    }
  })
