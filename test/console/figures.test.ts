// Times and numbers of the console: buckets of zones whose clocks change are the service's own; what a page, a file and a drawer say is the answer.
import { readFile } from 'node:fs/promises'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { product } from '../harness/purchases.ts'
import { INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
const year = new Date().getUTCFullYear() - 1

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  browser = await startBrowser()
  await product(api, { id: 'pro', apple_product_id: 'pro.monthly' })
  const events = [...CHANGES.flatMap(({ at }, zone) => around(at, zone)), ...lives()]
  for (let n = 0; n < events.length; n += 200)
    await api.call('POST', '/v4/events', { body: { events: events.slice(n, n + 200), trigger: false } })
  const { id, email } = await newOperator(api)
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, 'viewer'))
  const visit = visitor(api.url)
  await visit.signIn(email)
  ;({ page, faults } = await openedPage(browser))
  await page.context().addCookies([...visit.cookies].map(([name, value]) => ({ name, value, url: api.url })))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
afterEach(() => expect(faults).toEqual([]))

/** The first Sunday of a month from a day on, in UTC. */
const sunday = (month: number, from: number) => {
  const first = new Date(Date.UTC(year, month, from))
  return first.getTime() / 1000 + ((7 - first.getUTCDay()) % 7) * DAY
}
/** Moments around which the clock of a zone changes, or would have its midnight at an odd time. */
const CHANGES = [
  // 02:00 becomes 01:00: the hour from 01:00 comes twice.
  { zone: 'America/New_York', at: sunday(10, 1) + 6 * HOUR },
  // 02:00 becomes 03:00.
  { zone: 'America/New_York', at: sunday(2, 8) + 7 * HOUR },
  // 02:00 becomes 02:30.
  { zone: 'Australia/Lord_Howe', at: sunday(9, 1) - DAY + 15.5 * HOUR },
  // 02:00 becomes 01:30.
  { zone: 'Australia/Lord_Howe', at: sunday(3, 1) - DAY + 15 * HOUR },
  // Midnight is at 18:15 in UTC.
  { zone: 'Asia/Kathmandu', at: sunday(5, 1) + 18.25 * HOUR },
]

const iso = (second: number) => new Date(second * 1000).toISOString().replace('.000', '')
const sale = (id: string, at: number, more: object = {}) => ({
  ...{
    event_id: id,
    event_name: 'subscription_started',
    identity_id: id,
    happened_at: iso(at),
    platform: 'iOS',
    product_id: 'pro.monthly',
  },
  ...{ price: '10.00', currency: 'USD', transaction: { transaction_id: id, original_transaction_id: id, expires_at: iso(at + 30 * DAY) } },
  ...more,
})
/** Sales from 30 hours before to 30 hours after, one every half an hour near it. */
function around(at: number, zone: number) {
  const minutes = [-30 * 60, -20 * 60, ...Array.from({ length: 17 }, (_, n) => (n - 8) * 30), 20 * 60, 30 * 60]
  return minutes.map(minute => sale(`z${zone}.${minute + 2_000}`, at + minute * 60 + 60))
}

/** People of two countries and three campaigns who try, pay, and are refunded. */
function lives() {
  const now = Math.floor(Date.now() / 1000) - HOUR
  return Array.from({ length: 40 }, (_, n) => {
    const at = now - n * 2 * DAY - 3 * DAY
    const more = {
      device: { country: ['DE', 'US'][n % 2] },
      attribution: { media_source: 'Ads', campaign: ['one', 'two', 'three'][n % 3] },
    }
    const id = `life-${n}`
    const refund = { ...sale(id, at + DAY, more), event_id: `${id}-refund`, event_name: 'subscription_refunded', price: '4.00' }
    const trial = { ...sale(id, at, more), event_id: `${id}-trial`, event_name: 'trial_started', price: undefined, currency: undefined }
    const paid = { ...sale(id, at, { ...more, price: `${(n % 7) + 1}.${10 + n}` }) }
    return n % 3 === 0 ? [trial] : n % 5 === 0 ? [paid, refund] : [paid]
  }).flat()
}

type Point = { start_time: number; end_time: number; value: number }
type Series = { label: string; total: number; data: Point[] }
type Answer = { series: Series[]; summarySeries?: Series; code: string; complete?: object }

/** Opens a chart and returns what the operation answered. */
async function open(path: string): Promise<Answer> {
  const asked = page.waitForResponse(response => /\/v4\/analytics\/charts\/[\w-]+\?/.test(response.url()) && response.ok())
  await page.goto(`${api.url}/console${path}`)
  const answer = await (await asked).json()
  await page.locator('.numbers tbody tr.opens').first().waitFor()
  return answer
}
const cells = () =>
  page
    .locator('.numbers tbody tr.opens')
    .evaluateAll(rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent!)))
