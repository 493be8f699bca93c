// Charts, cohorts and lifetime value in the console: the same numbers as the API, by keyboard, down to the people behind them.
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, PASSWORD } from '../harness/operators.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

const DAY = 86_400_000
const HOSTILE = [
  `<img src=x onerror=document.title=1>`,
  'javascript:alert(1)',
  '\u202Egnp.exe',
  '__proto__',
  `a,b%2C${'x'.repeat(200)}`,
  '=1+1',
]
const CAMPAIGNS = [...HOSTILE, ...Array.from({ length: 10 }, (_, n) => `campaign ${n}`)]

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  browser = await startBrowser()
  await api.call('POST', '/v4/products', {
    body: { id: 'pro', type: 'subscription', duration: 'P1M', apple_product_id: 'pro.monthly' },
  })
  await api.call('POST', '/v4/events', { body: { events: lives(), trigger: false } })
  ;({ page, faults } = await signedIn('editor'))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
afterEach(() => expect(faults.splice(0)).toEqual([]))

/** 48 people, a new one every five days: some try, most pay monthly for some months, in two currencies of which one has no rate. */
function lives() {
  const now = Date.now() - 3_600_000
  return Array.from({ length: 48 }, (_, n) => {
    const came = now - n * 5 * DAY
    const id = `p${n}`
    const base = {
      ...{ identity_id: id, platform: 'iOS', product_id: 'pro.monthly' },
      device: { country: n % 3 === 0 ? 'DE' : 'US' },
      attribution: { media_source: 'Ads', campaign: CAMPAIGNS[n % CAMPAIGNS.length] },
    }
    const period = (name: string, days: number, length: number, price?: string) => ({
      ...{ ...base, event_id: `${id}-${days}`, event_name: name, happened_at: iso(came + days * DAY) },
      ...{ transaction: { transaction_id: `${id}-${days}`, original_transaction_id: id, expires_at: iso(came + (days + length) * DAY) } },
      ...(price && { price, currency: n % 8 === 7 ? 'EUR' : 'USD' }),
    })
    const trial = n % 2 === 0 ? [period('trial_started', 0, 7)] : []
    const first = trial.length > 0 ? 7 : 0
    const paid = n % 6 === 4 ? 0 : 1 + (n % 4)
    const periods = Array.from({ length: paid }, (_, k) =>
      period(k > 0 ? 'subscription_renewed' : first > 0 ? 'trial_converted' : 'subscription_started', first + k * 30, 30, '10.00'),
    )
    return [...trial, ...periods].filter(({ happened_at }) => happened_at <= iso(now))
  }).flat()
}
const iso = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')

async function signedIn(role: ProjectRole) {
  const { id, email } = await newOperator(api)
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const opened = await openedPage(browser)
  await opened.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await opened.page.goto(`${api.url}/console/charts`)
  await opened.page.fill('[name=email]', email)
  await opened.page.fill('[name=password]', PASSWORD)
  await opened.page.click('button[type=submit]')
  await opened.page.waitForSelector('.tile')
  return opened
}

const address = () => new URL(page.url()).searchParams
/** Opens a page, waits for a part of it, and returns what the operation answered. */
async function open(path: string, wait: string, operation = /\/v4\/analytics\/charts\/[\w-]+\?/) {
  // What the page before still asks for is no answer to this one.
  await page.goto('about:blank')
  const asked = page.waitForResponse(response => operation.test(response.url()) && response.ok())
  await page.goto(`${api.url}/console${path}`)
  const answer = await (await asked).json()
  await page.locator(wait).first().waitFor()
  return answer
}
const NUMBERS = '.numbers tbody tr'
const ofTexts = (texts: string[]) => texts.map(text => Number(text.replaceAll(/[^\d.−]/g, '').replace('−', '-')))
const texts = (selector: string) => page.locator(selector).allTextContents()

/** The page in both themes, wide and narrow. */
async function expectSoundEverywhere(name: string) {
  for (const theme of ['light', 'dark'] as const)
    for (const width of [1440, 390]) {
      // Colours that are on their way to the other theme have the contrast of neither.
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 900 })
      await expectSound(page, `${name}-${theme}-${width}`)
    }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1440, height: 900 })
  expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0)
}

describe('the list of charts', () => {
  test('has every chart with its figure', async () => {
    await page.locator('a.tile .tile-value .figure').nth(22).waitFor()
    await expectSoundEverywhere('charts')
  })
})

