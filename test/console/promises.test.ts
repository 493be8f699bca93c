// Promises and the sandbox in a browser, as operators use them.
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { deliveryRow, exportRow, integrationRow } from '../harness/job-rows.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

const HOSTILE = `<img src=x onerror="document.title='stolen'">${'long '.repeat(40)}`
const SANDBOX = '/sandbox?env=sandbox'

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole(), worker: true })
  browser = await startBrowser()
  await fill()
  const { email } = await newOperator(api, { isOwner: true })
  const visit = visitor(api.url)
  await visit.signIn(email)
  ;({ page, faults } = await openedPage(browser))
  await page.context().addCookies([...visit.cookies].map(([name, value]) => ({ name, value, url: api.url })))
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  page.setDefaultTimeout(8_000)
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
beforeEach(() => () => expect(faults).toEqual([]))

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

/** Exports that nobody writes are overdue; deliveries that went and that failed are of an integration with a hostile name. */
async function fill(): Promise<void> {
  const { pool, project } = api
  const integration = await integrationRow(pool, project.production, 1)
  await pool.query('update integrations set title = $2 where number = $1', [integration, HOSTILE])
  for (const at of [ago(5), ago(9)]) {
    await exportRow(pool, project.production, { at, status: 'processing' })
    await deliveryRow(pool, project.production, { at, status: 'delivered', integration })
    await deliveryRow(pool, project.production, { at, status: 'failed', reason: 'exhausted', integration })
  }
  const data = {
    ...{ initiators: [{ uid: 'arrived', type: 'event' }], actions: {} },
    steps: [
      { id: 'pause', type: 'delay', duration: 'P2D' },
      { id: 'end', type: 'exit' },
    ],
  }
  await sandbox('POST', '/v4/automations', { name: 'Welcome', status: 'active', data })
  await sandbox('POST', '/v4/events', { events: [{ event_id: 'e1', event_name: 'arrived', identity_id: 'ada', happened_at: ago(1) }] })
}

const sandbox = async (method: string, path: string, body?: unknown) =>
  (await api.call(method, path, { key: api.project.sandbox, ...(body !== undefined && { body }) })).body
const open = async (path: string, selector: string) => {
  await page.goto(`${api.url}/console${path}`)
  await page.locator(selector).first().waitFor()
}
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })

test.each([
  ['/promises', '.kind'],
  [SANDBOX, '.card table'],
])('%s has no fault of access, nothing too wide and no style element', async (path, selector) => {
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    await open(path, selector)
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await expectSound(page, `${path.replaceAll(/[^a-z]+/g, '-')}-${theme}-${width}`)
    }
  }
  expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0)
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
})

describe('promises', () => {
  test('the sentence and the numbers are those of the ledger, what is overdue is first and red', async () => {
    await open('/', '#page-title')
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.locator('.kind').first().waitFor()
    const { body } = await api.call('GET', '/v4/ledger')
    const sum = (of: string) => body.data.reduce((total: number, entry: Record<string, number>) => total + entry[of]!, 0)
    await expect
      .poll(() => page.locator('.proof p').textContent())
      .toMatch(
        new RegExp(
          `^Of ${sum('promised')} promises .*, ${sum('kept')} are kept, 0 declined on purpose, ${sum('broken')} broken and ${sum('outstanding')} still to come. 2 are overdue now.`,
        ),
      )
    await button('Copy the sentence').click()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(copied.trim()).toBe((await page.locator('.proof p').textContent())!.trim())
    expect(await page.locator('.kind').first().innerText()).toMatch(/^Exports[\s\S]*2 overdue/)
    for (const entry of body.data) {
      const card = page.locator('.kind', { has: page.getByRole('heading', { name: entry.kind.replace('_', ' ') }) })
      const shown = (await card.locator('.kind-numbers b').allTextContents()).map(Number)
      expect(shown).toEqual(['promised', 'kept', 'declined', 'broken', 'outstanding'].map(of => entry[of]))
    }
    // It asks a little after the page.
    expect(await page.locator('.nav-count').innerText()).toContain('2')
  })

  test('a number opens its rows by keyboard, each leads to its page, and the focus goes back', async () => {
    await open('/promises', '.kind')
    const number = page.locator('.kind', { hasText: 'Deliveries' }).getByRole('button', { name: /2\s*broken/ })
    await number.focus()
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog')
    await drawer.locator('[data-row]').first().waitFor()
    await expectSound(page, 'promises-rows')
    const { body } = await api.call('GET', '/v4/ledger/rows?kind=deliveries&state=broken')
    expect(await drawer.locator('tbody code').allTextContents()).toEqual(body.data.map(({ id }: { id: string }) => id))
    expect(await drawer.locator('tbody b').first().textContent()).toBe(HOSTILE)
    expect(await page.title()).not.toBe('stolen')
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.textContent')).toBe('2broken')
    await button(/^Exhausted/).click()
    await page.waitForURL(/at=deliveries.because.exhausted/)
    await drawer.locator('[data-row]').nth(1).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`/integrations/${body.data[0].parent.id}.*at=${body.data[0].id}`))
    faults.length = 0
  })

  test('health says in words what is late, and what to do', async () => {
    await open('/promises', '.health tbody tr')
    const { body } = await api.call('GET', '/v4/health')
    expect(body.status).toBe('degraded')
    expect(await page.locator('.health tbody tr').count()).toBe(body.data.length)
    expect(await page.locator('.health tbody tr').first().innerText()).toMatch(
      /no worker holds[\s\S]*An owner sees the workers[\s\S]*Exports 2[\s\S]*needs attention/,
    )
  })
})

