// The documentation in a browser: as a reader uses it, in both themes, on a wide and on a narrow screen.
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { sampled } from '../harness/effort.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** On a new machine the browser is installed first. */
const INSTALL_MS = 300_000

let api: TestApi
let browser: Browser
beforeAll(async () => {
  api = await startApi()
  browser = await startBrowser()
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})

type Shown = { page: Page; requests: string[]; faults: string[] }

async function open(path: string, { theme = 'light', width = 1440 }: { theme?: 'light' | 'dark'; width?: number } = {}): Promise<Shown> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  await page.addInitScript({ path: AXE })
  const [requests, faults]: [string[], string[]] = [[], []]
  page.on('request', request => requests.push(request.url()))
  page.on('pageerror', error => faults.push(String(error)))
  page.on('console', message => message.type() === 'error' && faults.push(message.text()))
  await page.goto(api.url + path)
  return { page, requests, faults }
}

/** What axe finds in the page, one line for each rule. Its script is run as a tool of the browser, which no policy of a page forbids. */
function accessibility(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`axe
    .run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`)
}

const LOOKS = (['light', 'dark'] as const).flatMap(theme =>
  [
    ['/docs', 1440],
    ['/docs', 390],
    ['/docs/walk-through', 1440],
    ['/docs/configuration', 390],
    ['/docs/analytics', 1440],
  ].map(([path, width]) => [path as string, width as number, theme] as const),
)
test.each(
  sampled(LOOKS),
)('%s, %s px wide, in the %s theme: no fault of access, no error, nothing from elsewhere, nothing wider than the screen', async (path, width, theme) => {
  const { page, requests, faults } = await open(path, { theme, width })
  expect(await accessibility(page)).toEqual([])
  expect(requests.filter(url => !url.startsWith(api.url))).toEqual([])
  expect(faults).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0)
  await page.context().close()
})

test('a reader searches, and goes to a section by the keyboard', async () => {
  const { page } = await open('/docs')
  await page.keyboard.press('/')
  await page.keyboard.type('scale out')
  await page.getByRole('option').first().waitFor()
  expect(await accessibility(page)).toEqual([])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/operating#/)
  await page.context().close()
})

test('a reader copies a command', async () => {
  const { page } = await open('/docs/walk-through')
  await page.locator('.copy').first().click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('ALLOW_PRIVATE_NETWORK=true npm start')
  await page.context().close()
})

test('a chosen theme stays', async () => {
  const { page } = await open('/docs', { theme: 'light' })
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  const light = await background()
  await page.locator('#theme').click()
  const dark = await background()
  expect(dark).not.toBe(light)
  await page.goto(`${api.url}/docs/stores`)
  expect(await background()).toBe(dark)
  await page.context().close()
})

describe('the reference', () => {
  const settled = async ({ page, requests, faults }: Shown) => {
    await page.getByRole('heading', { level: 1 }).waitFor()
    // It is drawn in parts, the first of them with the heading.
    await page.evaluate('new Promise(requestIdleCallback)')
    expect(requests.filter(url => !url.startsWith(api.url) && !url.startsWith('data:') && !url.startsWith('blob:'))).toEqual([])
    // One of its libraries tries whether it may compile functions, and does without.
    expect(faults.filter(fault => !fault.includes('unsafe-eval'))).toEqual([])
  }

  test.each(['/docs/api/v3', '/docs/api/sdk'])('%s is drawn, and nothing comes from elsewhere or is refused', async path => {
    const shown = await open(path)
    await settled(shown)
    await shown.page.context().close()
  })

  test('/docs/api is drawn, and shows curl, TypeScript and Python for an operation', async () => {
    const shown = await open('/docs/api')
    const { page } = shown
    await settled(shown)
    // In the page that is drawn: to draw it takes five seconds of a processor.
    await page.goto(`${api.url}/docs/api#tag/users/GET/v4/users/{user_id}`)
    const sample = page.locator('[data-testid="client-picker"]').first()
    await sample.click()
    await page.getByText('TypeScript', { exact: true }).first().waitFor()
    const options = await page.evaluate<string[]>(
      `[...document.querySelectorAll('[role=option]')].map(option => option.textContent.trim())`,
    )
    expect(options).toEqual(['TypeScript', 'Requests', 'Curl'])
    await page.getByText('TypeScript', { exact: true }).first().click()
    const code = () => page.evaluate<string>(`[...document.querySelectorAll('pre code')].map(({ textContent }) => textContent).join()`)
    await expect.poll(code).toContain("import { perennial } from '@perennial/client'")
    await page.context().close()
  })
})