describe('a chart', () => {
  test.each([
    ['sales', ''],
    ['sales', '&split=country'],
    ['mrr', '&unit=month'],
    ['mrr-movement', '&split=country'],
    ['trial-to-paid', ''],
    ['subscriptions-overview', ''],
    ['active-subscriptions', '&f.country=DE'],
  ])('%s%s: table and CSV have the numbers of the answer', async (code, more) => {
    const { series, summarySeries } = await open(`/charts/${code}?range=180d&tz=UTC${more}`, NUMBERS)
    const all = series.length > 1 && summarySeries ? [...series, summarySeries] : series
    const totals = ofTexts(await texts('.numbers tr.total td')).slice(1, all.length + 1)
    expect(totals).toEqual(all.map(({ total }: { total: number }) => total))
    const rows = await page
      .locator('.numbers tbody tr.opens')
      .evaluateAll(found => found.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent!)))
    const shown = rows.reverse().map(cells => ofTexts(cells.slice(1, all.length + 1)))
    expect(shown).toEqual(shown.map((_, at) => all.map(({ data }: { data: { value: number }[] }) => data[at]!.value)))
    await page.getByRole('button', { name: 'Download' }).click()
    const file = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: 'CSV' }).click()
    const lines = (await readFile(await (await file).path(), 'utf8')).trim().split('\n')
    expect(lines.slice(1, -1).map(line => line.split(',').slice(4).map(Number))).toEqual(shown)
  })

  test('is gone through by keys, with what is said, to the facts that are the number, and back', async () => {
    const { series } = await open('/charts/sales?range=90d&tz=UTC', '.chart svg')
    await page.locator('.chart').focus()
    await page.keyboard.press('End')
    // What is sold in a week depends on the day of the test.
    const at = series[0].data.findLastIndex(({ value }: { value: number }, n: number) => value > 0 && n < series[0].data.length - 2)
    const point = series[0].data[at]
    for (let n = series[0].data.length - 1; n > at; n--) await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowDown')
    const money = `$${point.value.toFixed(2)}`
    expect(await page.locator('.chart [aria-live]').textContent()).toContain(`Sales after refunds ${money}`)
    const [card, line] = await Promise.all([page.locator('.chart-card').boundingBox(), page.locator('.cursor circle').boundingBox()])
    expect(card!.x + card!.width < line!.x || card!.x > line!.x + line!.width).toBe(true)
    await page.keyboard.press('Enter')
    await page.locator('.fact').first().waitFor()
    expect(address().get('at')).toBe(String(point.start_time))
    const parts = await page.locator('.fact-figure data').evaluateAll(found => found.map(one => Number(one.getAttribute('value'))))
    expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(point.value, 2)
    expect(await page.locator('.facts-sum b').textContent()).toBe(money)
    await expectSound(page, 'facts')
    await page.keyboard.press('Tab')
    await page.getByRole('tab', { name: 'How it is computed' }).click()
    await page.locator('.computed .formula').first().waitFor()
    await expectSound(page, 'computed')
    expect(await page.locator('.computed .total .num').textContent()).toContain(money)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.className')).toContain('chart')
    await page.goBack()
  })

  test('says what is not in the money, and looks sound', async () => {
    await open('/charts/sales?range=180d&tz=UTC', '.notice.warn')
    expect(await page.locator('.notice.warn').textContent()).toMatch(/Not in the money: €[\d.]+ of \d+ transactions?/)
    await expectSoundEverywhere('chart')
  })

  test('of many values draws eleven and the rest; every value is in the table, as text', async () => {
    const { series } = await open('/charts/sales?range=365d&tz=UTC&split=campaign_name', '.legend')
    expect(series.length).toBe(12)
    await page.locator('.all-values .value-label').first().waitFor()
    expect((await texts('.all-values .value-label')).toSorted()).toEqual(
      expect.arrayContaining(HOSTILE.map(name => expect.stringContaining(name.slice(0, 8)))),
    )
    expect((await texts('.all-values .value-label')).length).toBe(16)
    expect(await page.title()).toMatch(/^Sales/)
    await expectSoundEverywhere('chart-values')
  })

  test('is filtered by keys; the address keeps it, and another chart says what has no effect', async () => {
    await open('/charts/sales?range=180d&tz=UTC', NUMBERS)
    const all = await page.locator('.summary-total').textContent()
    await page.keyboard.press('/')
    await page.keyboard.press('Enter')
    await page.locator('[aria-label="Find in Filter"]:focus').waitFor()
    await page.keyboard.type('camp')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.locator('[aria-label="Find in Campaign"]:focus').waitFor()
    await page.keyboard.type('a,b')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.locator('.summary-total').filter({ hasNotText: all! }).waitFor()
    await expectSound(page, 'filter')
    await page.keyboard.press('Escape')
    expect(address().get('f.campaign_name')).toMatch(/^a%2Cb%252Cx+$/)
    const filtered = await page.locator('.summary-total').textContent()
    await page.reload()
    await page.locator(NUMBERS).first().waitFor()
    expect(await page.locator('.summary-total').textContent()).toBe(filtered)
    await page.goto(`${api.url}/console/charts/users-overview?range=180d&f.product_id=pro`)
    await page.getByText('Product id: no effect here').waitFor()
    await page.getByRole('button', { name: 'Remove the filter Product id' }).click()
    expect(address().has('f.product_id')).toBe(false)
  })

  test('goes to the range before and after by keys, and to days of a calendar', async () => {
    await open('/charts/sales?range=28d&tz=UTC', NUMBERS)
    await page.keyboard.press('[')
    await page.waitForURL(/[?&]from=/)
    const [from, to] = [Number(address().get('from')), Number(address().get('to'))]
    expect([from % 86_400, Math.round((to - from) / 86_400)]).toEqual([0, 28])
    await page.getByRole('button', { name: /^Range/ }).click()
    await page.locator('.own-range table button:not([disabled]):not([data-outside])').first().waitFor()
    await expectSound(page, 'range')
    const day = (n: number) => page.locator('.own-range table button:not([disabled]):not([data-outside])').nth(n)
    await day(0).click()
    await day(2).click()
    await page.locator('.own-range').waitFor({ state: 'detached' })
    expect(Number(address().get('to')) - Number(address().get('from'))).toBe(3 * 86_400)
  })

  test('is kept as a view and annotated; both can be undone', async () => {
    await open('/charts/mrr?range=28d&tz=UTC&split=country', NUMBERS)
    const act = async (name: string) => {
      await page.getByRole('button', { name: 'Keep' }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    await act('Save this view')
    await page.getByRole('textbox', { name: 'Name' }).fill('MRR & <b>countries</b>')
    await expectSound(page, 'save-view')
    await page.keyboard.press('Enter')
    await page.getByText('Saved as').waitFor()
    const { data: views } = (await api.call('GET', '/v4/analytics/views')).body
    expect(views).toMatchObject([{ code: 'mrr', range: 'last_28_days', query: { unit: 'day', segmentation: 'country', timezone: 'UTC' } }])
    await act('Annotate')
    await page.getByRole('textbox', { name: 'What happened' }).fill('New paywall')
    await page.keyboard.press('Enter')
    await page.locator('.notes-text', { hasText: 'New paywall' }).waitFor()
    await page.locator('.chart .note text', { hasText: 'A' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.locator('.notes-text').waitFor({ state: 'detached' })
    await page.goto(`${api.url}/console/charts`)
    await page.getByRole('link', { name: /MRR & <b>countries/ }).click()
    await page.locator('.legend').waitFor()
    expect(Object.fromEntries(address())).toMatchObject({ range: '28d', split: 'country', unit: 'day', tz: 'UTC' })
  })

  test('is downloaded as pictures, text and SQL', async () => {
    await open('/charts/sales?range=90d&tz=UTC&split=country', NUMBERS)
    const starts: Record<string, string> = {
      Markdown: '## Sales',
      SVG: '<svg',
      PNG: '\u{fffd}PNG',
      'SQL that answers the figure': 'select',
    }
    for (const [name, start] of Object.entries(starts)) {
      await page.getByRole('button', { name: 'Download' }).click()
      const file = page.waitForEvent('download')
      await page.getByRole('menuitem', { name }).click()
      expect([name, (await readFile(await (await file).path(), 'utf8')).slice(0, start.length)]).toEqual([name, start])
    }
  })

  test('that does not exist, or is not answered, says so in place and lives on', async () => {
    await page.goto(`${api.url}/console/charts/nothing`)
    await page.getByRole('alert').first().waitFor()
    expect(await page.getByRole('alert').first().textContent()).toContain('not_found')
    await page.route(/\/charts\/sales\?/, route =>
      route.fulfill({ status: 500, json: { error: { code: 'internal_error', message: 'It broke.' } } }),
    )
    await page.goto(`${api.url}/console/charts/sales`)
    await page.getByRole('alert').first().waitFor()
    await expectSound(page, 'chart-failed')
    await page.unroute(/\/charts\/sales\?/)
    await page.getByRole('button', { name: 'Try again' }).first().click()
    await page.locator('.chart svg').first().waitFor()
    faults.splice(0)
    await page.goto(`${api.url}/console/charts/sales?from=4000000000&to=4000086400`)
    await page.getByText('Nothing to draw in this range').waitFor()
    await expectSound(page, 'chart-empty')
  })

  test('is read by a viewer, who is told what needs another role', async () => {
    const viewer = await signedIn('viewer')
    await viewer.page.goto(`${api.url}/console/charts/sales`)
    await viewer.page.getByRole('button', { name: 'Keep' }).click()
    const item = viewer.page.getByRole('menuitem', { name: /Save this view/ })
    expect([await item.isDisabled(), await item.textContent()]).toEqual([true, 'Save this view · needs the role editor'])
    await viewer.page.context().close()
  })
})

describe('cohorts', () => {
  const COHORTS = /\/v4\/analytics\/cohorts\?/

  test('are the numbers of the answer, moved in by arrows; a cell opens as many people as it says', async () => {
    const { cohorts } = await open('/cohorts?metric=payers&range=365d', '.heat td button', COHORTS)
    const rows = cohorts.filter(({ users }: { users: number }) => users > 0)
    const users = ofTexts(await texts('.heat tbody tr:not(.total) td.users'))
    expect(users).toEqual(rows.map((row: { users: number }) => row.users))
    for (const [place, { periods }] of rows.entries()) {
      const shown = ofTexts(await texts(`.heat tbody tr:not(.total) >> nth=${place} >> td:not(.users) button`))
      expect(shown).toEqual(periods.slice(0, shown.length).map(({ payers }: { payers: number }) => payers))
    }
    await page.locator('.heat [data-at="0:1"]').focus()
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowLeft']) await page.keyboard.press(key)
    const many = Number(await page.evaluate('document.activeElement.textContent'))
    await page.keyboard.press('Enter')
    await page.locator('.person').first().waitFor()
    expect(await page.locator('.person').count()).toBe(many)
    await expectSound(page, 'cohort-people')
    await page.keyboard.press('Escape')
    expect(await page.evaluate('document.activeElement.dataset.at')).toBe('2:1')
  })

  test('show shares by renewals, money by days, values side by side, and curves', async () => {
    await open('/cohorts', '.heat td button', COHORTS)
    expect(await texts('.heat tbody tr:not(.total) td.h5 button')).toContain('100\u00a0%')
    await expectSoundEverywhere('cohorts')
    await open('/cohorts?mode=by_days&split=country', '.heat button.heat-label', COHORTS)
    expect(await texts('.heat button.heat-label')).toEqual(['US', 'DE'])
    await page.locator('button.heat-label', { hasText: 'DE' }).click()
    await page.waitForURL(/[?&]value=DE/)
    await open('/cohorts?as=curve', '.chart .stroke', COHORTS)
    await expectSound(page, 'cohorts-curve')
    await open('/cohorts?from=4000000&to=4086400', '.empty', COHORTS)
    await expectSound(page, 'cohorts-empty')
  })
})

describe('lifetime value', () => {
  const LTV = /\/v4\/analytics\/ltv\?/

  test('is the answer, with the day on which a typed cost is paid back', async () => {
    const { series, cohort_users } = await open('/ltv?range=365d', '.ltv-table td', LTV)
    expect(Number(await page.locator('.ltv-value .figure').first().getAttribute('value'))).toBe(cohort_users)
    const [labels, perUser] = [await texts('.ltv-table td:first-child'), ofTexts(await texts('.ltv-table td:nth-child(2)'))]
    expect(perUser).toEqual(labels.map(label => series.find((point: { label: string }) => label.split(' ')[0] === point.label).arpu))
    await page.getByLabel('What it costs to win one user').fill('9')
    const first = series.find(({ arpu }: { arpu: number }) => arpu >= 9).label
    await page.getByText(`Paid back on ${first}`).waitFor()
    await page.locator('.chart .level text', { hasText: 'Cost $9.00' }).waitFor()
    expect(address().get('cost')).toBe('9')
    await expectSoundEverywhere('ltv')
    await open('/ltv?range=365d&split=campaign_name', '.ltv-table .value-label', LTV)
    await expectSound(page, 'ltv-split')
  })
})
