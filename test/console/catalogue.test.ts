// The catalogue in a browser: what the stores sell unknown, what names a product, offerings and the main one, entitlements, deletions.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { shopWindow } from '../harness/shop-window.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
let shop: Awaited<ReturnType<typeof shopWindow>>
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  browser = await startBrowser()
  shop = await shopWindow(api)
  ;({ page, faults } = await signedIn('editor'))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
beforeEach(() => () => expect(faults).toEqual([]))

async function signedIn(role: ProjectRole) {
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

const open = async (path: string, wait: string) => {
  await page.goto(`${api.url}/console${path}`)
  await page.locator(wait).first().waitFor()
}
const read = async (path: string) => (await api.call('GET', `/v4/${path}`)).body
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })
const dialog = () => page.getByRole('dialog')
const told = (text: string | RegExp) => page.getByText(text).first().waitFor()
const rows = () => page.locator('tbody tr')
const idField = () => page.getByRole('textbox', { name: 'Id', exact: true })

async function expectSoundEverywhere(name: string, part?: string) {
  for (const [theme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 900 })
    await expectSound(page, `${name}-${theme}-${width}`, part)
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize({ width: 1440, height: 900 })
}

describe('what is sold', () => {
  test('the products of the API with what they give; by keys to one, what names it, and the focus goes back', async () => {
    await open('/catalogue', 'tbody tr')
    const { data } = await read('products')
    expect(await rows().locator('b').allTextContents()).toEqual(data.map(({ id }: { id: string }) => id))
    await expectSoundEverywhere('catalogue')
    await page.keyboard.press('j')
    while (!(await page.evaluate<string>('document.activeElement.textContent')).startsWith('pro_annual')) await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await dialog().getByRole('heading', { name: 'Used by' }).waitFor()
    const { used_by, active_purchases } = await read('products/pro_annual')
    expect(await dialog().locator('.used-by li').count()).toBe(used_by.length)
    expect(active_purchases.count).toBe(3)
    expect(await dialog().locator('.pairs').first().textContent()).toContain('by 3 purchases')
    const link = dialog().getByRole('link', { name: 'Annual first' })
    expect(await link.getAttribute('href')).toContain(`/experiments/${shop.experiment}`)
    expect(await dialog().locator('.used-by li', { hasText: 'Annual first' }).textContent()).toMatch(
      /Active.*group Annual first.*prevents the deletion/,
    )
    await expectSoundEverywhere('product')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(await page.evaluate<string>('document.activeElement.textContent')).toContain('pro_annual')
  })

  test('a product of a store that is unknown: made with its link, the other one linked, with a way back', async () => {
    await open('/catalogue', '.unmapped li')
    expect(await page.locator('.unmapped li').allTextContents()).toEqual([
      expect.stringMatching(/^com\.northwind\.notes\.liteApp Store · 2 purchases of 2 people/),
      expect.stringMatching(/^pro:weeklyGoogle Play · 1 purchase of 1 person/),
    ])
    await page.locator('.unmapped li').first().getByRole('button', { name: 'Make a product' }).click()
    expect(await dialog().getByLabel('App Store').inputValue()).toBe('com.northwind.notes.lite')
    await idField().fill('pro annual')
    await button('Make the product').click()
    await dialog().getByRole('alert').waitFor()
    await expectSoundEverywhere('new-product')
    await idField().fill('lite_monthly')
    await button('Make the product').click()
    await dialog().getByRole('heading', { name: 'lite_monthly' }).waitFor()
    expect(await read('products/lite_monthly')).toMatchObject({ duration: 'P1M', apple_product_id: 'com.northwind.notes.lite' })
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('.unmapped li').count()).toBe(1)
    await button('Link to …').click()
    await button('Product: Choose a product').or(button('Choose a product')).click()
    await page.getByRole('option', { name: 'themes' }).click()
    await told('themes is themes in Google Play today')
    await expectSound(page, 'catalogue-link')
    await button('Link it').click()
    await page.locator('.unmapped').waitFor({ state: 'detached' })
    expect(await read('products/themes')).toMatchObject({ google_product_id: 'pro', google_base_plan_id: 'weekly' })
    await button('Undo').click()
    await told('Undone')
    expect(await read('products/themes')).toMatchObject({ google_product_id: 'themes', google_base_plan_id: null })
  })

  test('what somebody else has stored stands beside, and only what is changed is sent', async () => {
    await open('/catalogue?at=one.stickers', '[role=dialog]')
    await dialog().getByRole('button', { name: 'Edit' }).waitFor()
    await page.keyboard.press('e')
    await page.getByLabel('Paddle').fill('pro_stickers')
    await api.call('PATCH', '/v4/products/stickers', { body: { stripe_product_id: 'prod_theirs' } })
    await button('Save').click()
    await told('In the stores: now Stripe prod_theirs')
    await expectSoundEverywhere('product-newer')
    const [request] = await Promise.all([page.waitForRequest(sent => sent.method() === 'PATCH'), button('Save mine').click()])
    expect(request.postDataJSON()).toEqual({ stripe_product_id: null, paddle_product_id: 'pro_stickers' })
    await told('stickers is saved')
  })
})

