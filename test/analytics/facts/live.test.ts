// Facts that are kept while histories are posted, in whatever parts: equal to facts made at once from the whole history.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FactAccess, withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { foldBatch } from '../../../domain/analytics/folding/fold-batch.ts'
import { rebuildFacts } from '../../../domain/analytics/folding/rebuild.ts'
import { namesOfPurchase, type Statement } from '../../oracle/heard.ts'
import { CASES, SEED } from '../figures/draws.ts'
import { settingWithReplicas } from '../figures/open-replicas.ts'
import { plan } from '../figures/plans.ts'
import { beginPlan, postStatements } from '../figures/post-plan.ts'
import { statementsOf } from '../figures/statements.ts'

const setting = settingWithReplicas()

const HISTORIES = Math.max(3, Math.ceil(CASES / 60))
const RUNS = { numRuns: HISTORIES, seed: SEED, endOnFailure: true }
const TIME = { timeout: 60_000 + HISTORIES * 10_000 }
const named = (law: string) => `${law}: ${HISTORIES} histories, FIGURES_SEED=${SEED}`

/** What happens after each request, over and over. 0: nothing. */
const pace = (most: number) => fc.array(fc.nat(most), { minLength: 12, maxLength: 12 })
const paced = (steps: number[], step: (n: number) => Promise<unknown>) => {
  let i = 0
  return async () => {
    const n = steps[i++ % steps.length]!
    if (n > 0) await step(n)
  }
}

test(named('facts that were folded in batches while a history arrived in any order are those of a rebuild'), TIME, async () => {
  const { api } = setting
  const law = fc.asyncProperty(plan, pace(3), fc.integer({ min: 1, max: 4 }), async (drawn, batches, atOnce) => {
    const { key, environment, ids, now } = await beginPlan(api, drawn, await api.newProject())
    const statements = statementsOf(drawn, now)
    await postStatements(api, key, statements, ids, { between: paced(batches, users => foldBatch(api.pool, environment, users)) })
    await drainMarks(api.pool, environment, 1_000)
    const rebuilt = await rebuildFacts(api.pool, environment, { isStopping: () => false, atOnce })
    expect(rebuilt, JSON.stringify(statements)).toEqual({ is: 'done', users: drawn.users.length, differences: [] })
  })
  await fc.assert(law, RUNS)
})

/** Everything that a replica has. */
const contentOf = (access: FactAccess, environment: number) =>
  withFacts(access, environment, ({ query, dialect }) => {
    const { transactions, changes, users } = dialect.tables
    const all = [`${transactions} t order by t.id`, `${changes} t order by t.id`, `${users} t order by t.user_no`]
    return Promise.all(all.map(from => query({ text: `select t.* from ${from}` })))
  })

/** The statements of each user, in order. */
function byUser(statements: Statement[]): Map<string, Statement[]> {
  const buyers = new Map<string, string>()
  for (const statement of statements)
    if (statement.is === 'purchase') {
      const { store, transaction } = namesOfPurchase(statement.body)
      buyers.set(`${store}|${transaction}`, statement.user)
    }
  return Map.groupBy(statements, statement => {
    if (statement.is === 'event') return statement.body.customer_uid as string
    return statement.is === 'purchase' ? statement.user : buyers.get(`${statement.store}|${statement.transaction}`)!
  })
}

test(named('a replica that was pulled now and then, with erasures in between, has the facts of a new one'), TIME, async () => {
  const { api, open, folder } = setting
  const law = fc.asyncProperty(plan, pace(2), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), async (drawn, pulls, leaving) => {
    const { project, key, environment, ids, now } = await beginPlan(api, drawn, await api.newProject())
    const followed = open()
    const pull = () => contentOf(followed.access, environment)
    const between = paced(pulls, n => (n === 1 ? pull() : foldBatch(api.pool, environment)))
    for (const [i, [user, statements]] of [...byUser(statementsOf(drawn, now))].entries()) {
      await postStatements(api, key, statements, ids, { between })
      if (!leaving[i]) continue
      expect((await api.call('DELETE', `/v4/customers/${ids[user]}`, { key })).status).toBeLessThan(300)
      await between()
    }
    const fresh = open({ folder: `${folder}/${project.id}` })
    expect(await pull()).toEqual(await contentOf(fresh.access, environment))
    expect([new Set([...followed.answers, ...fresh.answers]), followed.errors]).toEqual([new Set(['replica']), []])
    await followed.close()
    await fresh.close()
  })
  await fc.assert(law, RUNS)
})
