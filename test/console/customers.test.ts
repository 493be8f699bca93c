// People in the console, as support uses it: they are found, understood and helped, by keyboard.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, PASSWORD } from '../harness/operators.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'
import { until } from '../harness/until.ts'

const DAY = 86_400_000
const iso = (days: number) => new Date(Date.now() + days * DAY).toISOString().replace(/\.\d+Z$/, 'Z')
const NAME = `<img src=x onerror=document.title=1> ${'x'.repeat(60)}`

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
let sam: string
let evil: string
let refused: string
beforeAll(async () => {
  api = await startApi({ console: await builtConsole(), worker: true })
  browser = await startBrowser()
  await seed()
  ;({ page, faults } = await signedIn('admin'))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})

async function seed() {
  await product(api, { id: 'pro', apple_product_id: 'pro.monthly' })
  for (const id of ['pro', 'beta']) await api.call('POST', '/v4/entitlements', { body: { id, product_ids: id === 'pro' ? ['pro'] : [] } })
  const automation = {
    name: 'Thanks',
    caption: '',
    status: 'active',
    data: { initiators: [{ uid: 'note_shared', type: 'event' }], platform: 'Android' },
  }
  const steps = [{ id: 'tag', type: 'set_property', key: 'thanked', value: 'yes' }]
  await api.call('POST', '/v4/automations', { body: { ...automation, data: { ...automation.data, steps } } })
  const crowd = Array.from({ length: 52 }, (_, n) => ({
    ...{ event_id: `seen-${n}`, event_name: 'app_opened', identity_id: `crowd-${n}`, happened_at: iso(-30 - n), platform: 'Android' },
  }))
  await api.call('POST', '/v4/events', { body: { events: crowd, trigger: false } })
  ;[sam, evil, refused] = [await userOf(api), await userOf(api), await userOf(api)]
  await api.call('POST', '/v4/identities', { body: { user_id: sam, identity_id: 'sam-1' } })
  const name = async (user: string, _q_name: string, _q_email: string) =>
    api.call('POST', `/v4/users/${user}/properties`, {
      body: { properties: Object.entries({ _q_name, _q_email }).map(([key, value]) => ({ key, value })) },
    })
  await name(sam, 'Sam Example', 'sam@example.org')
  await name(evil, NAME, 'evil@example.org')
  const buy = async (transaction: string, price: string, from: number, to: number) =>
    (
      await purchaseOf(api, sam, {
        ...{ price, purchased_at: iso(from), expires_at: iso(to), trigger: false },
        app_store_data: { transaction_id: transaction, original_transaction_id: '1', product_id: 'pro.monthly' },
      })
    ).body.id
  await buy('1', '0', -80, -73)
  const second = await buy('2', '9.99', -73, -43)
  await buy('3', '9.99', -43, -13)
  await buy('4', '9.99', -13, 17)
  await api.call('PATCH', `/v4/users/${sam}/purchases/${second}`, { body: { refunded_at: iso(-60), refunded_amount: '4.00' } })
  await purchaseOf(api, refused, { purchased_at: iso(-1), app_store_data: { transaction_id: '4', product_id: 'pro.monthly' } })
  const shared = { event_id: 'shared', event_name: 'note_shared', customer_uid: sam, happened_at: iso(0), platform: 'iOS' }
  await api.call('POST', '/v4/events', { body: { events: [shared] } })
  await api.call('POST', `/v4/users/${sam}/entitlements`, {
    body: { entitlement_id: 'beta', expires_at: Math.floor(Date.now() / 1000) + 86_400 },
  })
  await until('the run', async () => (await timeline('automation_run')).length || undefined)
}

const timeline = async (kind: string) => (await api.call('GET', `/v4/customers/${sam}/timeline?kinds[]=${kind}`)).body.data
const heldBy = async (user: string) => (await api.call('GET', `/v4/users/${user}/entitlements`)).body.data
const beta = async () => (await heldBy(sam)).find(({ id }: { id: string }) => id === 'beta')

async function signedIn(role: ProjectRole) {
  const { id, email } = await newOperator(api)
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const { page, faults } = await openedPage(browser)
  await page.goto(`${api.url}/console/customers`)
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', PASSWORD)
  await page.click('button[type=submit]')
  await page.locator('tbody tr').first().waitFor()
  return { page, faults, id }
}

