import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { startBrowser } from '../test/harness/browser.ts'
import { builtConsole } from '../test/harness/built-console.ts'
import { newOperator } from '../test/harness/operators.ts'
import { IN_PAGE } from './console/in-page.ts'
import { type ChartTime, change, navigate, turnTo } from './console/measure.ts'
import { tail } from './console/tail.ts'
import { durability } from './database.ts'
import { type SeededFacts, seededFacts, startFigures, untilReplicaAnswers } from './facts.ts'
import { openPool } from './product.ts'
import { median, option, quantile, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { startOnce } from './start.ts'

const CHARTS = ['mrr', 'sales', 'active-subscriptions', 'mrr-movement']
const PAGES = ['Overview', 'Charts', 'Cohorts', 'Customers', 'Events']
const PER_SECOND = 200
/** ms after which a page has what it fetches: that is no part of the navigation that follows. */
const STILL_MS = 1_500
/** ms; the last one in MB. */
const GOALS = { navigation: 600, change: 200, page: 150, task: 50, start: 50, memory: 5 }

type Times = { navigation: ChartTime[]; change: ChartTime[]; page: number[] }

/** The console in a browser, over the facts and the log of a large project; then what the console costs a service that starts. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 20)
    const seconds = option('seconds', 20)
    const visits = option('visits', 6_000_000)
    await builtConsole()
    const facts = await seededFacts(resources, visits, 'by all')
    const { url } = await openedService(resources, facts)
    const page = await signedIn(resources, facts, url)
    const times: Times = { navigation: [], change: [], page: [] }
    for (let n = 0; n <= rounds; n++) {
      say(n === 0 ? 'warming up' : `round ${n}`)
      await oneRound(page, url, n === 0 ? { navigation: [], change: [], page: [] } : times)
    }
    say('the live tail')
    await page.goto(`${url}/console/events`)
    const { tasks, reached } = await tail(page, { url, key: facts.tenant.secretKey, perSecond: PER_SECOND, seconds })
    const starts = await startsOf(resources, option('starts', 5))

    console.log(
      `${thousands(facts.transactions)} transactions, ${thousands(facts.changes)} changes, ${thousands(facts.users)} users, ${thousands(visits)} events; the last 90 days; ${rounds} rounds`,
    )
    console.log(await durability(facts.database))
    const all = <One>(of: One[], what: (one: One) => number) => of.map(what).sort((a, b) => a - b)
    const chartRow = (name: string, of: ChartTime[], goal: number) => [
      name,
      ...[
        quantile(
          all(of, one => one.total),
          0.5,
        ),
        quantile(
          all(of, one => one.total),
          0.95,
        ),
      ].map(ms => String(round(ms))),
      ...(['asked', 'answer', 'parse', 'draw'] as const).map(part =>
        String(
          round(
            quantile(
              all(of, one => one[part]),
              0.5,
            ),
            1,
          ),
        ),
      ),
      `p95 < ${goal}`,
    ]
    table(
      ['', 'p50 ms', 'p95 ms', 'until asked', 'answer', 'parse', 'draw', 'goal'],
      [
        chartRow('navigation to the first chart', times.navigation, GOALS.navigation),
        chartRow('filter or unit to the new chart', times.change, GOALS.change),
        [
          'page to page',
          ...[0.5, 0.95].map(q =>
            String(
              round(
                quantile(
                  all(times.page, ms => ms),
                  q,
                ),
              ),
            ),
          ),
          ...['', '', '', ''],
          `p95 < ${GOALS.page}`,
        ],
      ],
    )
    const longest = Math.max(0, ...tasks)
    console.log(
      `Live tail, ${round(reached)} events/s for ${seconds} s: ${tasks.length} tasks over ${GOALS.task} ms${longest > 0 ? `, the longest ${round(longest)} ms` : ''} (goal: none)`,
    )
    const more = { ms: (starts.with.seconds - starts.without.seconds) * 1000, megabytes: starts.with.megabytes - starts.without.megabytes }
    console.log(
      `Start of the service on an existing folder, p50 of ${option('starts', 5)}: with the console ${round(starts.with.seconds * 1000)} ms, ${round(starts.with.megabytes)} MB; without ${round(starts.without.seconds * 1000)} ms, ${round(starts.without.megabytes)} MB (goal: ≤ ${GOALS.start} ms and ≤ ${GOALS.memory} MB more)`,
    )
    const p95 = (of: number[]) => round(quantile(of, 0.95))
    const navigation = quantile(
      all(times.navigation, one => one.total),
      0.95,
    )
    return {
      name: 'console',
      ours: round(navigation),
      peer: GOALS.navigation,
      ratio: round(navigation / GOALS.navigation, 2),
      unit: 'ms, p95 of navigation to the first chart; beside it the goal',
      answer: p95(all(times.navigation, one => one.answer)),
      change: p95(all(times.change, one => one.total)),
      page: p95(all(times.page, ms => ms)),
      longestTask: round(longest),
      startMs: round(more.ms),
      startMb: round(more.megabytes, 1),
    }
  })

async function openedService(resources: Resources, facts: SeededFacts) {
  const service = await startFigures(resources, facts.database, 'auto', { CONSOLE: 'on' })
  await untilReplicaAnswers(service, facts)
  await untilReplicaAnswers(service, facts, 'arpu')
  return service
}

async function signedIn(resources: Resources, facts: SeededFacts, url: string): Promise<Page> {
  const pool = openPool(resources, facts.database)
  const { email, password } = await newOperator({ pool }, { isOwner: true })
  const browser = await startBrowser()
  resources.undo(() => browser.close())
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await page.addInitScript(IN_PAGE)
  await page.goto(`${url}/console`)
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', password)
  await page.click('button[type=submit]')
  await page.locator('#page-title').waitFor()
  return page
}

async function oneRound(page: Page, url: string, times: Times): Promise<void> {
  for (const chart of CHARTS) {
    await sleep(STILL_MS)
    times.navigation.push(await navigate(page, `${url}/console/charts/${chart}?range=90d&f.country=AA`))
    times.change.push(await change(page, page.getByText('Day', { exact: true })))
    times.change.push(await change(page, page.getByRole('button', { name: /^Remove the filter/ })))
  }
  for (const title of PAGES) times.page.push(await turnTo(page, title))
  const last = <One>(of: One[], count: number, what: (one: One) => number) =>
    of
      .slice(-count)
      .map(one => round(what(one)))
      .join(' ')
  const [navigation, changes] = [last(times.navigation, 4, one => one.total), last(times.change, 8, one => one.total)]
  say(`  navigation ${navigation}; change ${changes}; page ${last(times.page, 4, ms => ms)} ms`)
}

/** The medians of starts on an existing folder, with the console and without, in turns. */
async function startsOf(resources: Resources, rounds: number) {
  const dataDir = join(resources.folder, 'data-of-starts')
  const [on, off] = [{ CONSOLE: 'on' }, { CONSOLE: 'off' }]
  await startOnce(resources, dataDir, on)
  const seen: { with: Awaited<ReturnType<typeof startOnce>>[]; without: Awaited<ReturnType<typeof startOnce>>[] } = {
    with: [],
    without: [],
  }
  for (let n = 0; n < rounds; n++) {
    seen.without.push(await startOnce(resources, dataDir, off))
    seen.with.push(await startOnce(resources, dataDir, on))
  }
  const of = (starts: typeof seen.with) => ({
    seconds: median(starts.map(one => one.seconds)),
    megabytes: median(starts.map(one => one.megabytes)),
  })
  return { with: of(seen.with), without: of(seen.without) }
}
