import { afterEach, expect, test, vi } from 'vitest'
import { connect } from '../../store/connect.ts'
import { evenLoad } from '../harness/even-load.ts'
import { DRIVERS, type Installation, startInstallation } from '../harness/installation.ts'
import { type PostgresPair, startPostgresPair } from '../harness/postgres-pair.ts'
import { type TcpSwitch, tcpSwitch } from '../harness/tcp-switch.ts'
import { until } from '../harness/until.ts'

vi.setConfig({ testTimeout: 540_000 })

let pair: PostgresPair | undefined
let between: TcpSwitch | undefined
let site: Installation | undefined
afterEach(async () => {
  await site?.end()
  await between?.close()
  await pair?.drop()
  site = between = pair = undefined
})

/** The installation ends before the servers do. */
const kept = (url: string, { pool }: PostgresPair) => ({ url, pool, drop: async () => {} })

const answers = (installation: Installation) =>
  until('answers', async () =>
    (await installation.call('GET', '/v4/events?limit=1').catch(() => undefined))?.status === 200 ? true : undefined,
  )

test.each(
  DRIVERS,
)('over %s: a synchronous replica is promoted under load, the list of hosts leads to it: nothing acknowledged is lost, nothing twice', async driver => {
  pair = await startPostgresPair()
  const { failOver, returnUnaware, url } = pair
  site = await startInstallation({ driver, database: kept(url, pair) })
  const workers = await Promise.all([site.worker(), site.worker()])
  const outcome = await evenLoad(site, async () => {
    await failOver()
    return { whenUsed: answers(site!) }
  })
  console.info('list of hosts', driver, outcome)
  expect(outcome.usedAgainMs).toBeLessThan(60_000)
  for (const { child } of [site.api, ...workers]) expect([child.exitCode, child.signalCode]).toEqual([null, null])

  // The former primary comes back, unaware and willing to write: new connections still go to the newer one.
  await returnUnaware()
  const pool = connect({ url, max: 4 })
  const ports = await Promise.all([1, 2, 3, 4].map(() => pool.query('select inet_server_port() as port')))
  expect(ports.map(({ rows }) => rows[0].port)).toEqual(ports.map(() => pair!.ports[1]))
  await pool.end()
})

test('a proxy leads to the promoted server: nothing acknowledged is lost, nothing twice', async () => {
  pair = await startPostgresPair()
  const { failOver, ports } = pair
  between = await tcpSwitch(ports[0])
  const url = `postgres://perennial@127.0.0.1:${between.port}/perennial?sslmode=disable`
  site = await startInstallation({ driver: 'pg-boss', database: kept(url, pair) })
  await Promise.all([site.worker(), site.worker()])
  const outcome = await evenLoad(site, async () => {
    // For a while it leads to a server that refuses to write, as a health check that is late.
    between!.to(ports[1])
    await new Promise(resolve => setTimeout(resolve, 500))
    await failOver()
    return { whenUsed: answers(site!) }
  })
  console.info('proxy', outcome)
  expect(outcome.usedAgainMs).toBeLessThan(60_000)
})
