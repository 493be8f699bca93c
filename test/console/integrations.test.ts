// Integrations in a browser: what waits and why, one delivery in full, sending it again, replay, settings.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { type Hook, hook, must, post } from '../harness/integrations.ts'
import { newOperator, PASSWORD } from '../harness/operators.ts'
import { OK } from '../harness/receiver.ts'
import { expectSound, INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

const HOSTILE = `<img src=x onerror="document.title='stolen'"> constructor ${'x'.repeat(80)}`
const TOKEN = 'token-that-nobody-sees'

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
let billing: Hook
let crm: Hook
beforeAll(async () => {
  api = await startApi({ console: await builtConsole(), worker: true, leaseMs: 15_000 })
  browser = await startBrowser()
  billing = await titled('Billing service', ['note_shared'])
  crm = await titled(HOSTILE, ['lead_made'])
  billing.receiver.script = [{ status: 503, text: HOSTILE }]
  await post(api.call, { event_name: 'note_shared', identity_id: 'ada', properties: { note: TOKEN } })
  await billing.become('retrying')
  await post(api.call, ...['bob', 'cy'].map(identity_id => ({ event_name: 'note_shared', identity_id })))
  await billing.become('retrying', 'delivered', 'delivered')
  crm.receiver.otherwise = { status: 500 }
  await post(api.call, ...leads)
  await crm.become(...leads.map(() => 'held'))
  ;({ page, faults } = await signedIn('admin'))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await Promise.all([billing, crm].map(one => one?.receiver.close()))
  await api?.stop()
})
beforeEach(() => async () => {
  expect(faults).toEqual([])
  expect(await page.title()).not.toBe('stolen')
})

const leads = Array.from({ length: 10 }, (_, n) => ({ event_name: 'lead_made', identity_id: `lead-${n}` }))

async function titled(title: string, events: string[]): Promise<Hook> {
  const made = await hook({ call: api.call, config: { events }, settings: { authorization_token: TOKEN } })
  await api.pool.query('update integrations set title = $2 where id = $1', [made.id, title])
  return made
}

async function signedIn(role: ProjectRole) {
  const { id, email } = await newOperator(api)
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const opened = await openedPage(browser)
  await opened.page.goto(`${api.url}/console/integrations`)
  await opened.page.fill('[name=email]', email)
  await opened.page.fill('[name=password]', PASSWORD)
  await opened.page.click('button[type=submit]')
  await opened.page.locator('.integration-card').first().waitFor()
  opened.page.setDefaultTimeout(10_000)
  return opened
}

const open = async (path: string, wait: string) => {
  await page.goto(`${api.url}/console${path}`)
  await page.locator(wait).first().waitFor()
}
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })
const rows = () => page.locator('tbody tr')
const told = (text: string | RegExp) => page.getByText(text).first().waitFor()

async function expectSoundEverywhere(name: string) {
  for (const [theme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 900 })
    await expectSound(page, `${name}-${theme}-${width}`)
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize({ width: 1440, height: 900 })
  expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0)
}

describe('what happened', () => {
  test('the cards say what the API says, and an error says what waits and when it is tried', async () => {
    await open('/integrations', '.integration-card')
    const shown = await crm.show()
    const card = page.locator('.integration-card', { hasText: 'onerror' })
    expect(await card.locator('dd').nth(1).textContent()).toBe(String(shown.held))
    expect(await card.locator('.status').textContent()).toContain('Error')
    const trouble = page.locator('.trouble')
    expect(await trouble.textContent()).toContain(`${shown.delivery_error_count} attempts have failed`)
    expect(await trouble.textContent()).toContain(`Nothing is lost. ${shown.held} deliveries are held in order`)
    const times = await trouble.locator('time').evaluateAll(all => all.map(one => one.getAttribute('datetime')))
    expect(times).toEqual([expect.any(String), shown.held_since, shown.next_probe_at])
    await expectSoundEverywhere('integrations')
  })

  test('by keys to a delivery: its attempts, answer and request without secrets, and the focus goes back', async () => {
    await open('/integrations', '.integration-card')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Billing service' }).waitFor()
    await expect.poll(() => rows().count()).toBe(3)
    await button('Retrying').click()
    await expect.poll(() => rows().count()).toBe(1)
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog')
    await drawer.locator('.request-line').waitFor()
    const text = await drawer.textContent()
    expect(text).toContain(HOSTILE)
    expect(text).toContain('503')
    expect(text).not.toContain(TOKEN)
    expect(text).toMatch(/webhook-signature…/)
    expect(await drawer.getByRole('button', { name: 'Send again' }).getAttribute('title')).toBe('It is under way.')
    await expectSoundEverywhere('delivery')
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    expect(await page.evaluate<string>('document.activeElement.textContent')).toContain('Note shared')
    await expectSoundEverywhere('integration')
  })

  test('the search leads to a delivery, and so does the story of its customer', async () => {
    const [, delivery] = await billing.deliveries()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder(/^Pages, charts/).fill(delivery.id)
    await page.locator('.mantine-Spotlight-action', { hasText: delivery.id }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`/integrations/${billing.id}\\?.*at=${delivery.id}`))
    await open(`/customers/${delivery.user_id}?at=delivery.${delivery.id}`, '[role=dialog]')
    await page.getByText('Its attempts, and what was sent').click()
    await page.getByRole('dialog').locator('.request-line').waitFor()
  })
})

