// What people come for, from one end to the other, in a browser, on both runtimes: the first start, and a figure of yesterday that changes today.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { type Running, run } from '../harness/process.ts'
import { type Receiver, receiver } from '../harness/receiver.ts'
import { INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

const DAY = 86_400_000
const PASSWORD = 'a long password of this test'
const KEY = `sk_${'4f7c1e09'.repeat(5)}`

let browser: Browser
beforeAll(async () => {
  await builtConsole()
  browser = await startBrowser()
}, INSTALL_MS)
afterAll(() => browser?.close())

describe.each(['node', 'deno'] as const)('on %s', runtime => {
  let folder: string
  let service: Running
  let sink: Receiver
  let page: Page
  let faults: string[]
  /** Somebody behind a bar. */
  let person: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perennial-story-'))
    sink = await receiver()
    const env = {
      ...{ DATA_DIR: folder, PORT: '0', CONSOLE: '', LOG_LEVEL: 'warn', ALLOW_PRIVATE_NETWORK: 'true' },
      ...{ BOOTSTRAP_SECRET_KEY: KEY, BOOTSTRAP_PROJECT_KEY: 'p'.repeat(32) },
    }
    service = await run({ env, ...(runtime === 'deno' && { runtime }) })
    ;({ page, faults } = await openedPage(browser))
    await page.emulateMedia({ reducedMotion: 'reduce' })
    page.setDefaultTimeout(15_000)
  }, INSTALL_MS)
  afterAll(async () => {
    await page?.context().close()
    await service?.end()
    await sink?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const title = (text: string) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor()
  const open = async (path: string, selector: string) => {
    await page.goto(`${service.url}/console${path}`)
    await page.locator(selector).first().waitFor()
  }
  /** One of a list that opens below a button, found by typing. */
  async function pick(list: string, text: string): Promise<void> {
    await button(new RegExp(`^${list}`)).press('Enter')
    await page.getByRole('textbox', { name: `Find in ${list}` }).fill(text)
    await page.locator('[role=option]:visible', { hasText: text }).first().waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
  }
  async function post(events: object[]): Promise<void> {
    const answer = await fetch(`${service.url}/v4/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ events }),
    })
    expect([answer.status, await answer.text()]).toEqual([
      expect.toSatisfy(status => status < 300),
      expect.stringContaining('"rejected":0'),
    ])
  }

  test('first start, first operator, sample, first chart, a segment of the people behind a bar', async () => {
    await page.goto((await readFile(join(folder, 'first-operator'), 'utf8')).trim())
    await page.getByLabel('E-mail address').fill('ada@example.org')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('The same password again').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await link('load the sample').press('Enter')
    await button('Load the CDNOW sample').press('Enter')
    await page.getByText('1,000 orders are loaded.').waitFor({ timeout: 60_000 })
    await link('Sales by month').press('Enter')
    await page.locator('.chart svg.drawing').waitFor()
    await page.locator('.chart').focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.locator('.fact').first().waitFor()
    const hrefs = await page.locator('.fact a[href*="/customers/"]').evaluateAll(found => found.map(one => one.getAttribute('href')!))
    const people = new Set(hrefs.map(href => /customers\/(\w+)/.exec(href)![1]!))
    expect(await page.locator('.fact').count()).toBeLessThan(50)
    person = [...people][0]!
    await button('Make a segment').press('Enter')
    await page.getByRole('textbox', { name: 'Name of the segment' }).fill('Behind the bar')
    await page.keyboard.press('Enter')
    await title('Behind the bar')
    await expect.poll(() => page.locator('.segment-size').first().innerText()).toMatch(new RegExp(`^${people.size} (person|people)$`))
  })

  test('a webhook, an automation for the segment, an event: its run, its delivery, and the promise that is kept', async () => {
    await open('/integrations?env=sandbox&at=new', '[role=dialog] form')
    await page.getByRole('textbox', { name: 'Title' }).fill('Our backend')
    await button('Create it').press('Enter')
    await page.waitForURL(/tab=settings/)
    for (const field of [/^URL/, /^Sandbox URL/]) await page.getByRole('textbox', { name: field }).fill(sink.url)
    await button('Save').press('Enter')
    await page.getByText('The settings are saved').waitFor()
    await button('Start').press('Enter')
    await button('Pause').waitFor()
    await open('/automations/new?env=sandbox', '#page-title')
    await title('New automation')
    await page.getByRole('textbox', { name: 'Name' }).fill('Tell the backend')
    await pick('Events that start it', 'came_back')
    await page.keyboard.press('Escape')
    await pick('Segment of the person', 'Behind the bar')
    await pick('Add a step', 'webhook')
    await pick('Webhook', 'Our backend')
    await button('Make it').press('Enter')
    await title('Tell the backend')
    await button('Activate').press('Enter')
    await button('Pause').waitFor()
    await open('/events?env=sandbox', '#page-title')
    for (const somebody of [person, 'somebody-else']) {
      await button('Post a test event').click()
      await page.getByRole('dialog').getByLabel(/^Name/).fill('came_back')
      await page
        .getByRole('dialog')
        .getByLabel(/^Person/)
        .fill(somebody)
      await button('Post').press('Enter')
      await page.locator('.drawer').getByText('"event_name": "came_back"').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await open('/runs?env=sandbox', '[data-row]')
    await expect.poll(() => page.locator('[data-row]').count(), { timeout: 15_000 }).toBe(2)
    const row = (status: string) => page.locator('tbody tr', { hasText: status })
    expect(await row('Did not start').innerText()).toContain('the customer was not in its segments')
    await row('Succeeded').locator('[data-row]').press('Enter')
    await title('Tell the backend')
    await link('the delivery').press('Enter')
    await page.getByRole('dialog').getByText('200').first().waitFor()
    expect(sink.events().map(({ body }) => body)).toEqual([expect.objectContaining({ event_name: 'came_back' })])
    await open('/promises?env=sandbox', '.proof p')
    await expect.poll(() => page.locator('.proof p').innerText()).toMatch(/ 0 broken and 0 still to come\./)
    expect(faults).toEqual([])
  })

  test('a refund that is told three days later changes the figure of its day, which says so', async () => {
    const at = new Date(Date.now() - 3 * DAY)
    const sale = { identity_id: 'bea', product_id: 'book', price: '30.00', currency: 'USD', platform: 'iOS' }
    await post([
      { ...sale, event_id: 'sale', event_name: 'in_app_purchase', happened_at: at.toISOString(), transaction: { transaction_id: 't1' } },
    ])
    const day = `${at.toISOString().slice(0, 10)}T00:00:00Z`
    await open(`/charts/sales?range=7d&tz=UTC&line=Sales%20after%20refunds&at=${Date.parse(day) / 1000}`, '.fact')
    expect(await page.locator('.facts-sum b').textContent()).toBe('$30.00')
    await post([
      {
        ...{ ...sale, event_id: 'refund', event_name: 'in_app_refunded', happened_at: new Date(at.getTime() + 60_000).toISOString() },
        transaction: { transaction_id: 't1' },
      },
    ])
    await expect.poll(() => page.locator('.facts-sum b').textContent(), { timeout: 15_000 }).toBe('$0.00')
    await page.getByRole('tab', { name: 'How it is computed' }).click()
    await page.locator('.computed .formula').first().waitFor()
    expect(await page.locator('.computed').innerText()).toMatch(/recorded late/i)
    expect(faults).toEqual([])
  })
})
