import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createProject } from '../../../domain/projects/create.ts'
import { secretsFrom } from '../../../domain/projects/secrets.ts'
import { refold } from '../../../domain/purchases/refold.ts'
import { updatePurchase } from '../../../domain/purchases/update.ts'
import { lockUsers } from '../../../domain/users/user.ts'
import { applyMigrations } from '../../../store/apply-migration.ts'
import { connect, type Pool } from '../../../store/connect.ts'
import { knownMigrations } from '../../../store/schema-history.ts'
import { transaction } from '../../../store/transaction.ts'
import { APP_SECRET } from '../../harness/api.ts'
import { executeAll } from '../../harness/superuser.ts'

// A database of the version before statements of stores, with purchases whose events are in the log.
const STORES = 8
const name = `test_${randomBytes(8).toString('hex')}`
let pool: Pool
beforeAll(async () => {
  await executeAll(inject('embedded').url, [`create database ${name}`])
  const address = new URL(inject('embedded').url)
  address.pathname = `/${name}`
  pool = connect({ url: address.href, max: 2 })
})
afterAll(async () => {
  await pool.end()
  await executeAll(inject('embedded').superuser, [`drop database ${name} with (force)`])
})

const PURCHASE = `
with lineage as (
  insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', $2, 'u') returning id
)
insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, original_transaction_id, is_subscription, currency,
  price, amount, purchased_at, expires_at, period_type, auto_renewing, auto_renew_off_at, billing_retry_at, refunded_at, refunded_amount, refund_told,
  created_at, emitted)
select $1, id, 'u', 'app_store', 'm', $2, $2, true, 'USD', $3::text, $3::text::numeric, now() - interval '5 days', now() + interval '25 days',
  case when $3 = '0' then 'trial' else 'normal' end, $4::timestamptz is null, $4, $5, $6, $7::numeric, coalesce($7::numeric, 0),
  now() - interval '5 days', $8 from lineage returning id::text`

test('what the log has already of recorded purchases is not emitted again after the upgrade', async () => {
  const known = await knownMigrations()
  const upgrade = (isDue: (version: number) => boolean) =>
    transaction(pool, tx =>
      applyMigrations(
        tx,
        known.filter(({ version }) => isDue(version)),
      ),
    )
  await upgrade(version => version < STORES)
  const project = await transaction(pool, tx => createProject(tx, secretsFrom(APP_SECRET), { name: 'Older' }))
  const environment: number = (await pool.query('select min(id) as id from environments where project = $1', [project.id])).rows[0].id
  await pool.query(`insert into users (environment, id, created_at, last_seen_at) values ($1, 'u', now(), now())`, [environment])
  const add = async (...values: unknown[]) => (await pool.query<{ id: string }>(PURCHASE, [environment, ...values])).rows[0]!.id
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  const paid = await add('paid', '9.99', ago(3), ago(2), null, null, ['begin', 'canceled', 'retry'])
  await add('trial', '0', ago(3), null, null, null, ['begin', 'canceled', 'still_active'])
  const refunded = await add('refunded', '9.99', null, null, ago(1), '4', ['begin'])
  await upgrade(version => version >= STORES)

  await transaction(pool, async tx => {
    await lockUsers(tx, environment, ['u'])
    await refold(tx, environment, ['u'])
  })
  expect((await pool.query('select name from events')).rows).toEqual([])

  // What happens from now on is emitted, with the next numbers.
  const change = (id: string, fields: object) => transaction(pool, tx => updatePurchase(tx, environment, 'u', id, fields))
  for (const is_auto_renewing of [true, false]) await change(paid, { is_auto_renewing })
  await change(refunded, { refunded_amount: '6' })
  await change(refunded, { refunded_at: null })
  const { rows } = await pool.query('select name, event_id, price::float8 as price from events order by received_at, log_offset')
  const { lineage } = (await pool.query('select lineage from purchases where id = $1', [paid])).rows[0]
  expect(rows).toEqual([
    { name: 'subscription_uncanceled', event_id: `~${lineage}:subscription_uncanceled:1`, price: null },
    { name: 'subscription_canceled', event_id: `~${lineage}:subscription_canceled:2`, price: null },
    { name: 'subscription_refunded', event_id: `~${refunded}:refunded:1`, price: -2 },
    { name: 'refund_reversed', event_id: `~${refunded}:refund_reversed:1`, price: 6 },
  ])
})
