// Events, settings and status in a browser, as operators use them.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { newOperator, PASSWORD } from '../harness/operators.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

const HOSTILE = `<img src=x onerror="document.title='stolen'">${'long '.repeat(40)}`

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole(), worker: true })
  browser = await startBrowser()
  await api.call('POST', '/v4/events', { body: { events: past() } })
  await api.call('POST', '/v4/project-settings/stores/apple', { body: { bundle_id: 'org.example.app' } })
  ;({ page, faults } = await signedIn())
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
beforeEach(() => () => expect(faults).toEqual([]))

/** 90 events, one of them with a name and a property that would like to be more than text. */
const past = () =>
  Array.from({ length: 90 }, (_, n) => ({
    event_id: `past-${n}`,
    event_name: n % 3 === 0 ? 'note_shared' : 'note_created',
    identity_id: `person-${n % 5}`,
    happened_at: new Date(Date.now() - (n + 60) * 1_000).toISOString(),
    ...(n === 0 && { properties: { note: HOSTILE, constructor: 1 } }),
  }))

async function signedIn(role?: 'viewer' | 'editor') {
  const { id, email } = await newOperator(api, { isOwner: role === undefined })
  if (role) await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const opened = await openedPage(browser)
  await opened.page.goto(`${api.url}/console/status`)
  await opened.page.fill('[name=email]', email)
  await opened.page.fill('[name=password]', PASSWORD)
  await opened.page.click('button[type=submit]')
  await opened.page.waitForSelector('#page-title')
  opened.page.setDefaultTimeout(8_000)
  return opened
}

const open = async (path: string, selector: string, on = page) => {
  await on.goto(`${api.url}/console${path}`)
  await on.waitForSelector(selector)
}
const rows = (on = page) => on.locator('tbody tr')
const button = (name: string | RegExp, on = page) => on.getByRole('button', { name, exact: typeof name === 'string' })

/** The page in both themes and both widths. */
async function expectSoundEverywhere(path: string, selector: string) {
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
}

test.each([
  ['/events', 'tbody tr'],
  ['/settings', '.pairs code'],
  ['/status', 'tbody tr'],
])('%s has no fault of access, nothing too wide and no style element', expectSoundEverywhere)

describe('events', () => {
  test('one by keys: the rows, its drawer with hostile text, and the focus goes back', async () => {
    await open('/events', '[data-row]')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog')
    await drawer.getByText('"event_id": "past-0"').waitFor()
    expect(await drawer.locator('.pairs').last().textContent()).toContain(HOSTILE)
    await expectSound(page, 'event-drawer')
    expect(page.url()).toContain('at=evt_')
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    expect(await page.evaluate<string>('document.activeElement.textContent')).toContain('Note shared')
    expect(await page.title()).not.toBe('stolen')
  })

  test('pages, filters and counts are those of the API', async () => {
    const first = await api.call('GET', '/v4/events?limit=40')
    const second = await api.call('GET', `/v4/events?limit=40&starting_after=${first.body.data.at(-1).id}`)
    await open('/events', '[data-row]')
    expect(await rows().count()).toBe(40)
    await page.keyboard.press('[')
    await page.waitForURL(/after=evt_/)
    await button('The newest').waitFor()
    await expect.poll(() => rows().last().locator('time').getAttribute('datetime')).toBe(second.body.data.at(-1).happened_at)
    await page.keyboard.press(']')
    const { body: catalogue } = await api.call('GET', '/v4/events/catalogue')
    const { count_24h } = catalogue.data.find(({ event_name }: { event_name: string }) => event_name === 'note_shared')
    const name = page.locator('.names button', { hasText: 'Note shared' })
    expect(await name.textContent()).toContain(`${count_24h} in 24 hours`)
    await name.click()
    await page.waitForURL(/f\.name=note_shared/)
    await expect.poll(() => rows().count()).toBe(30)
    await page.getByPlaceholder(/^Person/).fill('person-1')
    await page.keyboard.press('Enter')
    await page.waitForURL(/f\.customer=QON_/)
    await expect.poll(() => rows().count()).toBe(6)
    await page.goto(`${page.url()}&from=4000000000`)
    await page.getByText('No event fits').waitFor()
    await expectSound(page, 'events-none')
    await button('Show all events').click()
    await expect.poll(() => rows().count()).toBe(40)
  })

  test('the log is followed, stands still while it is paused, and says what has come', async () => {
    await open('/events', '[data-row]')
    await page.getByText('live', { exact: true }).waitFor()
    const come = (id: string) =>
      api.call('POST', '/v4/events', {
        body: { events: [{ event_id: id, event_name: 'balloon_popped', identity_id: 'zoe', happened_at: new Date().toISOString() }] },
      })
    await come('live-1')
    await rows().first().getByText('Balloon popped').waitFor()
    await page.keyboard.press('p')
    await button('Go on').waitFor()
    const top = await rows().first().textContent()
    await come('live-2')
    await page.getByText('paused, 1 newer').waitFor()
    expect(await rows().first().textContent()).toBe(top)
    await page.keyboard.press('p')
    await expect.poll(() => rows().filter({ hasText: 'Balloon popped' }).count()).toBe(2)
    expect(await rows().count()).toBe(40)
  })

  test('a test event: production warns, faults name their field, and the new one opens', async () => {
    await open('/events', '[data-row]')
    await button('Post a test event').click()
    await page.getByText(/^This is production/).waitFor()
    await expectSound(page, 'post-event')
    await page.getByLabel(/^Name/).fill('No Name')
    await button('Post to production').click()
    await page.getByRole('alert').getByText('invalid_data').waitFor()
    await page
      .locator('.mantine-TextInput-error')
      .getByText(/^must be made of/)
      .waitFor()
    await page.getByLabel(/^Name/).fill('kite_flown')
    await button('Post to production').click()
    await page.locator('.drawer').getByText('"event_name": "kite_flown"').waitFor()
  })

  test('an answer that fails leaves the rest of the page', async () => {
    await page.route('**/v4/events/catalogue', route =>
      route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'It broke.' } } }),
    )
    await open('/events', '[data-row]')
    await page.getByRole('alert').getByText('It broke.').waitFor()
    await page.unroute('**/v4/events/catalogue')
    await button('Try again').click()
    await page.locator('.names button', { hasText: 'Note created' }).waitFor()
    faults.splice(0)
  })
})

