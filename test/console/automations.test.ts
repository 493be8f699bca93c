// Automations in a browser, as operators use them by keyboard: what each did, its flow, changing it, ending it.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { expectSoundly } from '../harness/console-pages/soundly.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { INSTALL_MS, openedPage } from '../harness/sound-pages.ts'
import { until } from '../harness/until.ts'

const HOSTILE = `<img src=x onerror="document.title='taken'">${'long '.repeat(30)}\u202Egnp.exe`
const STEPS = [
  { id: 'mark', type: 'set_property', key: 'note', value: 'seen' },
  {
    id: 'comes',
    type: 'wait_for_event',
    event: 'came_back',
    timeout: 'PT30M',
    on_timeout: [{ id: 'later', type: 'delay', duration: 'P1D' }],
  },
  { id: 'phone', type: 'branch', conditions: [{ metric: 'event:platform', comparator: 'eq', value: 'iOS' }], then: [], else: [] },
]

let api: TestApi
let browser: Browser
let page: Page
let faults: string[]
let id: string
beforeAll(async () => {
  api = await startApi({ console: await builtConsole(), worker: true })
  browser = await startBrowser()
  id = await made({
    name: 'Come back',
    caption: 'Marked, then waited for',
    status: 'active',
    data: { initiators: [on('left')], steps: STEPS, reentry: false },
  })
  await made({
    name: HOSTILE,
    caption: HOSTILE,
    status: 'paused',
    data: { initiators: [on('left')], steps: [{ id: 'x'.repeat(64), type: 'email', subject: HOSTILE, text: 'x' }] },
  })
  await happen('left', 5)
  await until('the waits', async () => ((await counts()).steps.find(step => step.step_id === 'comes')?.waiting === 5 ? true : undefined))
  await happen('left', 3, 'again')
  await happen('came_back', 2)
  await until('the ends', async () =>
    (await counts()).succeeded === 2 && (await counts()).skipped.already_running === 3 ? true : undefined,
  )
  ;({ page, faults } = await signedIn())
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
beforeEach(() => () => expect(faults).toEqual([]))

const on = (uid: string) => ({ uid, type: 'event' })
async function made(body: object): Promise<string> {
  const answer = await api.call('POST', '/v4/automations', { body })
  expect([answer.status, answer.text]).toEqual([201, answer.text])
  return answer.body.id
}
const happen = (event_name: string, people: number, more = '') =>
  api.call('POST', '/v4/events', {
    body: {
      events: Array.from({ length: people }, (_, n) => ({
        ...{ event_id: `${event_name}-${n}${more}`, event_name, identity_id: `person-${n}`, happened_at: new Date().toISOString() },
        ...(n === 0 && { platform: 'iOS' }),
      })),
    },
  })
type Counts = {
  started: number
  succeeded: number
  unfinished: number
  skipped: Record<string, number>
  steps: { step_id: string; reached: number; waiting: number; branches: Record<string, number> | null }[]
}
const counts = async (): Promise<Counts> =>
  (await api.call('GET', `/v4/automations/${id}/step-counts?version=1`)).body.data[0] ?? { steps: [], skipped: {} }
const stored = async (of = id) => (await api.call('GET', `/v4/automations/${of}`)).body

async function signedIn(role?: 'viewer') {
  const { id: operator, email } = await newOperator(api, { isOwner: role === undefined })
  if (role) await transaction(api.pool, tx => setRole(tx, operator, api.project.id, role))
  const visit = visitor(api.url)
  await visit.signIn(email)
  const opened = await openedPage(browser)
  await opened.page.context().addCookies([...visit.cookies].map(([name, value]) => ({ name, value, url: api.url })))
  await opened.page.emulateMedia({ reducedMotion: 'reduce' })
  await opened.page.goto(`${api.url}/console`)
  await opened.page.locator('#page-title').waitFor()
  opened.page.setDefaultTimeout(8_000)
  return opened
}
const open = async (path: string, selector: string, of = page) => {
  await of.goto(`${api.url}/console${path}`)
  await of.locator(selector).first().waitFor()
}
const title = (text: string) => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor()
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' })

describe('by keyboard', () => {
  test('from the list to an automation, a step, and back; its figures are those of the API', async () => {
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await title('Automations')
    const row = page.locator('tbody tr', { hasText: 'Come back' })
    const { activity } = await stored()
    await expect
      .poll(() => row.locator('td').allTextContents())
      .toEqual([
        'Come backMarked, then waited for',
        '●Active',
        'Left',
        ...[activity.runs, activity.skipped, activity.failed].map(String),
        expect.stringMatching(/ago|now/),
        '1',
      ])
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await title('Come back')
    const { started, succeeded, unfinished, skipped, steps } = await counts()
    const box = (name: string) => page.locator('.box', { hasText: name })
    await box('comes').waitFor()
    expect(await box('Left').innerText()).toContain(`${started} started`)
    expect(await box('Left').innerText()).toContain(`${skipped.already_running} did not start`)
    for (const { step_id, reached, waiting } of steps) {
      expect(await box(step_id).innerText()).toContain(`${reached} reached it`)
      expect((await box(step_id).innerText()).includes(`${waiting} waiting`)).toBe(waiting > 0)
    }
    expect(await box('End').innerText()).toMatch(new RegExp(`${unfinished} under way\\s+${succeeded} succeeded`))
    const ways = (await page.locator('.react-flow__edge-text').allTextContents()).sort()
    const of = (step: string) => steps.find(one => one.step_id === step)!.branches!
    expect(ways).toEqual([`it came ${of('comes').event}`, 'not in time 0', `yes ${of('phone').then} · no ${of('phone').else}`].sort())
    await expect
      .poll(() => page.locator('.automation-reasons').innerText())
      .toMatch(new RegExp(`still under way.*\\s+${skipped.already_running}`))

    await button(/Wait for an event comes/).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Wait for an event: comes' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.textContent')).toContain('comes')
  })

  test('paused at once, and undone', async () => {
    await open(`/automations/${id}`, '.box')
    await page.keyboard.press('p')
    await page.getByText('The automation is paused').waitFor()
    expect(await stored()).toMatchObject({ status: 'paused' })
    await button('Undo').press('Enter')
    await page.getByText('Undone').waitFor()
    expect(await stored()).toMatchObject({ status: 'active' })
  })

  test('changed in a form; what the service refuses stands at its field', async () => {
    await page.keyboard.press('e')
    await title('Edit Come back')
    await page.getByLabel('At most').fill('900')
    await page.getByLabel('Unit').first().selectOption('D')
    await page.keyboard.press('Control+s')
    const field = page.locator('.edit-step [data-path="data.steps[1].timeout"]').first()
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
    await button('data.steps[1].timeout').press('Enter')
    expect(await page.evaluate('document.activeElement.dataset.path')).toBe('data.steps[1].timeout')
    await expectSoundly(page, 'refused fields')
    await page.getByLabel('At most').fill('2')
    await page.keyboard.press('Control+s')
    await title('Come back')
    const now = await stored()
    expect([now.version, now.data.steps[1].timeout]).toEqual([2, 'P2D'])
    await expect
      .poll(() => page.locator('.automation-versions button').allTextContents())
      .toEqual(['Version 2: 0', expect.stringMatching(/^Version 1: \d$/)])
  })

  test('what somebody else has stored meanwhile stands beside, and is not lost', async () => {
    await open(`/automations/${id}/edit?tab=json`, '.edit-json textarea')
    const text = page.getByRole('textbox', { name: 'JSON' })
    const { name, data } = await stored()
    expect((await api.call('PUT', `/v4/automations/${id}`, { body: { name, status: 'active', caption: 'Theirs', data } })).status).toBe(200)
    await text.fill((await text.inputValue()).replace('Marked, then waited for', 'Mine'))
    await page.keyboard.press('Control+s')
    await page.locator('.newer-sides').waitFor()
    expect(await page.locator('.newer-sides mark').allTextContents()).toEqual([
      expect.stringContaining('Theirs'),
      expect.stringContaining('Mine'),
    ])
    await expectSoundly(page, 'newer')
    expect((await stored()).caption).toBe('Theirs')
    await button('Save mine over it').press('Enter')
    await title('Come back')
    expect((await stored()).caption).toBe('Mine')
  })

  test('made, tried on the past, and deleted with its id typed', async () => {
    await open('/automations', 'tbody tr')
    await page.keyboard.press('n')
    await title('New automation')
    await page.getByLabel('Name').fill('Made here')
    await button(/^Events that start it/).press('Enter')
    await page.getByPlaceholder('Type a value').fill('left')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    await button(/^Add a step/).press('Enter')
    await page.getByPlaceholder('Find').fill('wait')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await button('Make it').press('Enter')
    await title('Made here')
    const own = page.url().split('/').at(-1)!.replace(/\?.*/, '')
    expect((await stored(own)).data).toMatchObject({
      initiators: [{ uid: 'left', type: 'event' }],
      steps: [{ id: 'wait', type: 'delay', duration: 'P1D' }],
    })
    await page.getByText('Nothing has started in this range.').waitFor()
    await page.keyboard.press('b')
    await button('Play it').press('Enter')
    const played = (
      await api.call('POST', `/v4/automations/${own}/backtest`, {
        body: { from: new Date(Date.now() - 864e5).toISOString(), to: new Date(Date.now() + 1e3).toISOString() },
      })
    ).body
    await expect
      .poll(() => page.locator('.backtest .pairs').first().innerText())
      .toMatch(new RegExp(`Runs that would have started\\s+${played.runs_started}`))
    await page.keyboard.press('Escape')
    await open(`/automations/${own}?at=delete`, '[role=dialog] .ending-goes')
    expect(await button('Delete for good').isDisabled()).toBe(true)
    await page.getByLabel('Id of the automation').fill(own)
    await expect.poll(() => button('Delete for good').isDisabled()).toBe(false)
    await page.keyboard.press('Enter')
    await title('Automations')
    expect((await api.call('GET', `/v4/automations/${own}`)).status).toBe(404)
  })
})

