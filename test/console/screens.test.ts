// Screens, pushes and the audit log in a browser, as operators use them: by keyboard, with the numbers of the API.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { userOf } from '../harness/purchases.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
let email: string
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  browser = await startBrowser()
  const { id, ...operator } = await newOperator(api)
  email = operator.email
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, 'editor'))
  const visit = visitor(api.url)
  await visit.signIn(email)
  ;({ page, faults } = await openedPage(browser))
  await page.context().addCookies([...visit.cookies].map(([name, value]) => ({ name, value, url: api.url })))
  await page.emulateMedia({ reducedMotion: 'reduce' })
  page.setDefaultTimeout(10_000)
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
beforeEach(() => () => expect(faults).toEqual([]))

const good = async (method: string, path: string, body?: object) => {
  const answer = await api.call(method, path, body === undefined ? {} : { body })
  expect([path, answer.status, answer.status < 300 ? '' : answer.text]).toEqual([path, expect.any(Number), ''])
  return answer.body
}
const open = async (path: string, selector: string) => {
  await page.goto(`${api.url}/console${path}`)
  await page.waitForSelector(selector)
}
const dialog = () => page.getByRole('dialog')
const button = (name: string, on: Pick<Page, 'getByRole'> = page) => on.getByRole('button', { name, exact: true })
const focus = (selector: string) => page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.focus()`)
const iso = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

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

const CONTENT = { html: `<h1 onclick="document.title='run'">Write</h1><script>document.title = 'run'</script>`, steps: [1] }
const designed = (id: string, background: string) =>
  api.pool.query(`update screens set type = 'paywall', context_key = 'main', background = $2, content = $3 where id = $1`, [
    id,
    background,
    JSON.stringify(CONTENT),
  ])

let first: string
let draft: string

test('the list has the figures of each screen as the API has them', async () => {
  first = (await good('POST', '/v4/screens', { name: 'Classic' })).id
  draft = (await good('POST', '/v4/screens', { name: '<img src=x>' })).id
  for (const [id, background] of [
    [first, '#FFFFFF'],
    [draft, '#102030'],
  ] as const)
    await designed(id, background)
  await good('POST', `/v4/screens/${first}/publish`)
  const customer_uid = await userOf(api)
  const events = [1, 2, 3, 4, 40].flatMap((days, n) => [
    { event_id: `s${n}`, event_name: 'screen_shown', customer_uid, happened_at: iso(days), screen_id: first },
    {
      event_id: `v${n}`,
      event_name: 'screen_interacted',
      customer_uid,
      happened_at: iso(days),
      screen_id: n === 3 ? 'scr_deleted' : first,
    },
  ])
  const sale = { customer_uid, platform: 'iOS', product_id: 'coins', price: '4.99', currency: 'USD', screen_id: first }
  const bought = { ...sale, event_id: 'b', event_name: 'in_app_purchase', happened_at: iso(2), transaction: { transaction_id: 'b' } }
  await good('POST', '/v4/events', { events: [...events, bought], trigger: false })
  await open('/screens?tz=UTC', '[data-row]')
  const cells = () => page.locator('tbody tr', { hasText: 'Classic' }).locator('td.num').allTextContents()
  await expect.poll(cells, { timeout: 30_000 }).toEqual(['4', '3', '1', '33.3 %', '$4.99'])
  const { kpis } = (await good('GET', `/v4/screens/analytics/overview?from=${now(-27)}&to=${now(0)}&screens[]=${first}`)).data
  const tiles = await page.locator('.tile .tile-value data').evaluateAll(all => all.map(one => Number(one.getAttribute('value'))))
  expect([kpis.impressions.value, kpis.views.value, kpis.purchases.value]).toEqual([tiles[0], tiles[1], tiles[3]])
  await inBothThemes('screens')
})
const now = (days: number) => Math.floor(Date.now() / 1000) + days * 86_400

test('a screen shows its source as text, its course and its table; nothing of it runs', async () => {
  await focus('[data-row]')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByText('Apps are shown this screen for the context').waitFor()
  await page.getByRole('button', { name: /^Revenue/ }).press('Enter')
  await page.waitForURL(/figure=revenue/)
  await expect.poll(() => page.locator('.screen-numbers tr.total td.num').last().isVisible()).toBe(true)
  const { data } = await good('GET', `/v4/screens/${first}/analytics?from=${now(-27)}&to=${now(0)}`)
  expect(await page.locator('.figure-row.on data').first().getAttribute('value')).toBe(String(data.kpis.revenue.value))
  await page.getByRole('radio', { name: 'HTML' }).press('Space')
  expect(await page.locator('.source pre').textContent()).toBe(CONTENT.html)
  expect(await page.locator('.source pre *').count()).toBe(0)
  expect(await page.title()).toBe('Classic · Perennial')
  await inBothThemes('screen')
})

test('a draft is published against what is shown now, renamed with a way back, copied, deleted', async () => {
  await open(`/screens/${draft}`, '.screen-standing')
  expect(await page.locator('.screen-standing').textContent()).toContain('apps are shown Classic')
  await button('Publish').press('Enter')
  await dialog().locator('ins').first().waitFor()
  expect(await dialog().locator('del, ins').allTextContents()).toEqual(['−  "background": "#FFFFFF",', '+  "background": "#102030",'])
  await expectSound(page, 'screen-publish')
  await button('Publish', dialog()).press('Enter')
  await page.getByText('Apps are shown this screen for the context').waitFor()
  expect((await good('GET', `/v4/screens/${first}`)).in_context.id).toBe(draft)
  await page.keyboard.press('e')
  const name = dialog().getByLabel(/^Name/)
  await name.fill('Autumn')
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
  await page.keyboard.press('e')
  await dialog().getByText('What you typed is here').waitFor()
  expect(await name.inputValue()).toBe('Autumn')
  await good('PUT', `/v4/screens/${draft}`, { name: 'Winter' })
  await name.press('Enter')
  await dialog().getByText('Name: now Winter').waitFor()
  await button('Save mine', dialog()).press('Enter')
  await button('Undo').press('Enter')
  await expect.poll(async () => (await good('GET', `/v4/screens/${draft}`)).name).toBe('Winter')
  await page.getByRole('heading', { name: 'Winter' }).waitFor()
  await page.keyboard.press('c')
  await page.getByRole('heading', { name: 'Winter (copy)' }).waitFor()
  await good('POST', '/v4/automations', {
    ...{ name: 'Shows it', status: 'active' },
    data: { initiators: [{ uid: 'opened', type: 'event' }], actions: { screen: draft } },
  })
  await open(`/screens/${draft}?at=delete`, '[role=dialog] .fault')
  expect(await dialog().locator('.fault').textContent()).toContain('Shows it')
  expect(await button('Delete for good', dialog()).count()).toBe(0)
  await open(`/screens/${first}?at=delete`, '[role=dialog] input')
  await dialog().locator('input').fill(first)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/screens(\?|$)/)
  expect((await api.call('GET', `/v4/screens/${first}`)).status).toBe(404)
})

test('a push is made with its picture beside, changed over a newer version only when that was shown, and not deleted while used', async () => {
  await open('/pushes', '.empty')
  await page.keyboard.press('n')
  await dialog().getByLabel(/^Name/).fill('Win back')
  await dialog().getByLabel('Title').fill('Come back, {{property._q_name}}')
  await dialog().getByLabel(/^Text/).fill('<b>Half</b> the price {{7*7}}')
  expect(await dialog().locator('.phone-value').allTextContents()).toEqual(['property._q_name', 'property._q_name'])
  expect(await dialog().locator('.phone-body').first().textContent()).toBe('<b>Half</b> the price {{7*7}}')
  await button('Make the push', dialog()).press('Enter')
  await page.waitForURL(/at=psh_/)
  const id = /psh_\w+/.exec(page.url())![0]
  await dialog().getByText('No automation names it.').waitFor()
  await inBothThemes('push')
  await page.keyboard.press('e')
  await dialog().getByLabel('A tap leads to').fill('app://mine')
  await good('PUT', `/v4/pushes/${id}`, { name: 'Win back', body: 'Theirs' })
  await button('Save', dialog()).press('Enter')
  await dialog().getByText('Text: now Theirs').waitFor()
  await button('Save mine', dialog()).press('Enter')
  await dialog().getByText('No automation names it.').waitFor()
  expect(await good('GET', `/v4/pushes/${id}`)).toMatchObject({ body: '<b>Half</b> the price {{7*7}}', deep_link: 'app://mine' })
  await good('POST', '/v4/automations', {
    ...{ name: 'Sends it', status: 'paused' },
    data: { initiators: [{ uid: 'opened', type: 'event' }], actions: { push: id } },
  })
  await open(`/pushes?at=${id}&tab=delete`, '[role=dialog] .used-by')
  expect(await dialog().locator('.used-by li').allTextContents()).toEqual(['Sends it▲Pausedprevents the deletion'])
  await page.keyboard.press('Escape')
  await dialog().getByText('Sent by').waitFor()
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
  expect(await page.locator('tbody tr td').allTextContents()).toContain('▲Paused')
  await inBothThemes('pushes')
})

test('a link opens an entry of the audit log that is on no page, and one person has a list', async () => {
  const { data } = await good('GET', '/v4/audit-log?filter[operation][]=v4CreateScreen')
  const oldest = data.at(-1)
  await open(`/audit?f.operation=v4CreatePush&at=${oldest.id}`, '[role=dialog] .difference')
  expect(await dialog().textContent()).toContain(first)
  await page.keyboard.press('Escape')
  await open('/audit', '[data-row]')
  await page.getByRole('button', { name: /^Which person/ }).press('Enter')
  await page.getByRole('option', { name: email }).waitFor()
  await page.keyboard.type(email)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(/f.who=/)
  const mine = await good('GET', `/v4/audit-log?filter[actor_id]=${encodeURIComponent(email)}`)
  await expect.poll(() => page.locator('tbody tr').count()).toBe(mine.data.length)
  expect(mine.data.length).toBeGreaterThan(4)
})