describe('settings', () => {
  test('a key is made by keys, shown once on its own page, opens what it may, and is revoked', async () => {
    await open('/settings?tab=keys', '.empty')
    await button('New key').press('Enter')
    await page.keyboard.type(HOSTILE.slice(0, 80))
    await page.getByLabel('Events: read').press('Space')
    await expectSound(page, 'new-key')
    await button('Make the key').press('Enter')
    const opened = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Look at the new key' }).click()
    const shown = await opened
    await shown.getByRole('button', { name: 'Show it' }).click()
    const key = (await shown.locator('main code').textContent()) ?? ''
    await shown.close()
    const read = () => fetch(`${api.url}/v4/events`, { headers: { Authorization: `Bearer ${key}` } })
    expect([key.slice(0, 9), (await read()).status]).toEqual(['pnk_live_', 200])
    await button('Close').last().click()
    expect(await page.content()).not.toContain(key)
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await button('Revoke').click()
    await page.getByLabel(/^Type the last four/).fill(key.slice(-4))
    await page.keyboard.press('Enter')
    await page.getByText('No named key yet').waitFor()
    expect((await read()).status).toBe(401)
  })

  test('who edits sees what somebody else has changed meanwhile, and decides', async () => {
    await open('/settings', '.pairs code')
    await page.keyboard.press('e')
    await page.getByLabel(/^Name/).fill('Mine')
    await api.call('PATCH', '/v4/project-settings', { body: { project_name: 'Theirs' } })
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Name: now Theirs').waitFor()
    await expectSound(page, 'newer')
    await button('Save mine').click()
    await page.locator('.pairs').getByText('Mine').waitFor()
    expect((await api.call('GET', '/v4/project-settings')).body.project_name).toBe('Mine')
  })

  test('the Secret Key asks for the name of the project, and a session of some time ago for the password', async () => {
    await api.call('PATCH', '/v4/project-settings', { body: { project_name: 'Kites' } })
    await open('/settings', '.pairs code')
    expect(await page.content()).not.toContain(api.project.secret)
    await button('Replace the Secret Key').click()
    expect(await button('Replace it').isDisabled()).toBe(true)
    await page.getByLabel(/^Type the name/).fill('Kites')
    await api.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '11 minutes'`)
    await button('Replace it').click()
    await page.getByRole('link', { name: 'Show that it is you' }).waitFor()
    expect((await api.call('GET', '/v4/project-settings')).status).toBe(200)
  })

  test('who may not change or see something is told which role it needs', async () => {
    const { page: own, faults: others } = await signedIn('editor')
    await open('/settings?tab=keys', '#page-title', own)
    const make = button('New key', own)
    expect([await make.getAttribute('aria-disabled'), await make.getAttribute('title')]).toEqual(['true', 'needs the role admin'])
    await open('/status', '.empty', own)
    await own.getByText('This is for owners of the installation').waitFor()
    await expectSound(own, 'status-editor')
    expect(others).toEqual([])
    await own.context().close()
    const { page: viewers } = await signedIn('viewer')
    await open('/settings?tab=stores', '[role=alert]', viewers)
    expect(await viewers.getByText('Your role does not allow this').count()).toBe(1)
    await viewers.context().close()
  })
})

test('the status shows what the service says of the installation', async () => {
  const asked = page.waitForResponse(response => response.url().endsWith('/console/api/status'))
  await open('/status', '.pairs')
  const status = await (await asked).json()
  const text = (await page.locator('main').textContent()) ?? ''
  for (const part of [status.version, status.process.runtime, status.database.version, String(status.database.migration)])
    expect(text).toContain(part)
  expect(await page.locator('.status.good').filter({ hasText: 'alive' }).count()).toBe(
    status.workers.filter(({ is_alive }: { is_alive: boolean }) => is_alive).length,
  )
})

test('what the project does not have is no failure: the page says so, and leads to all of its kind', async () => {
  const { page: own, faults: seen } = await signedIn()
  const pages = {
    '/automations/auto_none': 'All automations',
    '/automations/auto_none/edit': 'All automations',
    '/configurations/none': 'All configurations',
    '/customers/nobody': 'All customers',
    '/experiments/exp_none': 'All experiments',
    '/integrations/int_none': 'All integrations',
    '/reports/rep_none': 'All reports',
    '/runs/run_none': 'All runs',
    '/screens/scr_none': 'All screens',
    '/segments/seg_none': 'All segments',
  }
  for (const [path, all] of Object.entries(pages)) {
    await open(path, '.empty-title', own)
    expect([path, await own.locator('.empty').getByRole('link', { name: all }).count()]).toEqual([path, 1])
    expect([path, await own.locator('.fault').count()]).toEqual([path, 0])
  }
  await expectSound(own, 'segment-none')
  expect(seen.filter(fault => !/^Failed to load/.test(fault))).toEqual([])
  await own.context().close()
})
