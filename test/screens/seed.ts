import { readClock } from '../../domain/durable/clock/clock.ts'
import { announceJobs } from '../../domain/durable/jobs/job.ts'
import type { Pool } from '../../store/connect.ts'
import { until } from '../harness/until.ts'
import { ANNOTATIONS, ENTITLEMENTS, iso, LIVE_FROM, NOW, northwindEvents, PRODUCTS } from './northwind.ts'
import type { Seeded } from './screens.ts'
import { type Call, storyOf } from './story.ts'

const STEP = 6 * 3_600_000
/** The last runs begin so long before the pictures: one that begins in the future looks wrong. */
const EARLIER = 20_000
/** The currencies of Northwind Notes, each day at a rate of its own. */
const RATES = `insert into currency_rates (currency, date, usd_per_unit)
  select c, d::date, round((r + 0.02 * sin(extract(epoch from d) / 3000000))::numeric, 6)
  from (values ('EUR', 1.09), ('GBP', 1.27)) v(c, r), generate_series('2025-09-01'::timestamptz, '2026-12-01', '1 day') d`

const KINDS = ['delivery', 'automation-run']
const SOON = `update due set due_at = environment_now($1) where environment = $1 and kind in (${KINDS.map(kind => `'${kind}'`).join()})
  and batched_until is null and lease_until is null
  and due_at between clock_timestamp() - interval '1 hour' and clock_timestamp() + interval '1 minute'`

type Seeding = { pool: Pool; environment: number; call: Call; receiver: string }

/** Sets the clock of the environment, back as well: a production that the service would never set. */
export const setClock = (pool: Pool, environment: number, at: number) =>
  pool.query('update environments set clock_offset = $2::timestamptz - clock_timestamp() where id = $1', [environment, iso(at)])

/** History first, then three days as they happen, by the clock of the environment. Returns the user and the automation whose pages are shown. */
export async function seedNorthwind({ pool, environment, call, receiver }: Seeding): Promise<Seeded> {
  await pool.query(RATES)
  await pool.query("update projects set name = 'Northwind Notes'")
  await setClock(pool, environment, LIVE_FROM)
  for (const product of PRODUCTS) await call('POST', '/v4/products', product)
  for (const entitlement of ENTITLEMENTS) await call('POST', '/v4/entitlements', entitlement)
  for (const { at, ...annotation } of ANNOTATIONS)
    await call('POST', '/v4/analytics/annotations', { at: Date.parse(at) / 1000, ...annotation })
  const events = northwindEvents()
  const live = events.findIndex(({ happened_at }) => Date.parse(happened_at) > LIVE_FROM)
  for (let n = 0; n < live; n += 1_000)
    await call('POST', '/v4/events', { events: events.slice(n, Math.min(live, n + 1_000)), trigger: false })

  const automation = await addReactions(call, receiver)
  const story = await storyOf(call)
  let sent = live
  const steps = Array.from({ length: (NOW - LIVE_FROM) / STEP }, (_, n) => LIVE_FROM + (n + 1) * STEP - EARLIER)
  for (const at of [...steps, ...story.times.flatMap(time => [time, time + 1_000])].sort((a, b) => a - b)) {
    await doneUntil(pool, environment, at)
    const due = events.slice(sent).filter(({ happened_at }) => Date.parse(happened_at) <= at)
    sent += due.length
    if (due.length > 0) await call('POST', '/v4/events', { events: due })
    await story.tell(at)
  }
  await doneUntil(pool, environment, NOW + 1_000)
  return { user: story.user, automation }
}

/**
 * Sets the clock and waits until nothing is due. What production does at once or soon is due by the clock of the machine, which is days or years
 * ahead here.
 */
async function doneUntil(pool: Pool, environment: number, at: number): Promise<void> {
  await setClock(pool, environment, at)
  await until('nothing is due', async () => {
    const { rowCount } = await pool.query(SOON, [environment])
    if (rowCount) for (const kind of KINDS) announceJobs(pool, kind)
    return Number((await readClock(pool, environment)).outstanding) === 0 || undefined
  })
}

/** Returns the id of the automation. */
async function addReactions(call: Call, receiver: string): Promise<string> {
  const billing = await call('POST', '/v4/integrations', { title: 'Billing service', integration: 'webhooks', target_platform: 'iOS' })
  await call('PUT', `/v4/integrations/${billing.id}/config`, {
    settings: { url: receiver },
    events: ['trial_started', 'trial_converted', 'subscription_started', 'subscription_renewed', 'subscription_refunded', 'note_shared'],
  })
  await call('POST', `/v4/integrations/${billing.id}/status`, { status: 1 })
  const automation = await call('POST', '/v4/automations', {
    name: 'Thank those who share',
    caption: 'Themes for a week after a shared note',
    status: 'active',
    data: {
      initiators: [{ uid: 'note_shared', type: 'event' }],
      steps: [
        {
          id: 'where',
          type: 'branch',
          conditions: [{ metric: 'event:device.country', comparator: 'eq', value: 'DE' }],
          then: [{ id: 'gift', type: 'grant_entitlement', entitlement_id: 'themes', duration: 'P7D' }],
          else: [{ id: 'mark', type: 'set_property', key: 'shares', value: 'yes' }],
        },
      ],
    },
  })
  return automation.id
}
