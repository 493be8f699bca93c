// Segments and insights in a browser, as operators use them: by keyboard, with the numbers of the API.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { growth } from '../harness/experiments.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

const PEOPLE = 24
const iso = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

let api: TestApi
let make: ReturnType<typeof growth>
let browser: Browser
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  make = growth(api)
  const events = Array.from({ length: PEOPLE }, (_, n) => ({
    ...{ event_id: `e${n}`, event_name: 'subscription_started', identity_id: `person-${n}`, happened_at: iso(-n - 0.1) },
    ...{ platform: 'iOS', product_id: 'pro', price: '10.00', currency: 'USD', device: { country: n % 3 === 0 ? 'DE' : 'US' } },
    transaction: { transaction_id: `t${n}`, original_transaction_id: `t${n}`, expires_at: iso(30 - n) },
  }))
  await make.call('POST', '/v4/events', { events, trigger: false })
  browser = await startBrowser()
  ;({ page, faults } = await signedIn('editor'))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
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
  await on.goto(`${api.url}/console${path}`)
  await on.waitForSelector(selector)
}
const button = (name: string | RegExp, on: Pick<Page, 'getByRole'> = page) =>
  on.getByRole('button', { name, exact: typeof name === 'string' })
const dialog = () => page.getByRole('dialog')
const sized = (text: string, on: Pick<Page, 'locator'> = page) => on.locator('.segment-size', { hasText: text }).first().waitFor()
const get = async (path: string) => (await make.call('GET', path)).body

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

/** Opens a list of the rule by keys, types, and takes what is found. */
async function pick(rule: number, name: RegExp, typed: string, option: string) {
  await button(name, page.getByRole('group', { name: `Condition ${rule}` })).press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.matches(".mantine-Combobox-search")')).toBe(true)
  await page.keyboard.type(typed)
  await page.getByRole('option', { name: option, exact: true }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
}

let segment: string

test('a segment is made by keys, with its size and people before it is stored; they are those of the service', async () => {
  await open('/segments', '.empty')
  await page.keyboard.press('n')
  await dialog().getByLabel(/^Name/).waitFor()
  await page.keyboard.type('Germans who pay')
  await sized(`${PEOPLE}`, dialog())
  await button('Add a condition', dialog()).press('Enter')
  await button('Add a condition', dialog()).press('Enter')
  await pick(2, /^What is asked/, 'countr', 'Country')
  await dialog().locator('.stale').waitFor()
  await pick(2, /^Country/, 'germ', 'Germany (DE)')
  // Esc in a list closes that alone.
  await button(/^Country/, dialog()).press('Enter')
  await page.keyboard.press('Escape')
  await dialog().locator('.segment-sentence', { hasText: 'Subscription is paid, and country is Germany' }).waitFor()
  const conditions = [
    { metric: 'subscription_state', comparator: 'eq', value: 'active' },
    { metric: 'country', comparator: 'eq', value: 'DE' },
  ]
  const { size, people } = (await make.call('POST', '/v4/segments/preview', { conditions })).body
  expect(size).toBe(PEOPLE / 3)
  await sized(`${size}`, dialog())
  expect(await dialog().locator('.segment-person-name').allInnerTexts()).toEqual(
    people.map(({ external_identity }: { external_identity: string }) => external_identity),
  )
  await expectSound(page, 'segment-form')
  await button('Make the segment', dialog()).press('Enter')
  await page.waitForURL(/\/segments\/seg_/)
  segment = /seg_\w+/.exec(page.url())![0]
  expect((await get(`/v4/segments/${segment}`)).conditions).toEqual(conditions.map(one => ({ ...one, negate: false })))
  await sized(`${size}`)
  await page.getByText('Nothing names it.').waitFor()
})

test('a refused value is said at its condition; what was typed stays when the form is left', async () => {
  await page.keyboard.press('e')
  await dialog().getByLabel(/^Name/).waitFor()
  await button('Add a condition', dialog()).press('Enter')
  await pick(3, /^What is asked/, 'number', 'Number of payments')
  const rule = page.getByRole('group', { name: 'Condition 3' })
  await rule.getByLabel('Value').fill('many')
  await rule.getByRole('alert').getByText('must be an integer', { exact: false }).waitFor()
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
  await page.keyboard.press('e')
  await dialog().getByText('What you typed is here', { exact: false }).waitFor()
  await rule.getByLabel('Value').fill('1')
  await sized(`${PEOPLE / 3}`, dialog())
  await make.call('PUT', `/v4/segments/${segment}`, { name: 'Theirs' })
  await dialog().getByLabel(/^Name/).press('Enter')
  await page.getByRole('alert').getByText('Name: now Theirs').waitFor()
  await button('Save mine', dialog()).press('Enter')
  await dialog().waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Germans who pay', level: 1 }).waitFor()
  expect((await get(`/v4/segments/${segment}`)).conditions).toHaveLength(3)
})

test('what uses it keeps it from being deleted, and is linked; without that it goes after its id was typed', async () => {
  const naming = [{ metric: 'segment', comparator: 'eq', value: segment }]
  const config = await make.configuration({}, { name: 'New paywall', segmentation_conditions: naming })
  await open(`/segments/${segment}`, '.used-by li')
  expect(await page.locator('.used-by .link').getAttribute('href')).toContain(config)
  await inBothThemes('segment')
  await button('Delete').press('Enter')
  await dialog().getByText('It cannot be deleted', { exact: false }).waitFor()
  await page.keyboard.press('Escape')
  await make.call('PATCH', `/v4/remote-configurations/${config}/status`, { status: 'archived' })
  await open(`/segments/${segment}?at=delete`, '.drawer input')
  await dialog().getByLabel('Id of the segment').fill(segment)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/segments\?/)
  expect((await make.call('GET', `/v4/segments/${segment}`)).status).toBe(404)
})

