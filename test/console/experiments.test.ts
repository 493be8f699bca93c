// Configurations and experiments in a browser, as operators use them: by keyboard, with the numbers of the API.
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

let api: TestApi
let make: ReturnType<typeof growth>
let browser: Browser
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  make = growth(api)
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
  await on.locator(selector).first().waitFor()
}
const button = (name: string | RegExp, on: Pick<Page, 'getByRole'> = page) =>
  on.getByRole('button', { name, exact: typeof name === 'string' })
/** A button that waits for what the service says of its dry run. */
const pressOnceReady = async (name: string) => {
  await expect.poll(() => button(name, dialog()).isEnabled()).toBe(true)
  await button(name, dialog()).press('Enter')
}
const dialog = () => page.getByRole('dialog')
/** The first answer of an address reaches the page only when what is returned is called. */
async function heldFirst(path: string) {
  let letGo = () => {}
  const released = new Promise<void>(resolve => (letGo = resolve))
  await page.route(
    ({ pathname }) => pathname.endsWith(path),
    async route => {
      const response = await route.fetch()
      await released
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  return letGo
}
const read = async (path: string) => {
  const answer = await api.call('GET', path)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
const inBothThemes = async (name: string) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectSound(page, `${name}-${colorScheme}`)
  }
  await page.setViewportSize({ width: 390, height: 900 })
  await expectSound(page, `${name}-narrow`)
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
}

let config: string
let person: string

test('a configuration is made and its payload typed by keys, with what would change before it is stored', async () => {
  await open('/configurations', '.empty')
  await page.keyboard.press('n')
  await dialog().getByLabel(/^Name/).waitFor()
  await page.keyboard.type('Autumn paywall')
  await page.keyboard.press('Tab')
  await page.keyboard.type('main_paywall')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/configurations\/[0-9a-f-]{36}/)
  config = /configurations\/([0-9a-f-]+)/.exec(page.url())![1]!
  await page.getByText('The payload is empty').waitFor()
  await page.keyboard.press('p')
  await button('Add a key').press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Key')
  await page.keyboard.type('discount')
  await page.getByLabel('Type').selectOption('Number')
  await page.getByLabel('Value').fill('a lot')
  await page.getByText('No number.').waitFor()
  expect(await button('Save the payload').isDisabled()).toBe(true)
  await page.getByLabel('Value').fill('20')
  expect(await page.locator('.payload-diff li').allTextContents()).toEqual(['+discountafter: 20', '+discount, typeafter: "Number"'])
  await expectSound(page, 'payload-fields')
  // The same as JSON; what is no JSON says where.
  await page.getByRole('radio', { name: 'JSON' }).press('Space')
  const json = page.getByLabel('JSON of the payload')
  await json.fill('{\n  "discount": 20\n  "title": "Autumn"\n}')
  await page.getByText('Line 3, column 3').waitFor()
  await expectSound(page, 'payload-json')
  await json.fill('{ "discount": 20, "title": "Autumn" }')
  await button('Save the payload').press('Enter')
  await page.locator('.payload dd', { hasText: 'Autumn' }).waitFor()
  expect((await read(`/v4/remote-configurations/${config}`)).payload).toEqual({ discount: 20, title: 'Autumn' })
  expect((await read(`/v4/remote-configurations/${config}/payload-mapping`)).data).toEqual({ discount: 'Number' })
})

test('what somebody else stored meanwhile is shown beside, and an undo does not take it away', async () => {
  const path = `/v4/remote-configurations/${config}/payload`
  await page.keyboard.press('p')
  await page.getByLabel('Value').first().fill('30')
  await make.call('PUT', path, { data: { discount: 20, title: 'Theirs' } })
  await button('Save the payload').press('Enter')
  await page.getByRole('alert').getByText('title: now "Theirs"').waitFor()
  await button('Save mine').press('Enter')
  await page.locator('.payload dd', { hasText: '30' }).waitFor()
  expect((await read(path)).data).toEqual({ discount: 30, title: 'Autumn' })
  await make.call('PUT', path, { data: { discount: 40 } })
  await button('Undo').last().press('Enter')
  await page.getByText('somebody has changed it since then', { exact: false }).waitFor()
  expect((await read(path)).data).toEqual({ discount: 40 })
})