const numberOf = (text: string) => Number(text.replaceAll(/[^\d.−]/g, '').replace('−', '-'))

describe('over a change of the clock', () => {
  const long = { day: 'numeric', month: 'short' } as const
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const

  test.each(
    CHANGES.flatMap(change => (['hour', 'day'] as const).map(unit => ({ ...change, unit }))),
  )('$zone at $at by $unit: rows, axis and cards say the buckets of the service', async ({ zone, at, unit }) => {
    const [from, to] = unit === 'hour' ? [at - 8 * HOUR, at + 8 * HOUR] : [at - 3 * DAY, at + 3 * DAY]
    const { series } = await open(`/charts/sales?from=${from}&to=${to}&unit=${unit}&tz=${zone}&compare=no`)
    const points = series[0]!.data
    const options = unit === 'hour' ? { ...long, ...clock } : { ...long, year: 'numeric' as const, weekday: 'short' as const }
    const said = (point: Point) => new Intl.DateTimeFormat('en-GB', { timeZone: zone, ...options }).format(point.start_time * 1000)
    const rows = (await cells()).reverse()
    const labels = rows.map(([label]) => label!.replace(/ · .*/, ''))
    expect(labels.map((label, n) => label.startsWith(said(points[n]!)))).toEqual(points.map(() => true))
    expect(new Set(labels).size).toBe(points.length)
    expect(rows.map(row => numberOf(row[1]!))).toEqual(points.map(({ value }) => value))
    const ticks = await page.locator('.chart-canvas > svg:first-of-type .tick text').allTextContents()
    const short = labels.map(label => label.replace(/^\w+, (\d+ \w+) \d+$/, '$1'))
    expect(ticks.filter(tick => !tick.startsWith('$')).every(tick => short.includes(tick))).toBe(true)
    await page.locator('.chart').focus()
    await page.keyboard.press('Home')
    for (const n of points.keys()) {
      const title = await page.locator('.chart-card-title').textContent()
      expect(title!.replace(/ · .*/, '')).toBe(labels[n])
      if (n < points.length - 1) await page.keyboard.press('ArrowRight')
    }
  })
})

describe('numbers', () => {
  /** Repeated: the same draws each time. */
  let seed = 20_261_129
  const drawn = <T>(of: readonly T[]): T => {
    seed = (seed * 48_271) % 2_147_483_647
    return of[seed % of.length]!
  }
  const CODES = ['sales', 'proceeds', 'mrr', 'free-trials', 'new-subscriptions', 'refunds', 'arppu', 'active-subscriptions']
  const queries = CODES.map(code => {
    const split = drawn(['', '&split=country', '&split=campaign_name', '&split=platform'])
    const filter = drawn(['', '&f.country=DE', '&f.campaign_name=one,two', '&f.country=US&f.campaign_name=three'])
    return { code, query: `${split}${filter}&unit=${drawn(['day', 'week', 'month'])}` }
  })

  test.each(queries)('$code $query: the table, the file, and the facts behind a point are the answer', async ({ code, query }) => {
    const { series, summarySeries } = await open(`/charts/${code}?range=90d&tz=UTC&compare=no${query}`)
    const all = series.length > 1 && summarySeries ? [...series, summarySeries] : series.length > 0 ? series : [summarySeries!]
    const rows = (await cells()).reverse().map(row => row.slice(1, all.length + 1).map(numberOf))
    expect(rows).toEqual(all[0]!.data.map((_, n) => all.map(({ data }) => data[n]!.value)))
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download' }).click()
    await page.getByRole('menuitem', { name: 'CSV' }).click()
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n').slice(1)
    expect(
      lines.slice(0, -1).map(line =>
        line
          .split(',')
          .slice(4, 4 + all.length)
          .map(Number),
      ),
    ).toEqual(rows)
    expect(
      lines
        .at(-1)!
        .split(',')
        .slice(4, 4 + all.length)
        .map(Number),
    ).toEqual(all.map(({ total }) => total))
    const whole = summarySeries ?? series[0]
    const point = whole?.data.findLast(({ value }) => value !== 0)
    if (point === undefined || code === 'arppu') return
    await page
      .locator('.numbers tbody tr.opens')
      .nth(whole!.data.length - 1 - whole!.data.indexOf(point))
      .click()
    await page.locator('.fact').first().waitFor()
    const parts = await page.locator('.fact-figure data').evaluateAll(found => found.map(one => Number(one.getAttribute('value'))))
    expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(point.value, 1)
  })

  test('the tiles of the list of charts are the totals of the answers', async () => {
    // Of each chart the last one: with the next minute the page asks again.
    const answers = new Map<string, Answer>()
    page.on('response', async response => {
      if (!response.url().includes('/v4/analytics/charts?') || !response.ok()) return
      for (const answer of (await response.json()).data) answers.set(answer.code, answer)
    })
    await page.goto(`${api.url}/console/charts?range=90d`)
    await expect.poll(() => page.locator('a.tile .tile-value .figure').count(), { timeout: 20_000 }).toBe(23)
    for (const { code, series, summarySeries, complete } of answers.values()) {
      // Where time alone can still change the whole, a tile has what is complete.
      if (complete !== undefined || summarySeries === undefined ? series.length !== 1 || complete !== undefined : false) continue
      const value = await page.locator(`a.tile[href*="/charts/${code}?"] .tile-value .figure`).getAttribute('value')
      expect([code, Number(value)]).toEqual([code, (summarySeries ?? series[0])!.total])
    }
    expect(answers.size).toBe(23)
  })
})