test('the people behind a number become a segment by keys', async () => {
  await open('/charts/sales?range=28d&tz=UTC&at=all', '.fact')
  await button('Make a segment').press('Enter')
  await dialog().getByLabel('Name of the segment').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Make a segment')
  await page.keyboard.press('Enter')
  await dialog().getByLabel('Name of the segment').waitFor()
  await expectSound(page, 'make-segment')
  // A drawer that is closed while it reads makes nothing, and nobody is led away.
  const gate = Promise.withResolvers<void>()
  await page.route(/\/facts\?.*limit=100/, route => void gate.promise.then(() => route.continue()), { times: 1 })
  const read = page.waitForResponse(/\/facts\?.*limit=100/)
  await page.keyboard.press('Enter')
  await button('Close', dialog()).press('Enter')
  await dialog().waitFor({ state: 'detached' })
  gate.resolve()
  await (await read).finished()
  // By the end of another request what it would have made is made.
  await page.evaluate('fetch("/console/api/session").then(answer => answer.text())')
  await open('/charts/sales?range=28d&tz=UTC&at=all', '.fact')
  expect((await get('/v4/segments')).data).toEqual([])
  await button('Make a segment').press('Enter')
  await dialog().getByLabel('Name of the segment').press('Enter')
  await page.waitForURL(/\/segments\/seg_/)
  const id = /seg_\w+/.exec(page.url())![0]
  expect(await get(`/v4/segments/${id}`)).toMatchObject({ listed: PEOPLE, name: 'Sales · Last 28 days' })
  await sized(`${PEOPLE}`)
  await button(`${PEOPLE} people`).press('Enter')
  await expect.poll(() => dialog().locator('.segment-listed li').count()).toBe(PEOPLE)
  await expectSound(page, 'segment-list')
  await open('/segments', '[data-row]')
  await button('Count all').press('Enter')
  await sized(`${PEOPLE}`)
  await inBothThemes('segments')
  await page.locator('[data-row]').first().focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(new RegExp(id))
})

test('insights are those of the service, by period; a viewer may look and not write', async () => {
  await open('/insights', '.insights-verdict')
  const found = await get('/v4/analytics/insights?period=30&cached_only=true')
  if (found.is_insufficient_data) await page.getByText('Not enough data yet').first().waitFor()
  else expect(await page.locator('.insights-found h2').allInnerTexts()).toEqual(found.insights.map(({ title }: { title: string }) => title))
  await page.getByRole('radio', { name: '90 days' }).press('Space')
  await page.waitForURL(/period=90/)
  await button('Compute now').press('Enter')
  await expect.poll(async () => (await get('/v4/analytics/insights?period=90&cached_only=true')).is_cached).toBe(true)
  await inBothThemes('insights')
  const { page: own } = await signedIn('viewer')
  await open('/segments/never_paid', '.segment-size', own)
  expect(await button('Edit', own).getAttribute('title')).toBe('needs the role editor')
  await own.route('**/segments/preview', route =>
    route.fulfill({ status: 500, json: { error: { code: 'internal_error', message: 'It broke.' } } }),
  )
  await open('/segments/churned_users', '.fault', own)
  await own.getByRole('alert').getByText('It broke.').waitFor()
  await own.context().close()
})