const open = async (path: string, wait: string) => {
  await page.goto(`${api.url}/console${path}`)
  await page.locator(wait).first().waitFor()
}
/** The page in both themes, wide and narrow. */
async function expectSoundEverywhere(name: string) {
  for (const [theme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme: theme })
    await page.setViewportSize({ width, height: 900 })
    await expectSound(page, `${name}-${theme}-${width}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1440, height: 900 })
  expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0)
  expect(faults).toEqual([])
}

const WAITS = { timeout: 10_000 }
/** Waits until so many are there. */
const shown = (selector: string, count: number) => expect.poll(() => page.locator(selector).count(), WAITS).toBe(count)
const names = () => page.locator('.customers-title').allTextContents()

describe('the list', () => {
  test('is that of the API: sorted, filtered, page by page, in the address', async () => {
    await open('/customers', 'tbody tr')
    await expectSoundEverywhere('customers')
    const { body } = await api.call('GET', '/v4/customers?limit=50')
    expect(await page.locator('tbody code').evaluateAll(ids => ids.map(id => id.getAttribute('title')))).toEqual(
      body.data.map(({ id }: { id: string }) => id),
    )
    await page.getByRole('button', { name: 'Next 50' }).click()
    await page.waitForURL(/cursor=/)
    await shown('tbody tr', 5)
    await page.goBack()
    await shown('tbody tr', 50)
    await page.getByRole('button', { name: 'Paid, net' }).click()
    await page.waitForURL(/sort=-net_payments_usd/)
    await expect.poll(async () => (await names())[0], WAITS).toBe('sam-1')
    expect(await page.locator('tbody tr').first().locator('.figure').first().getAttribute('value')).toBe('25.97')
    await page.getByRole('button', { name: 'Subscriber' }).click()
    await page.waitForURL(/f\.status=active/)
    await shown('tbody tr', 1)
    await page.getByText(/^1 subscriber · 0 in a trial/).waitFor()
  })

  test('by keyboard: the search, a row, the person', async () => {
    await open('/customers', 'tbody tr')
    await page.keyboard.press('/')
    await page.keyboard.type('sam@example.org')
    await page.waitForURL(/q=sam%40example.org/)
    await shown('tbody tr', 1)
    // Not by Escape, with which a browser empties the field: a moment later everybody would be listed.
    await page.locator('h1').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sam Example' }).waitFor()
  })

  test('says what the search takes when nobody is found', async () => {
    await open('/customers?q=nobody-has-this', '.empty')
    await expectSound(page, 'customers-nobody')
    await page.getByRole('button', { name: 'Show everybody' }).click()
    await page.locator('tbody tr').first().waitFor()
    expect(await names()).toHaveLength(50)
  })
})

describe('a customer', () => {
  test('what was bought: a bar that the arrows walk along, and the same as a list', async () => {
    await open(`/customers/${sam}`, '.timeline .line li')
    await page.locator('.access li').first().waitFor()
    await expectSoundEverywhere('customer')
    const bar = page.getByRole('group', { name: /^4 periods/ })
    await bar.focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText(/Trial of pro\.monthly/).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByText(/4\.00 of 9\.99 USD refunded/).waitFor()
    await page.keyboard.press('End')
    await page.getByText(/9\.99 USD for pro\.monthly/).waitFor()
    await page.getByText('As a list: 4 rows').click()
    const rows = page.getByRole('region', { name: 'Purchases' }).locator('tbody tr')
    expect(await rows.locator('td:nth-child(2)').allTextContents()).toEqual(['paid, not over yet', 'paid', 'refunded in part', 'trial'])
    expect(await page.locator('.period.ahead').count()).toBeGreaterThan(0)
  })

  test('what happened: all kinds in one line, of one kind by its chip, the details by keyboard', async () => {
    await open(`/customers/${sam}`, '.timeline .line li')
    await page.getByRole('button', { name: 'Purchases', exact: true }).click()
    await page.waitForURL(/kinds=purchase/)
    await shown('.timeline .line > li', 5)
    const told = await page.locator('.timeline .line-title').allTextContents()
    expect(told).toEqual(['9.99 USD paid', '9.99 USD paid', '4.00 USD refunded', '9.99 USD paid', 'Trial'])
    await page.locator('h1').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('"transaction_id": "4"').waitFor()
    await expectSound(page, 'customer-entry')
    await page.keyboard.press('Escape')
    await page.waitForURL(url => !url.search.includes('at='))
    expect(await page.evaluate('document.activeElement.textContent')).toBe('9.99 USD paid')
  })

  test('why nothing came', async () => {
    await open(`/customers/${sam}`, '.timeline .line li')
    await page.keyboard.press('w')
    await page
      .getByRole('dialog')
      .getByText(/did not start after note shared: the automation is for another platform/)
      .waitFor()
    await expectSound(page, 'customer-why')
    await open(`/customers/${refused}`, '.card')
    await page.getByText('Another user has this purchase, and the transfer policy leaves it there').waitFor()
  })

  test('access is taken and given back with its beginning, and given for 30 days', async () => {
    const before = await beta()
    await open(`/customers/${sam}`, '.access li')
    await page.getByRole('button', { name: 'Take away beta' }).press('Enter')
    await page.getByText('Access to beta is taken away').waitFor()
    expect(await beta()).toBeUndefined()
    await page.getByRole('button', { name: 'Undo' }).press('Enter')
    await page.getByText('Undone').waitFor()
    expect(await beta()).toEqual(before)
    await page.locator('h1').focus()
    await page.keyboard.press('a')
    const drawer = page.getByRole('dialog', { name: 'Give access' })
    await drawer.getByRole('button', { name: 'pro', exact: true }).press('Enter')
    await drawer.getByText('The customer has this through a purchase').waitFor()
    await drawer.getByRole('button', { name: 'beta' }).press('Enter')
    await drawer.getByRole('button', { name: '30 days' }).press('Enter')
    await expectSound(page, 'customer-give')
    await drawer.getByRole('button', { name: 'Give access' }).press('Enter')
    await page.getByText('Access to beta is given').waitFor()
    expect(Date.parse((await beta()).expires_at) - Date.now()).toBeGreaterThan(29.9 * DAY)
    await page.getByRole('button', { name: 'Undo' }).last().press('Enter')
    await until('the earlier end', async () => (await beta())?.expires_at === before.expires_at || undefined)
  })

  test('properties are changed, one that is refused says why, and a name is never markup', async () => {
    await open(`/customers/${evil}`, '.timeline')
    await page.getByRole('heading', { level: 1, name: '<img src=x' }).waitFor()
    expect(await page.title()).toContain('<img')
    await page.keyboard.press('e')
    const drawer = page.getByRole('dialog', { name: 'Properties' })
    await drawer.getByLabel('_q_email').fill('new@example.org')
    await drawer.getByLabel('Key', { exact: true }).fill('_hidden')
    await drawer.getByRole('button', { name: 'Save' }).click()
    await drawer.getByText(/reserved key/).waitFor()
    await expectSoundEverywhere('customer-hostile')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Copy new@example.org' }).waitFor()
  })

  test('a part that fails says so in its place, and the rest lives on', async () => {
    const failing = '**/timeline?limit=50'
    await page.route(failing, route => route.fulfill({ status: 500, json: { error: { code: 'internal_error', message: 'It broke.' } } }))
    await open(`/customers/${sam}`, '.access li')
    await page.getByRole('alert').getByText('internal_error').waitFor()
    await page.unroute(failing)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.timeline .line li').first().waitFor()
    faults.splice(0)
  })

  test('a viewer reads all of it, and is told what to be for the rest', async () => {
    const viewer = await signedIn('viewer')
    await viewer.page.goto(`${api.url}/console/customers/${sam}`)
    await viewer.page.locator('.access li').first().waitFor()
    for (const name of ['Give access', 'Take away beta', 'Edit'])
      expect([name, await viewer.page.getByRole('button', { name, exact: true }).isDisabled()]).toEqual([name, true])
    await viewer.page.getByRole('button', { name: 'More', exact: true }).click()
    await viewer.page.getByRole('menuitem', { name: 'Erase needs the role admin' }).waitFor()
    expect(viewer.faults).toEqual([])
    await viewer.page.context().close()
  })

  test('in the sandbox a test event is sent', async () => {
    const tester = await userOf(api, api.project.sandbox)
    await open(`/customers/${tester}?env=sandbox&at=test-event`, '[role=dialog]')
    await page.getByRole('combobox', { name: 'Event' }).fill('button_pressed')
    await page.getByRole('button', { name: 'Send', exact: true }).press('Enter')
    await page.getByText('button_pressed is sent').waitFor()
    await page.locator('.timeline').getByText('Button pressed').waitFor()
    await open(`/customers/${sam}?at=test-event`, '[role=dialog]')
    await page.getByText('Test events are sent in the sandbox alone.').waitFor()
  })

  test('is erased after the password and the id, and then there is nobody', async () => {
    await api.pool.query(`update operator_sessions set authenticated_at = clock_timestamp() - interval '11 minutes'`)
    await open(`/customers/${refused}?at=erase`, '[role=dialog] a')
    await expectSound(page, 'customer-again')
    await page.getByRole('link', { name: 'It is me' }).click()
    await page.fill('[name=password]', PASSWORD)
    await page.click('button[type=submit]')
    const drawer = page.getByRole('dialog', { name: 'Erase this customer' })
    await drawer.getByText(`Delete customer ${refused}`).waitFor()
    const erase = drawer.getByRole('button', { name: 'Erase for good' })
    await drawer.getByLabel('Id of the customer').fill(`${refused}0`)
    expect(await erase.isDisabled()).toBe(true)
    await drawer.getByLabel('Id of the customer').fill(refused)
    await expectSound(page, 'customer-erase')
    await erase.press('Enter')
    await page.getByRole('heading', { name: 'This customer is erased' }).first().waitFor()
    await expectSound(page, 'customer-erased')
    expect((await api.call('GET', `/v4/customers/${refused}`)).status).toBe(404)
    await open('/customers/nobody', '.empty')
    await page.getByRole('heading', { name: 'There is no such customer here' }).first().waitFor()
    expect(faults).toEqual([])
  })
})