describe('the sandbox', () => {
  test('a sample to look at is loaded once, however often it is asked for, and leads to a chart of it', async () => {
    await open('/sandbox', '.empty')
    await page.getByRole('link', { name: 'Open the sandbox' }).press('Enter')
    const load = button('Load the CDNOW sample')
    await load.focus()
    await page.keyboard.press('Enter')
    await page.getByText('1,000 orders are loaded.').waitFor({ timeout: 30_000 })
    await load.press('Enter')
    await page.getByText('All 1,000 orders were there already.').waitFor({ timeout: 30_000 })
    await page.getByRole('link', { name: 'Sales by month' }).press('Enter')
    await page.locator('.numbers tbody tr').first().waitFor()
    // The sum of the amounts of the file; 18 months and the total.
    expect(await page.locator('.numbers tbody tr').first().innerText()).toContain('$34,578.14')
    expect(await page.locator('.numbers tbody tr').count()).toBe(19)
  })

  test('what falls due next is done by an advance, which goes on by itself after a minute', async () => {
    await open(SANDBOX, '.card table')
    const { data } = await sandbox('GET', '/v4/test-clock/due?limit=20')
    const shown = () => page.locator('.due-what').allTextContents()
    expect(await shown()).toEqual(data.map(({ text }: { text: string }) => text))
    expect((await shown())[0]).toBe('A run of "Welcome" goes on at the step pause')
    // The service ends a request after a minute: the first one of this advance has no answer.
    const bodies: { to?: string }[] = []
    await page.route(/test-clock\/advance/, async route => {
      const request = route.request()
      if (request.headers()['dry-run'] === undefined) bodies.push(request.postDataJSON())
      if (bodies.length !== 1) return route.continue()
      bodies.push({})
      return route.fulfill({
        status: 504,
        json: { error: { type: 'internal', code: 'upstream_timeout', message: 'some due jobs have not ended yet' } },
      })
    })
    await button('3 days').press('Enter')
    await page.getByText(/The clock has come to .*On the way ended: automation runs 1\./).waitFor({ timeout: 30_000 })
    await page.unroute(/test-clock\/advance/)
    expect(bodies[2]).toEqual(bodies[0])
    const { now, offset_seconds } = await sandbox('GET', '/v4/test-clock')
    expect(Math.abs(offset_seconds - 3 * 86_400)).toBeLessThan(60)
    await expect.poll(() => page.locator('.clock-now time').getAttribute('datetime')).toContain(now.slice(0, 15))
    await expect.poll(async () => (await shown()).includes('A run of "Welcome" goes on at the step pause')).toBe(false)
    faults.length = 0
  })

  test('it begins anew after the id of the project is typed', async () => {
    await open(SANDBOX, '.clock-now')
    await button('Begin anew').press('Enter')
    const dialog = page.getByRole('dialog')
    const empties = dialog.getByRole('button', { name: 'Empty the sandbox' })
    await expectSound(page, 'sandbox-reset')
    expect(await empties.isDisabled()).toBe(true)
    await page.keyboard.type(String(api.project.id))
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('The same as real time.').waitFor({ timeout: 30_000 })
    expect((await sandbox('GET', '/v4/events')).data).toEqual([])
  })
})

test('a page of the sandbox begins once, by its clock, or by real time where that cannot be read: nothing that was typed is lost', async () => {
  const clock = /\/v4\/test-clock$/
  const name = page.getByRole('textbox', { name: 'Name' })
  const isKept = async () => {
    await expect.poll(() => name.inputValue()).toBe('My own text')
    expect(await page.getByText('You have left this form').count()).toBe(0)
    expect(await page.locator(':focus').inputValue()).toBe('My own text')
  }
  const held: Route[] = []
  await page.route(clock, route => void held.push(route))
  await page.goto(`${api.url}/console/automations/new?env=sandbox`)
  await expect.poll(() => held.length).toBe(1)
  await page.evaluate('new Promise(requestIdleCallback)')
  expect(await name.count()).toBe(0)
  await held[0]!.continue()
  await name.fill('My own text')
  await isKept()

  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.unroute(clock)
  await page.route(clock, route => route.fulfill({ status: 500, json: { error: { code: 'internal_error', message: 'It broke.' } } }))
  await page.goto(`${api.url}/console/automations/new?env=sandbox`)
  await name.fill('My own text')
  await page.unroute(clock)
  const again = page.waitForResponse(answer => clock.test(answer.url()) && answer.ok())
  await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
  await again
  await isKept()
  expect(faults.splice(0).filter(fault => !fault.includes('500'))).toEqual([])
})