test('it is activated, a person is pinned, and one sees what they would get without recording it', async () => {
  await page.reload()
  person = await make.user()
  expect((await make.call('POST', '/v4/identities', { user_id: person, identity_id: 'ada-lovelace' })).status).toBeLessThan(300)
  await button('Activate').press('Enter')
  await pressOnceReady('Activate it')
  await dialog().waitFor({ state: 'detached' })
  await page.locator('.page-head .status', { hasText: 'Active' }).waitFor()
  await page.getByLabel('Pin a person').fill('ada-lovelace')
  await page.keyboard.press('Enter')
  await button(`Unpin ${person}`).waitFor()
  expect((await read(`/v4/remote-configurations/${config}/users`)).data.map((user: { id: string }) => user.id)).toEqual([person])
  await inBothThemes('configuration')
  await button(`Unpin ${person}`).press('Enter')
  await page.getByText('Nobody yet.').waitFor()
  await button('Undo').last().press('Enter')
  await button(`Unpin ${person}`).waitFor()
  await button('What would somebody get?').press('Enter')
  await dialog().getByLabel('Person').fill('ada-lovelace')
  await page.keyboard.press('Enter')
  await dialog().getByText('Pinned').waitFor()
  expect(JSON.parse(await dialog().locator('pre').innerText())).toEqual({ discount: 40 })
  await expectSound(page, 'served')
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
  await open('/configurations', '[data-row]')
  await inBothThemes('configurations')
})

let experiment: string

test('an experiment says what it lacks, gets groups, and starts', async () => {
  await open('/experiments', '.empty')
  await page.keyboard.press('n')
  await dialog().getByLabel(/^Name/).waitFor()
  await page.keyboard.type('Annual first?')
  expect(
    await dialog()
      .getByLabel(/^Own id/)
      .inputValue(),
  ).toBe('annual-first')
  await dialog()
    .getByLabel(/^Context key/)
    .fill('offer')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/experiments\/exp_/)
  experiment = /exp_\w+/.exec(page.url())![0]
  await page.getByText('an active experiment needs at least two groups').waitFor()
  for (const [name, add] of [
    ['Today', 'Add the first group'],
    ['Annual', 'Add a group'],
  ] as const) {
    await button(add).press('Enter')
    await dialog().getByLabel('Name').fill(name)
    if (name === 'Annual') {
      await dialog()
        .getByLabel(/^Weight/)
        .fill('3')
      await button(/^Configuration/, dialog()).press('Enter')
      await page.getByRole('option', { name: 'Autumn paywall' }).click()
    }
    await button('Add the group', dialog()).press('Enter')
    await dialog().waitFor({ state: 'detached' })
    await page.locator('.experiment-groups-list li', { hasText: name }).waitFor()
  }
  await page.getByText('It cannot start yet').waitFor({ state: 'detached' })
  const { data } = await read(`/v4/experiments/${experiment}/groups`)
  expect(data.map((group: { is_control: boolean; share: number }) => [group.is_control, group.share])).toEqual([
    [true, 25],
    [false, 75],
  ])
  expect(await page.locator('.experiment-groups-list data').allInnerTexts()).toEqual(['25 %', '75 %'])
  await button('Start').press('Enter')
  await pressOnceReady('Start it')
  await page.locator('.page-head .status', { hasText: 'Active' }).waitFor()
  expect(await button('Add a group').getAttribute('title')).toBe('groups come and go in a draft only')
})

