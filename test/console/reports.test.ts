// Reports and exports in a browser, as operators use them: by keyboard, with the numbers of the API.
import { createHash } from 'node:crypto'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { type Shown, sandbox, webhookTo } from '../harness/reports.ts'
import { type Sink, startSink } from '../harness/sink.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

let api: TestApi
let sink: Sink
let box: ReturnType<typeof sandbox>
let browser: Browser
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole(), worker: true })
  sink = await startSink()
  box = sandbox(api)
  await webhookTo(api, sink.url)
  browser = await startBrowser()
  ;({ page, faults } = await signedIn('editor'))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
  await sink?.close()
})
beforeEach(() => () => expect(faults).toEqual([]))

async function signedIn(role: 'viewer' | 'editor') {
  const { id, email } = await newOperator(api)
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const visit = visitor(api.url)
  await visit.signIn(email)
  const opened = await openedPage(browser)
  await opened.page.context().addCookies([...visit.cookies].map(([name, value]) => ({ name, value, url: api.url })))
  await opened.page.emulateMedia({ reducedMotion: 'reduce' })
  opened.page.setDefaultTimeout(10_000)
  return opened
}

const open = async (path: string, selector: string, on = page) => {
  await on.goto(`${api.url}/console${path}${path.includes('?') ? '&' : '?'}env=sandbox`)
  await on.waitForSelector(selector)
}
const button = (name: string | RegExp, on: Pick<Page, 'getByRole'> = page) =>
  on.getByRole('button', { name, exact: typeof name === 'string' })
const dialog = () => page.getByRole('dialog')
/** The slots of a list on the page: their instants. */
const slotsIn = (part: string) => page.locator(`${part} .slots time`).evaluateAll(all => all.map(one => one.getAttribute('datetime')))
const instants = (slots: Shown) => slots.data.map(({ at }: Shown) => at)

async function inBothThemes(name: string) {
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    await expectSound(page, `${name}-${theme}`)
  }
  await page.setViewportSize({ width: 390, height: 900 })
  await expectSound(page, `${name}-narrow`)
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
}

let report: string

