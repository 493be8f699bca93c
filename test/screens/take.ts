// `npm run screens` takes the pictures of the console in docs/screens: a service on an empty folder, a made-up app, one operator, a clock that stands.
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { connect } from '../../store/connect.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { run } from '../harness/process.ts'
import { NOW } from './northwind.ts'
import { withPalette } from './palette-png.ts'
import { SCREENS, type Screen, type Seeded } from './screens.ts'
import { seedNorthwind, setClock } from './seed.ts'
import type { Call } from './story.ts'

const FOLDER = new URL('../../docs/screens/', import.meta.url).pathname
const PASSWORD = randomBytes(12).toString('hex')
const KEY = `sk_${randomBytes(20).toString('hex')}`
/** A README with pictures of a megabyte would be slow. */
const MOST_BYTES = 90_000

const undo: (() => Promise<unknown>)[] = []
try {
  await builtConsole()
  const dataDir = await mkdtemp(join(tmpdir(), 'perennial-screens-'))
  undo.push(() => rm(dataDir, { recursive: true, force: true }))
  const receiver = createServer((request, answer) => void request.resume().on('end', () => answer.end())).listen(0, '127.0.0.1')
  undo.push(async () => receiver.close().closeAllConnections())
  const env = {
    ...{ DATA_DIR: dataDir, PORT: '0', CONSOLE: '', LOG_LEVEL: 'warn', ALLOW_PRIVATE_NETWORK: 'true' },
    ...{ BOOTSTRAP_SECRET_KEY: KEY, BOOTSTRAP_PROJECT_KEY: 'p'.repeat(32) },
    ...{ RATE_LIMIT_PER_SECOND: '10000', RATE_LIMIT_BURST: '10000' },
  }
  const service = await run({ env })
  undo.push(() => service.end())
  const embedded = await startEmbedded({ dataDir, log: console.error })
  undo.push(() => embedded.stop())
  const pool = connect({ url: embedded.url, max: 4 })
  undo.push(() => pool.end())
  const { rows } = await pool.query<{ id: number }>("select id from environments where kind = 'production'")
  const environment = rows[0]!.id
  const port = (receiver.address() as AddressInfo).port
  const seeded = await seedNorthwind({ pool, environment, call: callOf(service.url), receiver: `http://127.0.0.1:${port}/billing` })
  const browser = await startBrowser()
  undo.push(() => browser.close())
  const link = (await readFile(join(dataDir, 'first-operator'), 'utf8')).trim()
  await takeAll(browser, { url: service.url, link, seeded, standStill: () => setClock(pool, environment, NOW) })
} finally {
  for (const step of undo.reverse()) await step().catch(error => console.error(error))
}

function callOf(url: string): Call {
  return async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { Authorization: `Bearer ${KEY}`, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 400)}`)
    const parsed = text === '' ? undefined : JSON.parse(text)
    const rejected = parsed?.results?.find(({ status }: { status: string }) => status === 'rejected')
    if (rejected) throw new Error(`${path}: ${JSON.stringify(rejected)}`)
    return parsed
  }
}

type Shown = { url: string; link: string; seeded: Seeded; standStill: () => Promise<unknown> }

async function takeAll(browser: Browser, { url, link, seeded, standStill }: Shown): Promise<void> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await signUp(page, link)
  await page.clock.setFixedTime(NOW)
  for (const screen of SCREENS) {
    await standStill()
    await page.setViewportSize({ width: screen.width ?? 1440, height: screen.width ? 844 : 900 })
    await page.emulateMedia({ colorScheme: screen.theme ?? 'light' })
    await page.goto(`${url}/console${screen.path(seeded)}`)
    await take(page, screen)
  }
}

async function signUp(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('E-mail address').fill('ada@example.org')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByLabel('The same password again').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL(/console\b(?!.first)/)
}

async function take(page: Page, { name, until, then }: Screen): Promise<void> {
  await page.locator(until).first().waitFor()
  await then?.(page)
  // Nothing waits, and two frames are drawn.
  await page.locator('[aria-busy=true], .waits, .bars').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready.then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))')
  const picture = withPalette(await page.screenshot())
  await writeFile(`${FOLDER}${name}.png`, picture)
  console.log(`${name}: ${Math.ceil(picture.length / 1000)} kB`)
  if (picture.length > MOST_BYTES) throw new Error(`${name}.png has more than ${MOST_BYTES} bytes`)
}
