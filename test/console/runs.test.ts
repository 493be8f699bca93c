// Runs of automations and the audit log in a browser, as operators use them.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'
import { storedRun } from '../harness/stored-run.ts'

const HOSTILE = `<img src=x onerror="document.title='stolen'">${'long '.repeat(30)}`

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
let automation: { id: string; url: string; data: object }
let user: string
const ids: Record<'retrying' | 'failed' | 'waiting', string> = { retrying: '', failed: '', waiting: '' }
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  browser = await startBrowser()
  user = (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id
  const steps = [
    { id: 'mail', type: 'email', subject: HOSTILE.slice(0, 60), text: 'Hello' },
    { id: 'rest', type: 'delay', duration: 'P1D' },
  ]
  const data = { initiators: [{ uid: 'opened', type: 'event' }], steps }
  automation = (await api.call('POST', '/v4/automations', { body: { name: HOSTILE, status: 'active', data } })).body
  const attempt = { number: 1, started_at: new Date(Date.now() - 5_000).toISOString(), duration_ms: 40, error: 'the mail server is away' }
  const store = (status: 'running' | 'failed' | 'waiting', steps: object[], ago: number) =>
    storedRun(api, api.project.production, { automation: automation.id, user, status, steps: steps as never, ago })
  ids.retrying = await store('running', [{ id: 'mail', type: 'email', status: 'running', attempts: [attempt] }], 20)
  ids.failed = await store('failed', [{ id: 'mail', type: 'email', status: 'failed', reason: 'email_failed', attempts: [attempt] }], 30)
  for (let n = 0; n < 60; n++) ids.waiting = await store('waiting', [{ id: 'rest', type: 'delay', status: 'waiting' }], 60 + n)
  const { email } = await newOperator(api, { isOwner: true })
  const visit = visitor(api.url)
  await visit.signIn(email)
  ;({ page, faults } = await openedPage(browser))
  await page.context().addCookies([...visit.cookies].map(([name, value]) => ({ name, value, url: api.url })))
  page.setDefaultTimeout(8_000)
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
beforeEach(() => () => expect(faults).toEqual([]))

const open = async (path: string, selector: string) => {
  await page.goto(`${api.url}/console${path}`)
  await page.waitForSelector(selector)
}
const rows = () => page.locator('tbody tr')
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })

test('the pages have no fault of access in both themes, on wide and narrow screens', async () => {
  for (const [path, selector] of [
    ['/runs', '[data-row]'],
    [`/runs/${ids.retrying}`, '.strip'],
    ['/audit', '[data-row]'],
  ] as const)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await open(path, selector)
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 })
        await expectSound(page, `${path.replaceAll(/[^a-z]+/g, '-')}-${colorScheme}-${width}`)
      }
    }
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0)
})

test('runs by keys: what is tried again is found, followed to its page, and the page ends with the run', async () => {
  await open('/', '#page-title')
  await page.keyboard.press('g')
  await page.keyboard.press('n')
  await page.waitForURL(/\/runs/)
  await page.waitForSelector('[data-row]')
  const { body } = await api.call('GET', '/v4/automation-runs?limit=50')
  expect(await rows().count()).toBe(body.data.length)
  await page.keyboard.press('[')
  await page.waitForURL(new RegExp(`after=${body.next_cursor}`))
  await expect.poll(() => rows().count()).toBe(12)
  await page.keyboard.press(']')
  await button('Retrying').press('Enter')
  await page.waitForURL(/f\.status=retrying/)
  await expect.poll(() => rows().count()).toBe(1)
  expect(await rows().textContent()).toContain('the mail server is away')
  await page.keyboard.press('Escape')
  await page.locator('[data-row]').press('Enter')
  await page.waitForURL(new RegExp(`/runs/${ids.retrying}`))
  await page.getByText('mail has failed and is tried again').waitFor()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(HOSTILE)
  expect(await page.locator('.strip .tick.bad').count()).toBe(1)
  expect(await page.locator('.run-ahead').allTextContents()).toEqual([expect.stringContaining('Wait for 1 day')])
  await button('Cancel').press('Enter')
  await page.getByLabel(/^Type the last four/).fill(ids.retrying.slice(-4))
  await expectSound(page, 'run-cancel')
  await page.keyboard.press('Enter')
  await page.getByText('It was cancelled: somebody has cancelled it.').waitFor()
  expect((await api.call('GET', `/v4/automation-runs/${ids.retrying}`)).body.status).toBe('cancelled')
  expect(await page.title()).not.toBe('stolen')
})

test('a run that failed is run again, and leads to the new run', async () => {
  await open(`/runs/${ids.failed}`, '.notice')
  await page.keyboard.press('e')
  await page.getByRole('radio', { name: 'From the beginning' }).waitFor()
  await expectSound(page, 'run-again')
  await button('Run again').last().click()
  await page.waitForURL(url => /\/runs\/run_/.test(url.pathname) && !url.pathname.includes(ids.failed))
  const made = page.url().match(/run_[a-z0-9]+/)![0]
  expect((await api.call('GET', `/v4/automation-runs/${made}`)).body.replay_of).toBe(ids.failed)
  await page.locator('.pairs', { hasText: 'Repeats' }).waitFor()
})

test('several runs are cancelled together, after their number is typed', async () => {
  await open(`/runs?f.status=waiting&f.user_id=${user}`, '[data-row]')
  for (let n = 0; n < 2; n++) {
    await page.keyboard.press('j')
    await page.keyboard.press('x')
  }
  await button('Cancel 2 runs').click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByRole('button', { name: 'Cancel 2 runs' }).isDisabled()).toBe(true)
  await dialog.getByLabel('Type 2 to cancel them').fill('2')
  await page.keyboard.press('Enter')
  await dialog.getByText('2 runs are cancelled.').waitFor()
  await expectSound(page, 'runs-cancelled')
  await dialog.getByRole('button', { name: 'Done' }).click()
  const { body } = await api.call('GET', '/v4/automation-runs?filter[status][]=cancelled')
  expect(body.data).toHaveLength(3)
})

test('the audit log shows who, what, before and afterwards, and leads to the object', async () => {
  const put = (data: object) => api.call('PUT', automation.url, { body: { name: HOSTILE, status: 'active', data } })
  await put({ ...automation.data, reentry: false })
  await open('/settings?tab=audit&f.operation=v4UpdateAutomation', '[data-row]')
  expect(new URL(page.url()).pathname).toBe('/console/audit')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('dialog')
  await drawer.getByText(`Secret Key …${api.project.secret.slice(-4)}`).waitFor()
  expect(await drawer.locator('del').first().textContent()).toContain('"reentry": true')
  expect(await drawer.locator('ins').first().textContent()).toContain('"reentry": false')
  await expectSound(page, 'audit-drawer')
  expect(await drawer.getByRole('link', { name: 'Go there' }).getAttribute('href')).toContain(`/automations/${automation.id}`)
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await page.goto(`${page.url()}&f.actor=cli`)
  await page.getByText('No entry fits').waitFor()
  await button('Show all entries').click()
  const { body } = await api.call('GET', '/v4/audit-log?limit=50')
  await expect.poll(() => rows().count()).toBe(body.data.length)
})