test('figures are asked for once, before the page that shows them is drawn: when it opens, and when a filter changes', async () => {
  const own = await page.context().newPage()
  await own.addInitScript(`{
    const fetched = window.fetch
    window.drawnThen = []
    window.fetch = (...call) => {
      if (/charts\\/sales\\?/.test(call[0])) drawnThen.push(document.querySelectorAll('[aria-label^="Remove the filter"]').length)
      return fetched(...call)
    }
  }`)
  const now = Math.floor(Date.now() / 1000)
  await own.goto(`${api.url}/console/charts/sales?from=${now - 60 * DAY}&to=${now}&f.country=DE`)
  const total = own.locator('.summary-total .figure')
  const first = await total.getAttribute('value')
  await own.getByRole('button', { name: /^Remove the filter/ }).click()
  await expect.poll(() => total.getAttribute('value')).not.toBe(first)
  expect(await own.evaluate('drawnThen')).toEqual([0, 1])
  await own.close()
})

test('a chart is there before the table of its numbers, which keeps nobody waiting', async () => {
  const own = await page.context().newPage()
  await own.addInitScript(`{
    window.rowsThen = []
    const rows = () => document.querySelectorAll('.numbers tbody tr').length
    const look = () => rowsThen.length === 0 && document.querySelector('.chart-canvas svg') && rowsThen.push(rows())
    new MutationObserver(look).observe(document, { subtree: true, childList: true })
  }`)
  const now = Math.floor(Date.now() / 1000)
  await own.goto(`${api.url}/console/charts/sales?from=${now - 60 * DAY}&to=${now}&unit=day`)
  // The total, and the days of which the first and the last one are cut.
  await expect.poll(() => own.locator('.numbers tbody tr').count(), { timeout: 20_000 }).toBe(1 + 61)
  expect(await own.evaluate('rowsThen')).toEqual([0])
  await own.close()
})

test('a chart is asked for once, as its control or its link is pressed; what is let go elsewhere changes nothing', async () => {
  const own = await page.context().newPage()
  const asked: string[] = []
  own.on('request', request => {
    const { pathname, searchParams } = new URL(request.url())
    if (/v4.*charts\/[a-z-]+$/.test(pathname))
      asked.push(`${pathname.split('/').at(-1)} by ${searchParams.get('unit')} ${searchParams.get('filter[country][]')}`)
  })
  const press = async (at: Locator) => {
    const { x, y, width, height } = (await at.boundingBox())!
    await own.mouse.move(x + width / 2, y + height / 2)
    await own.mouse.down()
  }
  const rows = () => own.locator('.numbers tbody tr').count()
  const to = Math.floor(Date.now() / 1000)
  await own.goto(`${api.url}/console/charts/sales?from=${to - 60 * DAY}&to=${to}&unit=week&f.country=DE`)
  await expect.poll(rows, { timeout: 20_000 }).toBeGreaterThan(8)
  const weeks = await rows()
  expect(asked.splice(0)).toEqual(['sales by week DE'])
  const day = own.getByText('Day', { exact: true })
  await press(day)
  await expect.poll(() => asked).toEqual(['sales by day DE'])
  await own.mouse.move(2, 2)
  await own.mouse.up()
  expect([await rows(), new URL(own.url()).searchParams.get('unit')]).toEqual([weeks, 'week'])
  await day.click()
  await expect.poll(rows).toBe(1 + 61)
  await press(own.getByRole('button', { name: /^Remove the filter/ }))
  await expect.poll(() => asked).toEqual(['sales by day DE', 'sales by day null'])
  await own.mouse.up()
  await own.getByRole('button', { name: /^Remove the filter/ }).waitFor({ state: 'detached' })
  await own.goto(`${api.url}/console/charts`)
  await own.locator('a.tile .tile-value .figure').first().waitFor()
  asked.splice(0)
  await press(own.locator('a.tile[href*="/charts/refunds?"]'))
  await expect.poll(() => asked.length).toBe(1)
  await own.mouse.up()
  await own.locator('.chart-canvas svg').first().waitFor()
  expect(asked).toEqual([expect.stringMatching(/^refunds by /)])
  await own.close()
})
