import type { TestApi, TestProjectKeys } from '../../harness/api.ts'
import { growth } from '../../harness/experiments.ts'
import { begun, type Taken } from '../../oracle/beginnings.ts'
import { heard, namesOfPurchase, type Statement } from '../../oracle/heard.ts'
import type { History, Instant, Product, Rate, Store } from '../../oracle/history.ts'
import { GROUPS, type Plan } from './plans.ts'
import { statementsOf, userName } from './statements.ts'

const STORES: Store[] = ['iOS', 'Android', 'Stripe', 'Paddle']
const linked = (id: string, stores = STORES) => Object.fromEntries(stores.map(store => [store, id]))

const CATALOGUE: Product[] = [
  { id: 'weekly', duration: 'P1W', linked: linked('weekly') },
  { id: 'monthly', duration: 'P1M', linked: linked('monthly') },
  { id: 'quarterly', duration: 'P3M', linked: linked('quarterly') },
  { id: 'half-yearly', duration: 'P6M', linked: linked('half-yearly') },
  { id: 'annual', duration: 'P1Y', linked: linked('annual') },
  { id: 'daily', duration: 'P1D', linked: linked('daily') },
  { id: 'two-years', duration: 'P2Y', linked: linked('two-years') },
  { id: 'coins', duration: null, linked: linked('coins', ['iOS', 'Android', 'Paddle']) },
]

/** What was posted to a service, as its caller knows it. */
export type PostedPlan = {
  history: History
  project: TestProjectKeys
  key: string
  /** Ids of users by their names in the history. */
  ids: Record<string, string>
  statements: Statement[]
}