test('its results are those of the API; somebody is pinned and unpinned', async () => {
  const people = await Promise.all(Array.from({ length: 12 }, () => make.user()))
  for (const user of people) await make.evaluate(user, { context_keys: ['offer'] })
  const { data: groups } = await read(`/v4/experiments/${experiment}/groups`)
  const answerFirst = await heldFirst('/experiments/summary')
  await page.reload()
  await page.getByLabel('Pin to the group').selectOption(groups[1].id)
  await page.getByLabel('Pin a person').fill('ada-lovelace')
  await page.keyboard.press('Enter')
  await button(`Unpin ${person}`).waitFor()
  // The page was answered before the pin, and hears it after.
  answerFirst()
  const [summary] = (await read(`/v4/experiments/summary?filter[experiment_uid][]=${experiment}`)).data
  expect(summary.groups.map((group: { users: number }) => group.users).reduce((a: number, b: number) => a + b)).toBe(13)
  const row = (n: number) => page.locator('.experiment-results tbody tr').nth(n).locator('td').nth(1).locator('data')
  for (const [n, group] of summary.groups.entries())
    await expect.poll(() => row(n).getAttribute('value'), { timeout: 10_000 }).toBe(String(group.users))
  await page.getByText('Too few people yet').waitFor()
  await inBothThemes('experiment')
  await button(`Unpin ${person}`).press('Enter')
  await page.getByText('Nobody is pinned', { exact: false }).waitFor()
  await button('Undo').last().press('Enter')
  await button(`Unpin ${person}`).waitFor()
  await button('All').press('Enter')
  await expect.poll(() => button(/^(Unpin|Take) /).count()).toBe(13)
})

test('it is paused and goes on; it ends with its id, and with the password of the last minutes alone', async () => {
  const state = async () => (await read(`/v4/experiments/${experiment}`)).status
  await button('Pause').press('Enter')
  await button('Go on').waitFor()
  expect(await state()).toBe('paused')
  await button('Undo').last().press('Enter')
  await button('Pause').waitFor()
  expect(await state()).toBe('active')
  // While it runs, its configuration cannot be archived: the experiment stands there.
  await open(`/configurations/${config}?at=archive`, '[role=dialog] .fault')
  await dialog().getByRole('link', { name: 'Annual first?' }).press('Enter')
  await button('End').press('Enter')
  await dialog().getByLabel('Id of the experiment').fill('exp_another')
  expect(await button('End it for good', dialog()).isDisabled()).toBe(true)
  await expectSound(page, 'experiment-end')
  // Signed in some time ago.
  await api.pool.query("update operator_sessions set authenticated_at = now() - interval '1 hour'")
  await dialog().getByLabel('Id of the experiment').fill(experiment)
  await pressOnceReady('End it for good')
  await dialog().getByRole('link', { name: 'It is me' }).waitFor()
  expect(await state()).toBe('active')
  await api.pool.query('update operator_sessions set authenticated_at = now()')
  await page.reload()
  await dialog().getByLabel('Id of the experiment').fill(experiment)
  await pressOnceReady('End it for good')
  await page.locator('.page-head .status', { hasText: 'Finished' }).waitFor()
  expect(await state()).toBe('finished')
  await open('/experiments', '[data-row]')
  await page.locator('.experiment-groups data').first().waitFor()
  await inBothThemes('experiments')
})

test('a viewer is told which role it needs; what is not here says so', async () => {
  const { page: own, faults: others } = await signedIn('viewer')
  await open(`/configurations/${config}?at=served`, '[role=dialog] .notice', own)
  await open(`/configurations/${config}`, '.payload', own)
  for (const name of ['Edit the payload', 'Archive', 'Delete', 'Edit']) {
    const act = button(name, own).first()
    expect([name, await act.getAttribute('aria-disabled'), await act.getAttribute('title')]).toEqual([
      name,
      'true',
      'needs the role editor',
    ])
  }
  await expectSound(own, 'configuration-viewer')
  await open('/configurations/none', '.empty', own)
  await open('/experiments/exp_none', '.empty', own)
  expect(others.filter(fault => !/^Failed to load/.test(fault))).toEqual([])
  await own.context().close()
})