describe('what one does', () => {
  test('one delivery is sent again, and the drawer shows its second attempt as it comes', async () => {
    const [, delivery] = await billing.deliveries()
    await open(`/integrations/${billing.id}?at=${delivery.id}`, '.request-line')
    await button('Send again').click()
    await page.locator('.attempts').getByText('2. 200').waitFor()
    expect(billing.receiver.events().filter(({ headers }) => headers['webhook-id'] === delivery.id)).toHaveLength(2)
  })

  test('a replay goes out after its number is counted, and its deliveries are shown', async () => {
    await open(`/integrations/${billing.id}?at=replay`, '[role=dialog] form')
    await page.getByLabel('What was delivered').check()
    await button('Count them').click()
    await told('2 deliveries would go out again.')
    await expectSound(page, 'replay')
    const sent = billing.receiver.events().length
    await button('Send 2 again').click()
    await page.waitForURL(/f\.replay=rpl_/)
    await expect.poll(() => rows().count()).toBe(2)
    await expect.poll(() => billing.receiver.events().length).toBe(sent + 2)
  })

  test('it is paused with a way back, and one in error is started again: nothing is lost', async () => {
    await open(`/integrations/${billing.id}`, 'tbody tr')
    await button('Pause').click()
    await button('Undo').click()
    await told('Undone')
    expect((await billing.show()).active).toBe(1)
    crm.receiver.otherwise = OK
    await open(`/integrations/${crm.id}`, '.trouble')
    await button('Start again').click()
    await page.locator('.trouble').waitFor({ state: 'detached' })
    await crm.become(...leads.map(() => 'delivered'))
  })

  test('settings are saved, faults stand at their field, a secret is replaced and never shown', async () => {
    await open(`/integrations/${billing.id}?tab=settings`, '.integration-side')
    expect(await page.locator('form').innerHTML()).not.toContain(TOKEN)
    await page.getByLabel(/^URL/).fill('ftp://nowhere')
    await button('Save').click()
    await told(/must be an address that begins with/)
    await page.getByLabel(/^URL/).fill(`${billing.receiver.url}/next`)
    await button('Save').click()
    await told('The settings are saved')
    const config = await must(api.call, 'GET', `/v4/integrations/${billing.id}/config`)
    expect(config.settings).toMatchObject({ url: `${billing.receiver.url}/next`, has_authorization_token: true })
    expect(config.events).toEqual(['note_shared'])
    await expectSoundEverywhere('integration-settings')
    await button('Replace it').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace it' }).click()
    const link = page.getByRole('link', { name: 'Look at the new key' })
    expect(await link.getAttribute('href')).toMatch(/^\/oauth\/secrets\//)
    expect(await page.content()).not.toContain('whsec_')
  })

  test('one is made, gets its settings, and is deleted after its id is typed', async () => {
    await open('/integrations?at=new', '[role=dialog] form')
    await page.getByLabel('Title').fill('For a while')
    await button('Create it').click()
    await page.waitForURL(/tab=settings/)
    await page.getByRole('heading', { name: 'For a while' }).waitFor()
    const id = /integrations\/(int_\w+)/.exec(page.url())![1]!
    await button('Delete this integration').click()
    await expectSound(page, 'integration-delete')
    await page.getByLabel('Id of the integration').fill(id)
    await button('Delete it').click()
    await page.waitForURL(/\/console\/integrations\?/)
    expect((await must(api.call, 'GET', '/v4/integrations')).data.map((one: { id: string }) => one.id)).not.toContain(id)
  })

  test('a viewer sees it all, and is told what is for others', async () => {
    const { page: own, faults } = await signedIn('viewer')
    await own.goto(`${api.url}/console/integrations/${billing.id}`)
    await own.locator('tbody tr').first().waitFor()
    for (const name of ['Pause', 'Replay', 'Send a test'])
      expect(await own.getByRole('button', { name, exact: true }).getAttribute('title')).toMatch(/role editor/)
    await expectSound(own, 'integration-viewer')
    expect(faults).toEqual([])
    await own.context().close()
  })
})