async function must(api: TestApi, key: string, method: string, path: string, body?: unknown) {
  const answer = await api.call(method, path, { key, ...(body !== undefined && { body }) })
  if (answer.status >= 300) throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`)
  return answer.body
}

/** The rates of the whole installation. */
export async function storeRates(api: TestApi, rates: Rate[]): Promise<void> {
  for (const { currency, date, usdPerUnit } of rates)
    await api.pool.query('insert into currency_rates (currency, date, usd_per_unit) values ($1, $2, $3)', [currency, date, usdPerUnit])
}

async function createProducts(api: TestApi, key: string): Promise<void> {
  for (const { id, duration, linked: links } of CATALOGUE)
    await must(api, key, 'POST', '/v4/products', {
      id,
      type: duration === null ? 'consumable' : 'subscription',
      ...(duration !== null && { duration }),
      apple_product_id: links.iOS,
      google_product_id: links.Android,
      ...(links.Stripe && { stripe_product_id: links.Stripe }),
      paddle_product_id: links.Paddle,
    })
}

async function createUsers(api: TestApi, key: string, plan: Plan, now: Instant): Promise<Record<string, string>> {
  const ids: Record<string, string> = {}
  for (const [n, { createdAgo, isSeen, group }] of plan.users.entries()) {
    const created_at = new Date((now - createdAgo) * 1000).toISOString()
    const { id } = await must(api, key, 'POST', '/v4/users', { environment: plan.isSandbox ? 'sandbox' : 'prod', created_at })
    if (isSeen) await must(api, key, 'GET', `/v3/users/${id}`)
    if (group) await must(api, key, 'POST', `/v4/users/${id}/properties`, { properties: [{ key: 'group', value: group }] })
    ids[userName(n)] = id
  }
  return ids
}

/** An experiment with a group for the users of each drawn group. */
async function createExperiment(api: TestApi, key: string, plan: Plan, ids: Record<string, string>): Promise<History['experimentGroups']> {
  const { running } = growth(api, key)
  const { id: experiment, groups } = await running({}, [{}, {}])
  const members: History['experimentGroups'] = {}
  for (const [n, group] of groups.entries()) {
    const inGroup = plan.users.flatMap((user, i) => (user.group === GROUPS[n] ? [userName(i)] : []))
    for (const user of inGroup) await must(api, key, 'POST', `/v4/experiments/${experiment}/users/${ids[user]}`, { group_id: group })
    members[`${experiment}:${group}`] = inGroup
  }
  return members
}

const named = (body: Record<string, unknown>, ids: Record<string, string>) =>
  'customer_uid' in body ? { ...body, customer_uid: ids[body.customer_uid as string] } : body

/** `ahead`: how many seconds the environment's clock is ahead. `between`: called after each request. */
export type PostOptions = { ahead?: number; between?: () => Promise<unknown> }

/** Tells the statements in order, neighbouring events in one batch. Returns those that the service took. */
export async function postStatements(
  api: TestApi,
  key: string,
  statements: Statement[],
  ids: Record<string, string>,
  { ahead = 0, between = async () => {} }: PostOptions = {},
): Promise<Taken[]> {
  const taken: Taken[] = []
  const urls = new Map<string, string>()
  const clock = () => Math.floor(Date.now() / 1000) + ahead
  for (let [i, request] = [0, 0]; i < statements.length; request++) {
    const statement = statements[i]!
    const heardAt = clock()
    if (statement.is === 'event') {
      const rest = statements.slice(i)
      const end = rest.findIndex(one => one.is !== 'event')
      const batch = end === -1 ? rest : rest.slice(0, end)
      const { results } = await must(api, key, 'POST', '/v4/events', { events: batch.map(one => named(one.body, ids)), trigger: true })
      for (const [n, result] of (results as { status: string; error: unknown }[]).entries()) {
        if (result.status === 'rejected') throw new Error(`${JSON.stringify(batch[n])}: ${JSON.stringify(result.error)}`)
        if (result.status === 'created') taken.push({ statement: batch[n]!, heardAt, request })
      }
      i += batch.length
      await between()
      continue
    }
    const isPurchase = statement.is === 'purchase'
    const name = isPurchase
      ? `${namesOfPurchase(statement.body).store}|${namesOfPurchase(statement.body).transaction}`
      : `${statement.store}|${statement.transaction}`
    const path = isPurchase ? `/v4/users/${ids[statement.user]}/purchases` : urls.get(name)
    i++
    if (!path) continue
    const answer = await api.call(isPurchase ? 'POST' : 'PATCH', path, { key, body: statement.body })
    await between()
    // Known already, or about a period that is not the last one: the service refuses it, and nothing was taken.
    if (answer.status === 409) continue
    if (answer.status >= 300) throw new Error(`${path} ${JSON.stringify(statement.body)}: ${answer.status} ${answer.text}`)
    if (isPurchase) urls.set(name, answer.body.url)
    taken.push({ statement, heardAt, request })
  }
  return taken
}

/** All events of the log, those included that the service itself emitted. */
async function occurrencesOf(api: TestApi, key: string, ids: Record<string, string>): Promise<History['occurrences']> {
  const names = Object.fromEntries(Object.entries(ids).map(([name, id]) => [id, name]))
  const occurrences: History['occurrences'] = []
  for (let offset = 0; ; offset += 40) {
    const { data, has_more } = await must(api, key, 'GET', `/v4/events?limit=40&offset=${offset}&sort_order=asc`)
    for (const event of data)
      if (event.customer_uid) occurrences.push({ user: names[event.customer_uid]!, happenedAt: Date.parse(event.happened_at) / 1000 })
    if (!has_more) return occurrences
  }
}

/** A project with the products and users of a plan, before anything is posted of them. */
type Begun = { project: TestProjectKeys; environment: number; key: string; ids: Record<string, string>; now: Instant }

/** `project`: one that has nothing in the plan's environment yet. */
export async function beginPlan(api: TestApi, plan: Plan, project: TestProjectKeys, ahead = 0): Promise<Begun> {
  const [key, environment] = plan.isSandbox ? [project.sandbox, project.sandboxEnvironment] : [project.secret, project.production]
  if (ahead) await api.pool.query('update environments set clock_offset = make_interval(secs => $2) where id = $1', [environment, ahead])
  const now = Math.floor(Date.now() / 1000) + ahead
  await createProducts(api, key)
  return { project, environment, key, ids: await createUsers(api, key, plan, now), now }
}

/** Tells a project, a new one unless it is given, what the plan says. */
export async function postPlan(
  api: TestApi,
  plan: Plan,
  rates: Rate[],
  { project: given, ahead = 0 }: { project?: TestProjectKeys; ahead?: number } = {},
): Promise<PostedPlan> {
  const { project, key, ids, now } = await beginPlan(api, plan, given ?? (await api.newProject()), ahead)
  const segment = await must(api, key, 'POST', '/v4/segments', {
    name: 'Group a',
    conditions: [{ metric: 'property:group', comparator: 'eq', value: 'a' }],
  })
  const onList = plan.users.map((_, n) => userName(n)).filter((_, n) => n % 3 > 0)
  const listed = await must(api, key, 'POST', '/v4/segments', { name: 'A list', user_ids: onList.map(name => ids[name]) })
  const experimentGroups = await createExperiment(api, key, plan, ids)
  const taken = await postStatements(api, key, statementsOf(plan, now), ids, { ahead })
  const inGroup = plan.users.flatMap((user, n) => (user.group === 'a' ? [userName(n)] : []))
  return {
    project,
    key,
    ids,
    statements: taken.map(one => one.statement),
    history: {
      now: Math.floor(Date.now() / 1000) + ahead,
      products: CATALOGUE,
      rates,
      users: begun(
        plan.users.map(({ createdAgo, isSeen }, n) => ({ id: userName(n), createdAt: now - createdAgo, isSeen })),
        taken,
      ),
      arrivals: heard(taken),
      occurrences: await occurrencesOf(api, key, ids),
      segments: { [segment.id]: inGroup, [listed.id]: onList },
      experimentGroups,
    },
  }
}
