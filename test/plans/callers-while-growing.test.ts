// Who makes a request is looked up by one row of each table, in whatever state the tables were when the connection planned the statement.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findGrant, noteGrantUses } from '../../domain/operators/grants/grant.ts'
import { findKey } from '../../domain/projects/keys.ts'
import { findNamedKey, noteKeyUses } from '../../domain/projects/named-keys.ts'
import { hashKey } from '../../domain/projects/secrets.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { SERVERS } from '../harness/database.ts'
import { newGrant, type TestGrant } from '../harness/grants.ts'
import { namedKey } from '../harness/named-keys.ts'
import { rowsRead } from '../harness/rows-read.ts'

const TABLES = ['projects', 'environments', 'keys', 'api_keys', 'operators', 'operator_roles', 'mcp_grants', 'mcp_tokens']

const CASES = SERVERS.flatMap(server => [
  { server, isAnalyzed: true, state: 'analyzed' },
  { server, isAnalyzed: false, state: 'as they were made' },
])

describe.each(CASES)('on the $server Postgres, whose empty tables were $state', ({ server, isAnalyzed }) => {
  let api: TestApi
  /** Writes rows. What it reads is known before the rows are counted. */
  let writer: Pool
  const connected: Pool[] = []
  beforeAll(async () => {
    api = await startApi({ server })
    writer = connect({ url: api.databaseUrl, max: 1 })
    connected.push(writer)
  })
  afterAll(async () => {
    await Promise.all(connected.map(pool => pool.end()))
    await api.stop()
  })

  let made = 0
  /** Projects, named keys, operators with a role, and grants with a token, as many of each. */
  async function grow(count: number): Promise<void> {
    const names = Array.from({ length: count }, () => `grown-${made++}`)
    await writer.query(
      `with named as (select * from unnest($1::text[]) n (name)),
       p as (insert into projects (name) select name from named returning id, name),
       e as (insert into environments (project, kind) select id, kind from p, unnest(array['production', 'sandbox']) k (kind) returning id, project, kind),
       k as (insert into keys (project, kind, hash, sealed) select id, 'secret', sha256(name::bytea), '' from p),
       a as (insert into api_keys (environment, id, name, scopes, hash, last_four, created_by_kind, created_at)
         select e.id, name, name, array['events:read'], sha256(name::bytea), '', 'cli', now() from p join e on e.project = p.id and e.kind = 'production'),
       o as (insert into operators (id, email, name) select name, name, name from named returning id),
       r as (insert into operator_roles (operator, project, role) select o.id, p.id, 'admin' from o join p on p.name = o.id),
       g as (insert into mcp_grants (id, operator, client_id, client_name, project, environment, scopes)
         select name, o.id, 'client', 'Client', p.id, e.id, array['events:read']
         from p join o on o.id = p.name join e on e.project = p.id and e.kind = 'production' returning id)
       insert into mcp_tokens (hash, grant_id, kind, scopes, expires_at)
       select sha256(id::bytea), id, 'access', array['events:read'], clock_timestamp() + interval '1 day' from g`,
      [names],
    )
  }

  /** At first nobody's. */
  let grant = { id: 'none', token: 'none' } as TestGrant
  let key = 'none'
  let keyId = 'none'
  const lookUp = (pool: Pool) =>
    Promise.all([
      findNamedKey(pool, key, null),
      findGrant(pool, hashKey(grant.token)),
      findKey(pool, api.project.secret),
      noteKeyUses(pool, [{ environment: api.project.production, keyId, address: null }]),
      noteGrantUses(pool, [grant.id]),
    ])

  // An analyze later would make every connection plan anew.
  test('no row of another is read', async () => {
    for (const table of TABLES) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    if (isAnalyzed) await api.pool.query(`vacuum analyze ${TABLES.join(', ')}`)
    const planned = new Map<number, Pool>()
    for (const size of [0, 1, 10, 100, 300]) {
      await grow(size - made)
      const pool = connect({ url: api.databaseUrl, max: 1, planOnce: true })
      connected.push(pool)
      await lookUp(pool)
      planned.set(size, pool)
    }
    await grow(3_000)
    grant = await newGrant(api, api.project)
    ;({ key, id: keyId } = await namedKey(api, api.project, ['events:read']))
    const read: [number, Record<string, number>][] = []
    for (const [size, pool] of planned) {
      await writer.query('update mcp_grants set last_used_at = null where id = $1', [grant.id])
      await writer.query('update api_keys set last_used_at = null where id = $1', [keyId])
      const before = await rowsRead([pool, writer], TABLES)
      const [named, granted, secret] = await lookUp(pool)
      const after = await rowsRead([pool, writer], TABLES)
      expect([named?.isUseDue, granted?.isUseDue, secret?.kind]).toEqual([true, true, 'secret'])
      read.push([size, Object.fromEntries(TABLES.map(table => [table, after[table]! - before[table]!]))])
    }
    const few = Object.fromEntries(TABLES.map(table => [table, expect.toSatisfy(n => n <= 20)]))
    expect(read).toEqual([...planned.keys()].map(size => [size, few]))
  })
})
