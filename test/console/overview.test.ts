// The console in a browser: its frame and its overview, as an operator uses them.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, PASSWORD } from '../harness/operators.ts'
import { expectSound, INSTALL_MS, type Look, openedPage } from '../harness/sound-pages.ts'

const DAY = 86_400_000

let api: TestApi
let browser: Browser
beforeAll(async () => {
  api = await startApi({ console: await builtConsole(), worker: true })
  browser = await startBrowser()
  await api.call('POST', '/v4/products', {
    body: { id: 'pro', type: 'subscription', duration: 'P1M', apple_product_id: 'pro.monthly' },
  })
  await api.call('POST', '/v4/events', { body: { events: sales(), trigger: false } })
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})

/** A sale a day for two months, and a trial of yesterday. */
function sales() {
  const bought = Array.from({ length: 60 }, (_, days) => ({
    event_id: `sale-${days}`,
    event_name: 'subscription_started',
    identity_id: `person-${days}`,
    platform: 'iOS',
    product_id: 'pro.monthly',
    happened_at: at(days * DAY + 3_600_000),
    price: '10.00',
    currency: 'USD',
    transaction: { transaction_id: `t${days}`, original_transaction_id: `t${days}`, expires_at: at((days - 30) * DAY) },
  }))
  return [...bought, { event_id: 'seen', event_name: 'app_opened', identity_id: 'zoe', platform: 'iOS', happened_at: at(DAY) }]
}
const at = (before: number) => new Date(Date.now() - before).toISOString().replace(/\.\d+Z$/, 'Z')

/** A page with somebody signed in by the form. */
async function signedIn(look: Look = {}, { path = '/console', isOwner = true } = {}) {
  const { id, email } = await newOperator(api, { isOwner })
  if (!isOwner) await transaction(api.pool, tx => setRole(tx, id, api.project.id, 'viewer'))
  const { page, faults } = await openedPage(browser, look)
  await page.goto(api.url + path)
  await signIn(page, email)
  return { page, faults, id, email }
}

async function signIn(page: Page, email: string) {
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', PASSWORD)
  await page.click('button[type=submit]')
}

const TILE = 'a.tile .tile-value .figure'
const shown = (page: Page) => expect.poll(() => page.locator(TILE).count(), { timeout: 10_000 }).toBe(8)

