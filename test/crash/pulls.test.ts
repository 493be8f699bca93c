import { rm } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { withFacts } from '../../domain/analytics/figures/open-source.ts'
import { sellingIn } from '../analytics/figures/coins.ts'
import { type Opened, settingWithReplicas } from '../analytics/figures/open-replicas.ts'
import { FROZEN, launch } from '../harness/process.ts'

// Processes start in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 300_000 })

const setting = settingWithReplicas()
const { sell } = sellingIn(setting)

/** Runs a process that asks its replica and dies at a statement of DuckDB. Returns what it printed. */
async function dieAt(statement: number, how: 'before' | 'sent' = 'before'): Promise<string> {
  const { api, folder, project } = setting
  const env = { DATABASE_URL: api.databaseUrl, REPLICAS: folder, ENVIRONMENT: String(project.production) }
  const dying = launch({ script: 'test/crash/dying-reader.ts', env: { ...env, DIE_AT: String(statement), DIE: how } })
  await dying.ended
  return dying.output().trim()
}

const rowsOf = (access: Opened['access']) =>
  withFacts(access, setting.project.production, ({ query, dialect: { tables } }) =>
    Promise.all(
      [`${tables.transactions} t order by t.id`, `${tables.changes} t order by t.id`, `${tables.users} t order by t.user_no`].map(from =>
        query({ text: `select t.* from ${from}` }),
      ),
    ),
  )

/** The next process has every fact once, as one that makes its file anew. */
async function expectWhole(): Promise<void> {
  const next = setting.open()
  const fresh = setting.open({ folder: `${setting.folder}/fresh` })
  expect(await rowsOf(next.access)).toEqual(await rowsOf(fresh.access))
  expect([next.answers, next.errors, fresh.answers]).toEqual([['replica'], [], ['replica']])
  await Promise.all([next.close(), fresh.close()])
  await rm(`${setting.folder}/fresh`, { recursive: true })
}

/** The number of the first statement of each kind, and of the last commit. Not every one, as a kill takes four seconds. */
function statementsIn(output: string, kinds: RegExp[]): number[] {
  const heads = output.slice(output.indexOf('statements: ')).split('\n').slice(1)
  const found = kinds.map(kind => heads.findIndex(head => kind.test(head)))
  expect(found).not.toContain(-1)
  return [...new Set([...found, heads.lastIndexOf('commit')])].map(index => index + 1)
}

async function killAtEach(kinds: RegExp[], prepare: () => Promise<unknown>): Promise<void> {
  await prepare()
  const whole = await dieAt(Number.MAX_SAFE_INTEGER)
  expect(whole).toMatch(/^replica\n/)
  for (const n of statementsIn(whole, kinds)) {
    await prepare()
    const output = await dieAt(n)
    expect(output).toContain(`${FROZEN} ${n}: `)
    await expectWhole()
    // The process never learns whether this one had its effect.
    if (!/: commit/.test(output)) continue
    await prepare()
    expect(await dieAt(n, 'sent')).toContain(`${FROZEN} ${n}: `)
    await expectWhole()
  }
}

test('processes killed at the statements that make a file: the next one has every fact once', async () => {
  await sell(20)
  const kinds = [/^attach/, /^create table/, /^begin/, /^insert into facts_\d+\.\w+ select \* from read_csv/, /^commit/, /^detach/]
  await killAtEach(kinds, () => rm(setting.folder, { recursive: true, force: true }))
})

test('processes killed at the statements that bring a file up to date: the next one has every fact once', async () => {
  await sell(20)
  await expectWhole()
  const changed = async () => {
    await sell(2)
    // The facts of users who are folded again come and go.
    await setting.api.pool.query('update events set price = price + 1 where environment = $1', [setting.project.production])
    await setting.api.pool.query(
      'insert into stale_users (environment, user_no) select environment, no from users where environment = $1 on conflict do nothing',
      [setting.project.production],
    )
  }
  const kinds = [
    /^create or replace temp table/,
    /^insert into incoming_\w+ select/,
    /^delete from facts_/,
    /^insert into facts_/,
    /^commit/,
  ]
  await killAtEach(kinds, changed)
})