test('a report is made by keys, with its slots before it is stored; they are those of the service', async () => {
  await open('/reports', '.empty')
  await page.keyboard.press('n')
  await dialog().getByLabel(/^Name/).waitFor()
  await page.keyboard.type('Nightly for finance')
  await dialog().getByRole('radio', { name: 'Every week' }).press('Space')
  await dialog().getByLabel('On', { exact: true }).selectOption('sunday')
  await dialog().getByLabel('At', { exact: true }).selectOption('02:30')
  await button(/^Zone/, dialog()).press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.matches(".mantine-Combobox-search")')).toBe(true)
  await page.keyboard.type('Lord_Howe')
  await page.getByRole('option', { name: 'Australia/Lord_Howe' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  const query = new URLSearchParams({ send_at: '02:30', timezone: 'Australia/Lord_Howe', cadence: 'weekly', weekday: 'sunday' })
  const preview = await box.good('GET', `/v4/scheduled-reports/slots?${query}`)
  await expect.poll(() => slotsIn('.report-next')).toEqual(instants(preview))
  await expectSound(page, 'report-form')
  await dialog()
    .getByLabel(/^Webhooks/)
    .press('Space')
  await button('Make the report', dialog()).press('Enter')
  await page.waitForURL(/\/reports\/rep_/)
  report = /rep_\w+/.exec(page.url())![0]
  await page.getByText('The first slot is ahead.').waitFor()
  await expect.poll(() => slotsIn('.card')).toEqual(instants(preview))
  expect((await box.good('GET', `/v4/scheduled-reports/${report}`)).next_slot).toBe(preview.data[0].at)
})

test('a test is sent and watched until it is delivered; then slots have their cells and rows', async () => {
  await button('Send a test').press('Enter')
  await dialog().locator('.status', { hasText: 'Empty' }).waitFor()
  await page.keyboard.press('Escape')
  await box.good('PUT', `/v4/scheduled-reports/${report}`, {
    ...(await plain()),
    cadence: 'daily',
    timezone: 'Europe/Berlin',
    send_at: '09:00',
  })
  await box.advance({ by: 'P3D' })
  const runs = await box.runsOf(report)
  const slots = runs.filter(({ kind }) => kind === 'scheduled')
  await expect.poll(() => page.locator('button.cell').count()).toBe(slots.length)
  expect(await page.locator('tbody tr').count()).toBe(runs.length)
  for (const [n, run] of runs.entries()) {
    const row = page.locator('tbody tr').nth(n)
    const shown = async () => (await row.innerText()).replaceAll(/\s+/g, ' ')
    // The page reads again when a run has ended.
    await expect.poll(shown, { timeout: 20_000 }).toMatch(run.outcome === 'empty' ? /Empty 0 / : /Delivered/)
    const text = await shown()
    expect(text).toContain(run.destinations[0].label)
  }
  const label = await page.locator('button.cell').last().getAttribute('aria-label')
  expect(label).toMatch(/, 09:00: empty$/)
  await inBothThemes('report')
  // The run is sent again, and the focus goes back to its cell.
  await page.locator('button.cell').last().focus()
  await page.keyboard.press('Enter')
  await button('Resend to all', dialog()).press('Enter')
  await dialog().getByText('1 time', { exact: true }).waitFor()
  await expectSound(page, 'report-run')
  await page.keyboard.press('Escape')
  // Until it has ended again it is under way.
  await expect.poll(() => page.evaluate<string>('document.activeElement.getAttribute("aria-label")'), { timeout: 20_000 }).toBe(label)
  expect((await box.runsOf(report)).find(({ id }) => id === slots[0].id).resends).toBe(1)
})

/** The report as a request gives it. */
async function plain(): Promise<Record<string, unknown>> {
  const { report_name, send_at, included_range_days, status, environment, destinations, timezone } = await box.good(
    'GET',
    `/v4/scheduled-reports/${report}`,
  )
  return { report_name, send_at, included_range_days, status, environment, destinations, timezone }
}

test('who edits sees what somebody else has changed meanwhile; a pause is undone', async () => {
  await open(`/reports/${report}`, '.cell')
  await page.keyboard.press('e')
  await dialog().getByLabel(/^Name/).fill('Mine')
  await box.good('PUT', `/v4/scheduled-reports/${report}`, { ...(await plain()), report_name: 'Theirs' })
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('Name: now Theirs').waitFor()
  await expectSound(page, 'report-newer')
  await button('Save mine').press('Enter')
  await page.getByRole('heading', { name: 'Mine', level: 1 }).waitFor()
  await dialog().waitFor({ state: 'detached' })
  await button('Pause').press('Enter')
  await page.getByText('A paused report has no slots.', { exact: false }).waitFor()
  expect(await box.good('GET', `/v4/scheduled-reports/${report}`)).toMatchObject({ status: 'draft', next_slot: null })
  await button('Undo').press('Enter')
  await button('Pause').waitFor()
  await open('/reports', '[data-row]')
  await inBothThemes('reports')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(report))
})

test('a chart is scheduled from its page, and its run shows the totals that were sent', async () => {
  const happened_at = new Date(Date.parse(await box.now()) - 2 * 86_400_000).toISOString()
  const sale = { event_name: 'in_app_purchase', happened_at, price: '19.99', currency: 'USD', device: { country: 'DE' } }
  await box.good('POST', '/v4/events', { events: [{ ...sale, event_id: 'sold', identity_id: 'ada' }] })
  await open('/charts/sales?split=country&f.country=DE,FR&tz=Europe/Berlin', '.summary-total')
  await button('Keep').press('Enter')
  await page.getByRole('menuitem', { name: 'Schedule' }).press('Enter')
  await dialog().getByLabel('Sales: split by').waitFor()
  expect(await dialog().getByLabel(/^Name/).inputValue()).toBe('Sales')
  await expect.poll(() => dialog().getByLabel('Sales: split by').inputValue()).toBe('country')
  expect(await dialog().locator('.report-chart-filters').innerText()).toContain('DE, FR')
  await button('Add a chart', dialog()).press('Enter')
  await page.getByRole('option', { name: 'Trial to paid' }).waitFor()
  await page.keyboard.type('Trial to paid')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await dialog().getByLabel('Trial to paid: unit').selectOption('hour')
  const filters = dialog().getByRole('region', { name: 'Trial to paid: filters' })
  await filters.getByRole('button', { name: 'Filter', exact: true }).press('Enter')
  await filters.getByRole('option', { name: 'Country' }).click()
  await filters.getByRole('option', { name: 'DE' }).click()
  await filters.getByRole('button', { name: 'Country: DE' }).waitFor()
  await page.keyboard.press('Escape')
  await filters.getByRole('option').first().waitFor({ state: 'hidden' })
  await dialog().getByLabel('Format').selectOption('html')
  await dialog()
    .getByLabel(/^Webhooks/)
    .press('Space')
  await inBothThemes('report-charts-form')
  await button('Make the report', dialog()).press('Enter')
  await page.waitForURL(/\/reports\/rep_/)
  const id = /rep_\w+/.exec(page.url())![0]
  expect(await box.good('GET', `/v4/scheduled-reports/${id}`)).toMatchObject({
    ...{
      report_name: 'Sales',
      type: 'charts',
      format: 'html',
      cadence: 'weekly',
      weekday: 'monday',
      included_range_days: 7,
      timezone: 'Europe/Berlin',
    },
    charts: [
      { code: 'sales', query: { segmentation: 'country', 'filter[country][]': ['DE', 'FR'] } },
      { code: 'trial-to-paid', query: { unit: 'hour', 'filter[country][]': ['DE'] } },
    ],
  })
  await button('Send a test').press('Enter')
  await dialog().locator('.status', { hasText: 'Delivered' }).first().waitFor()
  const [run] = await box.runsOf(id)
  expect(run.charts[0]).toMatchObject({ total: 19.99, total_previous: 0 })
  const shown = dialog().locator('.run-charts li').first()
  await expect.poll(() => shown.innerText()).toContain('$19.99')
  await inBothThemes('report-charts-run')
  // The chart of the same window.
  await shown.getByRole('link').press('Enter')
  await page.waitForSelector('.summary-total')
  const search = new URL(page.url()).searchParams
  expect(['from', 'to', 'split', 'f.country'].map(name => search.get(name))).toEqual([
    String(Date.parse(run.window_from) / 1000),
    String(Date.parse(run.window_to) / 1000),
    'country',
    'DE,FR',
  ])
  await expect.poll(() => page.locator('.summary-total').innerText()).toContain('$19.99')
})

test('an export is made by keys, fetched and checked; an unfinished one is cancelled', async () => {
  await box.good('POST', '/v4/events', {
    events: Array.from({ length: 3 }, (_, n) => ({
      event_id: `e${n}`,
      event_name: 'note',
      identity_id: 'ada',
      happened_at: new Date().toISOString(),
    })),
  })
  await open('/exports', '[data-row]')
  await page.keyboard.press('n')
  await dialog().getByRole('radio', { name: 'NDJSON' }).press('Space')
  await button('Make the file', dialog()).press('Enter')
  await dialog().getByRole('heading', { name: 'Manifest' }).waitFor()
  const [made] = (await box.good('GET', '/v4/exports/history?limit=1')).data
  const rows = (await box.good('GET', '/v4/events?limit=40')).data.length
  expect(made).toMatchObject({ status: 'done', format: 'ndjson', rows_written: rows, rows_expected: rows })
  const command = await dialog().locator('.copy', { hasText: 'sha256sum' }).getAttribute('title')
  const [, url = '', sha] = /curl -o \S+ '([^']+)' && echo '(\w+) {2}/.exec(command ?? '') ?? []
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
  expect([sha, createHash('sha256').update(bytes).digest('hex')]).toEqual([made.manifest.sha256, made.manifest.sha256])
  await inBothThemes('export')
  await page.keyboard.press('Escape')

  // A file of changes waits for whoever wrote when it was asked for.
  const writing = await api.pool.connect()
  await writing.query('begin')
  await writing.query('select pg_current_xact_id()')
  const { id } = await box.good('POST', '/v4/exports', { type: 'customers', updated_from: '1970-01-01T00:00:00Z' })
  await open(`/exports?at=${id}`, '.export-acts')
  await button('Cancel this export').press('Enter')
  await button('Cancel it').press('Enter')
  await page.getByText('Nothing of it is kept', { exact: false }).waitFor()
  expect((await box.good('GET', `/v4/exports/${id}`)).status).toBe('cancelled')
  await page.locator('tbody tr').first().getByText('Cancelled').waitFor()
  await writing.query('rollback')
  writing.release()
})

test('a viewer is told which role it needs; what fails says so in place', async () => {
  const { page: own, faults: others } = await signedIn('viewer')
  await open(`/reports/${report}`, '.cell', own)
  for (const name of ['Send a test', 'Pause', 'Edit']) {
    const act = button(name, own).first()
    expect([await act.getAttribute('aria-disabled'), await act.getAttribute('title')]).toEqual(['true', 'needs the role editor'])
  }
  await own.route('**/runs?*', route => route.fulfill({ status: 500, json: { error: { code: 'internal_error', message: 'It broke.' } } }))
  await open(`/reports/${report}`, '.slots', own)
  await own.getByRole('alert').getByText('It broke.').first().waitFor()
  await expectSound(own, 'report-viewer')
  await open('/reports/rep_none', '.empty', own)
  expect(others.filter(fault => !/^Failed to load/.test(fault))).toEqual([])
  await own.context().close()
})
