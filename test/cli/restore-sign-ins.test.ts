// A restore must not open again what was ended after the backup.
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backup } from '../../cli/backup.ts'
import { restore } from '../../cli/restore.ts'
import { createCode } from '../../domain/operators/grants/codes.ts'
import { createConfirmation } from '../../domain/operators/grants/confirmations.ts'
import { findGrant, listGrants } from '../../domain/operators/grants/grant.ts'
import { keepRevealed } from '../../domain/operators/grants/reveals.ts'
import { rotateTokens } from '../../domain/operators/grants/tokens.ts'
import { makeLink, readLink } from '../../domain/operators/links.ts'
import { createSession, readSession } from '../../domain/operators/session.ts'
import { signIn } from '../../domain/operators/sign-in.ts'
import { createProject } from '../../domain/projects/create.ts'
import { hashKey, secretsFrom } from '../../domain/projects/secrets.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET, type TestProjectKeys } from '../harness/api.ts'
import { freshDatabase } from '../harness/database.ts'
import { newGrant } from '../harness/grants.ts'
import { newOperator, PASSWORD } from '../harness/operators.ts'
import { call, temporaryFolder } from './call.ts'

const secrets = secretsFrom(APP_SECRET)
/** What was used, so that nothing does its work twice: without these rows it would open something again. */
const USED = ['operator_provider_uses', 'operator_spent_challenges']
/** As of the backup: what was changed since, people change again (docs/operating.md). */
const KEPT = [
  ...['operators', 'operator_policy', 'operator_roles', 'operator_recovery_codes', 'operator_passkeys', 'operator_identities'],
  // Records, clients that are registered, wrong guesses, and the grants that have ended.
  ...['mcp_calls', 'oauth_clients', 'operator_guesses', 'mcp_grants'],
]

async function place() {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  return { pool: database.pool, env: { DATABASE_URL: database.url, APP_SECRET, DATA_DIR: await temporaryFolder() } }
}

/** One of everything that opens something. */
async function opened(pool: Pool) {
  const { id: project } = await transaction(pool, tx => createProject(tx, secrets, { name: 'Shop' }))
  const { rows } = await pool.query<{ id: number }>(`select id from environments where kind = 'production'`)
  const production = rows[0]!.id
  const operator = await newOperator({ pool })
  await pool.query(`insert into operator_roles (operator, project, role) values ($1, $2, 'admin')`, [operator.id, project])
  const keys = { id: project, production } as TestProjectKeys
  const { id: grant, token, refreshToken } = await newGrant({ pool }, keys, { operator: operator.id })
  const [session, link] = await transaction(pool, async tx => [
    await createSession(tx, operator.id, { address: null, userAgent: null }),
    await makeLink(tx, operator.id),
  ])
  await createConfirmation(pool, { grant, tool: 'delete_product', arguments: Buffer.from('a') })
  await transaction(pool, tx => keepRevealed(tx, secrets, { operator: operator.id, project }, 'sk_new'))
  await pool.query(
    `insert into operator_passkeys (id, operator, credential_id, rp_id, is_synced, public_key, counter, transports, name)
     values ('psk', $1, 'id', 'perennial.example', false, '', 7, '{}', 'Key')`,
    [operator.id],
  )
  await pool.query(`insert into operator_spent_challenges (hash) values ('spent')`)
  const redirect = { redirectUri: 'http://127.0.0.1/', challenge: 'c' }
  const client = { operator: operator.id, clientId: 'client', clientName: 'Assistant', project, environment: production }
  await createCode(pool, { ...client, scopes: ['events:read'], findsTools: false, ...redirect })
  await pool.query(`insert into oauth_clients (id, name, redirect_uris) values ('client', 'Assistant', '{http://127.0.0.1/}')`)
  return { operator, session, link, token, refreshToken }
}

test('nothing that opened something at the time of the backup opens it after a restore; accounts and clients are there', async () => {
  const [from, to] = [await place(), await place()]
  const { operator, session, link, token, refreshToken } = await opened(from.pool)
  expect(await readSession(from.pool, session)).not.toBe(null)
  expect(await readLink(from.pool, link)).not.toBe(null)
  expect(await findGrant(from.pool, hashKey(token))).not.toBe(null)
  const dir = join(await temporaryFolder(), 'backup')
  expect((await call(backup, [dir], from.env)).code).toBe(0)

  const restored = await call(restore, [dir], to.env)
  expect(restored).toMatchObject({ code: 0 })
  expect(restored.out).toContain('Nobody is signed in: 1 session, 1 link and 1 grant of assistants have ended.')
  expect(await readSession(to.pool, session)).toBe(null)
  expect(await readLink(to.pool, link)).toBe(null)
  expect(await findGrant(to.pool, hashKey(token))).toBe(null)
  expect(await transaction(to.pool, tx => rotateTokens(tx, refreshToken, 'client'))).toEqual({ is: 'invalid' })
  expect(await listGrants(to.pool)).toEqual([])
  // Every other table is empty: one that a later migration brings is either ended as well, or named above with a reason.
  const { rows: tables } = await to.pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_name ~ '^(operators$|operator_|mcp_|oauth_)' and table_name <> all ($1) order by 1`,
    [[...USED, ...KEPT]],
  )
  const counts = await Promise.all(
    tables.map(async ({ name }) => {
      const inBackup = await from.pool.query(`select from ${name}`)
      const here = await to.pool.query(`select from ${name}`)
      return [name, inBackup.rowCount! > 0, here.rowCount]
    }),
  )
  expect(counts).toEqual(tables.map(({ name }) => [name, true, 0]))

  expect(restored.out).toContain('passkeys and links to single sign-on are those of the backup')
  const { rows: kept } = await to.pool.query(
    'select (select counter from operator_passkeys), (select count(*)::int as spent from operator_spent_challenges)',
  )
  expect(kept).toEqual([{ counter: 7, spent: 1 }])
  const { rows: clients } = await to.pool.query('select id from oauth_clients')
  expect(clients).toEqual([{ id: 'client' }])
  const device = { address: null, userAgent: null }
  const again = await signIn({ pool: to.pool, secrets }, { email: operator.email, password: PASSWORD }, { network: '127.0.0.1', device })
  expect(again).toMatchObject({ is: 'signed_in' })
})