test('every page is sound in both themes, with hostile texts, on narrow screens, and without a style element', async () => {
  const hostile = (await api.call('GET', '/v4/automations')).body.data.find((one: { name: string }) => one.name === HOSTILE).id
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    for (const [path, selector] of [
      ['/automations', 'tbody tr'],
      [`/automations/${hostile}`, '.box'],
      [`/automations/${id}?at=versions`, '.version'],
      [`/automations/${hostile}/edit`, '.edit-step'],
    ] as const) {
      await open(path, selector)
      expect(await page.title()).not.toBe('taken')
      await expectSoundly(page, `${path} ${theme}`)
    }
  }
  await page.setViewportSize({ width: 390, height: 900 })
  await open(`/automations/${id}`, '.steps-list .box')
  expect(await page.locator('.steps-list > li').count()).toBe(5)
  await page.setViewportSize({ width: 1440, height: 900 })
})

test('a viewer sees all of it, and is told what is for editors', async () => {
  const viewer = await signedIn('viewer')
  await open(`/automations/${id}`, '.box', viewer.page)
  const edit = viewer.page.getByRole('button', { name: 'Edit' })
  expect([await edit.getAttribute('aria-disabled'), await edit.getAttribute('title')]).toEqual(['true', 'needs the role editor'])
  expect(viewer.faults).toEqual([])
  await viewer.page.context().close()
})