describe('the overview', () => {
  let page: Page
  let faults: string[]
  beforeAll(async () => {
    ;({ page, faults } = await signedIn())
  })
  beforeEach(async () => {
    await page.goto(`${api.url}/console`)
    await shown(page)
    return () => expect(faults).toEqual([])
  })

  test.each(['light', 'dark'] as const)('in the %s theme: no fault of access, nothing too wide, no style element', async theme => {
    await page.emulateMedia({ colorScheme: theme })
    await page.reload()
    await shown(page)
    await page.waitForSelector('.line.live li')
    for (const width of [1440, 861, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await expectSound(page, `overview-${theme}-${width}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.emulateMedia({ colorScheme: 'light' })
    expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0)
  })

  test('shows the totals of the charts', async () => {
    const asked = page.waitForResponse(response => response.url().includes('/v4/analytics/charts?'))
    await page.reload()
    const { data } = await (await asked).json()
    await shown(page)
    const totals = data.map(
      (chart: { series: { total: number }[]; summarySeries?: { total: number } }) => (chart.summarySeries ?? chart.series[0])!.total,
    )
    expect(totals.some((total: number) => total > 0)).toBe(true)
    const values = await page.locator(TILE).evaluateAll(figures => figures.map(figure => Number(figure.getAttribute('value'))))
    // Trial to paid compares what had the time to convert.
    expect(values.filter((_, tile) => tile !== 5)).toEqual(totals.filter((_: number, tile: number) => tile !== 5))
  })

  test('reads nothing again when it is left before its answers are there', async () => {
    const asked: string[] = []
    const note = (request: { url(): string }) => asked.push(new URL(request.url()).pathname.replace(/^.*\/v4\//, ''))
    const held = '**/v4/analytics/cards/realtime*'
    // Never answered: it is given up with the page.
    await page.route(held, () => {})
    page.on('request', note)
    await page.reload()
    await shown(page)
    await page.getByRole('link', { name: 'Customers', exact: true }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Customers', exact: true }).waitFor()
    await page.locator('[data-row]').first().waitFor()
    page.off('request', note)
    await page.unroute(held)
    expect(asked.filter(path => path === 'analytics/cards/realtime')).toHaveLength(1)
    expect(asked.filter(path => path === 'customers')).toHaveLength(1)
  })

  test('an event appears by itself', async () => {
    await page.getByText('live', { exact: true }).waitFor()
    await api.call('POST', '/v4/events', {
      body: { events: [{ event_id: 'late', event_name: 'balloon_popped', identity_id: 'zoe', happened_at: at(0) }] },
    })
    await page.getByText('Balloon popped').waitFor({ timeout: 10_000 })
  })

  test('its figures are chosen, kept with the operator, and moved', async () => {
    await page.getByRole('button', { name: 'Figures' }).click()
    await page.getByRole('button', { name: 'Take MRR away' }).click()
    await page.getByRole('button', { name: 'Show ARPU' }).click()
    await page.getByRole('button', { name: 'Sales one place earlier' }).click()
    const stored = page.waitForResponse(response => response.url().endsWith('/console/api/me'))
    await page.getByRole('button', { name: 'Refunds one place earlier' }).click()
    await stored
    await page.reload()
    await shown(page)
    const names = await page.locator('.tile-name').allTextContents()
    expect(names.map(name => name.replace(/until.*/, ''))).toEqual([
      'Sales',
      'Active subscriptions',
      'Proceeds',
      'New trials',
      'Refunds',
      'Trial to paid',
      'ARPPU',
      'ARPU',
    ])
  })

  test('goes by keys: to pages, to the list of keys, to a person by the palette', async () => {
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Customers').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder(/Pages, charts/).waitFor()
    await page.keyboard.type('person-7')
    await page.getByRole('button', { name: /person-7/ }).waitFor()
    await expectSound(page, 'palette')
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('u')
    await page.waitForURL(/\/console\/customers\?p=/)
    await expect
      .poll(() => page.evaluate('document.activeElement?.id + document.title'), { timeout: 10_000 })
      .toMatch(/^page-titleCustomers/)
  })

  test('keeps the page when the session has ended, and goes on after one has signed in elsewhere', async () => {
    const cookies = await page.context().cookies()
    await page.context().clearCookies()
    await page.evaluate(`void window.dispatchEvent(new Event('visibilitychange'))`)
    await page.getByRole('dialog').getByText('Your session has ended').waitFor()
    expect(await page.locator(TILE).count()).toBe(8)
    await page.context().addCookies(cookies)
    await page.getByRole('button', { name: 'I have signed in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    faults.splice(0)
  })

  test('the sandbox looks like no production, is new, and its links stay there', async () => {
    await page
      .getByRole('button', { name: /Project and environment/ })
      .first()
      .click()
    await page.getByRole('menuitem', { name: 'Sandbox' }).click()
    await page.getByRole('region', { name: 'Sandbox' }).waitFor()
    await page.getByText('Three steps to the first figure').waitFor()
    await expectSound(page, 'overview-new')
    expect(await page.locator('a.tile').first().getAttribute('href')).toContain('env=sandbox')
  })
})

test('who has lost the last role signs in anew, and is told that there is no project', async () => {
  const { page, id, email } = await signedIn({}, { isOwner: false })
  await shown(page)
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, null))
  await page.reload()
  await signIn(page, email)
  await page.getByText(/You have no project yet|There is no project/).waitFor()
  await page.context().close()
})