describe('how it is offered', () => {
  test('the main one moves at once and back, but not over what somebody else has done', async () => {
    await open('/catalogue?tab=offerings', 'tbody tr')
    expect(await rows().allTextContents()).toEqual([expect.stringContaining('Main'), expect.stringContaining('Set main')])
    await expectSoundEverywhere('offerings')
    await rows().nth(1).getByRole('button', { name: 'Set main' }).click()
    await rows().nth(1).locator('.status').waitFor()
    await button('Undo').click()
    await told('Undone')
    expect((await read('offerings/default')).tag).toBe(1)
    await rows().nth(1).getByRole('button', { name: 'Set main' }).click()
    await rows().nth(1).locator('.status').waitFor()
    await api.call('POST', '/v4/offerings/default/set-main')
    await button('Undo').last().click()
    await told(/could not be undone: somebody has made another one/)
    expect((await read('offerings/default')).tag).toBe(1)
  })

  test('its products are put into another order', async () => {
    await open('/catalogue?tab=offerings&at=edit.default', 'form')
    await button('Move plus_monthly up').click()
    await button('Take pro_monthly out').click()
    await expectSoundEverywhere('offering-form')
    await button('Save').click()
    await told('default is saved')
    expect((await read('offerings/default')).product_ids).toEqual(['pro_annual', 'plus_monthly', 'plus_annual'])
  })
})

describe('what it gives', () => {
  test('an entitlement in use cannot be deleted, and says by what; one that is unused can', async () => {
    await open('/catalogue?tab=entitlements&at=delete.pro', '.fault')
    const form = page.getByRole('dialog', { name: 'Delete pro' })
    expect(await form.textContent()).toMatch(/in use by the purchase/)
    expect(await form.getByRole('link', { name: 'Win back' }).getAttribute('href')).toContain(`/automations/${shop.automation}`)
    await expectSoundEverywhere('entitlement-delete')
    await open('/catalogue?tab=entitlements&at=delete.themes', 'input[aria-label="Id of what is deleted"]')
    await page.getByLabel('Id of what is deleted').fill('themes')
    await button('Delete it').click()
    await told('themes is deleted')
    await dialog().first().waitFor({ state: 'detached' })
    expect((await api.call('GET', '/v4/entitlements/themes')).status).toBe(404)
    await expectSoundEverywhere('entitlements')
  })

  test('one is made with its products', async () => {
    await open('/catalogue?tab=entitlements', 'tbody tr')
    await page.keyboard.press('n')
    await idField().fill('stickers')
    await button('Add a product').click()
    await page.getByRole('option', { name: 'stickers' }).click()
    await page.keyboard.press('Escape')
    await button('Make the entitlement').click()
    await dialog().getByRole('heading', { name: 'stickers' }).waitFor()
    expect((await read('entitlements/stickers')).product_ids).toEqual(['stickers'])
  })
})

test('a viewer sees it all, and is told what is for others', async () => {
  const { page: own, faults } = await signedIn('viewer')
  await own.goto(`${api.url}/console/catalogue?at=edit.pro_annual`)
  await own.getByRole('dialog').getByRole('heading', { name: 'Used by' }).waitFor()
  expect(await own.getByRole('dialog').count()).toBe(1)
  for (const name of ['New product', 'Edit', 'Delete'])
    expect(await own.getByRole('button', { name, exact: true }).getAttribute('title')).toMatch(/role editor/)
  expect(faults).toEqual([])
  await own.context().close()
})

test('the second page of a list is in its address: it can be sent, and Back leads to the first one', async () => {
  const more = (n: number): [string, object][] => [
    ['/v4/entitlements', { id: `more-${n}` }],
    ['/v4/pushes', { name: `Push ${n}`, title: 'Title', body: 'Text' }],
    ['/v4/remote-configurations', { name: `Configuration ${n}` }],
  ]
  await Promise.all(Array.from({ length: 51 }, (_, n) => more(n).map(([path, body]) => api.call('POST', path, { body }))).flat())
  for (const path of ['/catalogue?tab=entitlements', '/pushes', '/configurations']) {
    await open(path, 'tbody tr')
    expect([path, await rows().count()]).toEqual([path, 50])
    const name = () => rows().first().locator('td').first().textContent()
    const first = await name()
    await button('Next page').click()
    await page.waitForURL(/[?&]after=/)
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    const second = await name()
    expect([path, second]).not.toEqual([path, first])
    await page.goto(page.url())
    await rows().first().waitFor()
    expect([path, await name()]).toEqual([path, second])
    await page.goBack()
    await expect.poll(name, { timeout: 10_000 }).toBe(first)
  }
})
