// Every page of the console in every state: full of hostile texts, empty, slow, refused, failed.
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { type ConsolePage, consolePages } from '../harness/console-pages/pages.ts'
import { expectSoundly, go, withSearch } from '../harness/console-pages/soundly.ts'
import { tellHostile } from '../harness/console-pages/tell.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { INSTALL_MS, openedPage } from '../harness/sound-pages.ts'

let api: TestApi
let browser: Browser
let pages: ConsolePage[]
let page: Page
let faults: string[]
beforeAll(async () => {
  api = await startApi({ console: await builtConsole() })
  browser = await startBrowser()
  pages = consolePages(await tellHostile(api))
  ;({ page, faults } = await signedIn('admin', { isOwner: true }))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
afterEach(async () => {
  await page.unrouteAll()
  await page.context().setOffline(false)
  expect(faults.splice(0).filter(fault => !NETWORK.test(fault))).toEqual([])
})

/** A page that says in its console what its policy has refused. */
async function signedIn(role: 'viewer' | 'admin', { isOwner = false } = {}) {
  const { id, email } = await newOperator(api, { isOwner })
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const visit = visitor(api.url)
  await visit.signIn(email)
  const opened = await openedPage(browser)
  const cookies = [...visit.cookies].map(([name, value]) => ({ name, value, url: api.url }))
  await opened.page.context().addCookies(cookies)
  await opened.page.addInitScript(
    `addEventListener('securitypolicyviolation', event => console.error('refused: ' + event.violatedDirective + ' ' + event.sample))`,
  )
  opened.page.on('dialog', dialog => {
    opened.faults.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await opened.page.emulateMedia({ reducedMotion: 'reduce' })
  await opened.page.goto(`${api.url}/console`)
  await opened.page.locator('#page-title').waitFor()
  return opened
}

/** Without the tabs of a page. */
const whole = () => pages.filter(({ isTab }) => !isTab)
/** The requests of a page; not the session, and not the stream of changes. */
const REQUESTS = /\/console\/api\/(\d+\/\w+\/v4|status|operators|grants)/
const FAULT = '.fault'
/** What a browser says of an answer that is a failure. */
const NETWORK = /^Failed to load resource/
const WAIT = { timeout: 20_000 }
const LONG = { timeout: 240_000 }

describe('full', () => {
  test('every page has hostile texts as texts', LONG, async () => {
    for (const { name, path, full } of pages) {
      await go(page, path, full)
      await expectSoundly(page, name)
    }
  })

  test('the drawers of every page', LONG, async () => {
    for (const { name, path, full, drawers } of pages)
      for (const drawer of drawers) {
        await go(page, path, full)
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await go(page, withSearch(path, drawer), '[role=dialog]')
        await expectSoundly(page, `${name} ${drawer}`, '[role=dialog]')
      }
  })

  test('the menus and lists of every page open and close', LONG, async () => {
    for (const { path, full } of pages) {
      await go(page, path, full)
      const menus = page.locator('main button[aria-haspopup]')
      for (let n = 0; n < (await menus.count()); n++) {
        await menus.nth(n).click()
        await page.locator('main button[aria-expanded=true]').waitFor()
        // It closes by the key once the focus is in it.
        await expect
          .poll(async () => {
            await page.keyboard.press('Escape')
            return [path, n, await page.locator('main button[aria-expanded=true]').count()]
          }, WAIT)
          .toEqual([path, n, 0])
      }
    }
  })

  test('every page is left for every other one', LONG, async () => {
    await page.evaluate(TOUR(whole()))
    expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0)
  })
})

test('empty: every page says what would stand there', LONG, async () => {
  for (const { name, path, empty } of pages) {
    await go(page, withSearch(path, 'env=sandbox'), empty)
    await expectSoundly(page, `${name}, empty`)
  }
})

test('slow: every page has the shape of what comes, then that', LONG, async () => {
  for (const { name, path, full } of whole()) {
    const held: Route[] = []
    await page.route(REQUESTS, route => void held.push(route))
    await page.goto(`${api.url}/console${path}`)
    // A page of the sandbox waits for the clock of the frame.
    await page.locator(path.includes('env=sandbox') ? '#content h1' : '#page-title').waitFor()
    await expect.poll(() => held.length, WAIT).toBeGreaterThan(0)
    await expectSoundly(page, `${name}, slow`)
    expect([name, await page.locator('main').locator(full).count()]).toEqual([name, 0])
    await page.unroute(REQUESTS)
    // Those that the page has given up meanwhile are gone.
    for (const route of held) await route.continue().catch(() => {})
    await page.locator(full).first().waitFor()
  }
})

describe('failed', () => {
  test('with 500: the code, the id of the request, and all of it after another try', LONG, async () => {
    // The tab of people reads nothing.
    for (const { name, path, full } of pages.filter(({ name }) => name !== 'people')) {
      await page.route(REQUESTS, route => route.fulfill({ status: 500, headers: { 'X-Request-Id': 'req-4711' }, json: BROKEN }))
      await page.goto(`${api.url}/console${path}`)
      await page.locator(FAULT).first().waitFor()
      await expectSoundly(page, `${name}, 500`)
      for (const text of await page.locator(FAULT).allTextContents())
        expect([name, text]).toEqual([name, expect.stringMatching(/It broke\. internal_error request req-4711.*Try again/)])
      await page.unroute(REQUESTS)
      await expect
        .poll(async () => {
          for (const again of await page.locator(FAULT).getByRole('button', { name: 'Try again' }).all())
            await again.click({ timeout: 1_000 }).catch(() => {})
          return page.locator(FAULT).count()
        }, WAIT)
        .toBe(0)
      await page.locator(full).first().waitFor()
    }
  })

  test('with 504 of a proxy: asked three times, then said', LONG, async () => {
    const { page: own, faults } = await signedIn('admin', { isOwner: true })
    await own.clock.install()
    const asked: string[] = []
    await own.route(REQUESTS, route => {
      asked.push(route.request().url())
      return route.fulfill({ status: 504, contentType: 'text/html', body: '<html><h1>504 Gateway Time-out</h1></html>' })
    })
    for (const { name, path } of whole()) {
      asked.splice(0)
      await own.goto(`${api.url}/console${path}`)
      for (const times of [1, 2, 3]) {
        await expect.poll(() => asked.filter(url => url === asked[0]).length, WAIT).toBe(times)
        await own.clock.runFor(2_000)
      }
      await own.locator(FAULT).getByText('The service answered 504.').first().waitFor()
      await expectSoundly(own, `${name}, 504`)
    }
    expect(faults.filter(fault => !NETWORK.test(fault))).toEqual([])
    await own.context().close()
  })
})

test('a tab from before an upgrade says so where the script of a page is gone, and loads what there is now', async () => {
  const { page: own } = await signedIn('admin')
  const loaded = new Set(await own.evaluate<string[]>(`performance.getEntriesByType('resource').map(one => one.name)`))
  const scripts = /\/console\/assets\/.*\.js/
  await own.route(scripts, route => (loaded.has(route.request().url()) ? route.continue() : route.fulfill({ status: 404, body: '' })))
  await own.evaluate(`history.pushState(null, '', '/console/charts/sales')`)
  await own.getByText('The service is away, or was upgraded since this tab was opened.').waitFor()
  await own.unroute(scripts)
  await own.getByRole('button', { name: 'Try again' }).click()
  await own.locator('.numbers tbody tr').first().waitFor()
  await own.context().close()
})

test('a viewer reads every page and is told what is for others', LONG, async () => {
  const { page: own, faults } = await signedIn('viewer')
  const refused = new Set<string>()
  own.on('response', response => response.status() >= 400 && refused.add(`${response.status()} ${new URL(response.url()).pathname}`))
  for (const { name, path, full } of pages) {
    const isOpen = !['settings', 'keys', 'stores', 'status'].includes(name)
    await go(own, path, isOpen ? full : 'main :is(.fault, .empty, [role=alert], [aria-disabled=true])')
    await expectSoundly(own, `${name}, viewer`)
  }
  expect(faults.filter(fault => !NETWORK.test(fault))).toEqual([])
  // What a viewer asks for and may not read is the page of settings alone.
  expect([...refused].filter(text => !/^403 .*(project-settings|api-keys|audit-log|operators|grants|stores)/.test(text))).toEqual([])
  await own.context().close()
})

test('without an answer what was read stays below the failure, and without a network nothing can be changed', async () => {
  const rows = page.locator('.numbers tbody tr')
  await go(page, '/charts/sales?range=28d&tz=UTC', '.numbers tbody tr')
  const before = await rows.allTextContents()
  await page.route(REQUESTS, route => route.abort())
  // Another question, as the same one is a minute later.
  await page.keyboard.press('[')
  await page.locator(FAULT).first().waitFor()
  expect(await rows.allTextContents()).toEqual(before)
  await page.unroute(REQUESTS)
  // The page before has a table, too, and stays until the code of this one is there.
  await go(page, '/automations', '.page:has(:text("New automation")) tbody tr')
  await page.context().setOffline(true)
  await page.getByText(/^No network\. What you see was read before \d/).waitFor()
  const make = page.getByRole('button', { name: 'New automation' })
  expect([await make.getAttribute('aria-disabled'), await make.getAttribute('title')]).toEqual(['true', 'there is no network'])
  expect(await page.locator('tbody tr').count()).toBeGreaterThan(0)
  await page.context().setOffline(false)
  await expect.poll(() => make.getAttribute('aria-disabled'), WAIT).toBe(null)
})

test('without a worker the status is not good, also while nothing is overdue yet', async () => {
  await go(page, '/status', '.verdict')
  expect(await page.locator('.verdict.warn').innerText()).toMatch(/Something needs a look\.\s+No worker was seen in the last minute\./)
})

test('what is typed before a list has come is no choice: it may be the name of what the list has', async () => {
  const held: Route[] = []
  const segments = /\/v4\/segments\?/
  await page.route(segments, route => void held.push(route))
  await go(page, '/automations/new', '#page-title')
  await page.getByRole('button', { name: /^Segment of the person/ }).click()
  await page.getByRole('textbox', { name: 'Find in Segment of the person' }).fill('seg_typed')
  const list = page.locator('.pick-options:visible')
  await list.getByText('Loading').waitFor()
  expect(await list.getByRole('option').count()).toBe(0)
  await page.unroute(segments)
  for (const route of held) await route.continue().catch(() => {})
  await list.getByRole('option', { name: 'seg_typed' }).waitFor()
  await page.keyboard.press('Escape')
})

describe('a write that is refused', () => {
  const forms: [name: string, path: () => string, open: (page: Page) => Promise<void>, send: string, kept: string][] = [
    ['a view', () => '/charts/sales?range=28d&tz=UTC', keep('Save this view', 'Name'), 'Save', 'My own text'],
    ['an annotation', () => '/charts/sales?range=28d&tz=UTC', keep('Annotate', 'What happened'), 'Annotate', 'My own text'],
    ['an event', () => '/events', post, 'Post to production', 'my_own_text'],
  ]

  test.each(
    forms,
  )('with 409: %s says so and keeps what was typed; without a network it cannot be sent', async (name, path, open, send, kept) => {
    const writes: string[] = []
    await page.goto(`${api.url}/console${path()}`)
    await page.locator('#page-title').waitFor()
    await open(page)
    const dialog = page.getByRole('dialog')
    const act = () => dialog.getByRole('button', { name: send, exact: true }).click()
    await page.route(REQUESTS, route => {
      if (route.request().method() === 'GET') return route.continue()
      writes.push(route.request().headers()['idempotency-key'] ?? '')
      return route.fulfill({ status: 409, headers: { 'X-Request-Id': 'req-4711' }, json: CONFLICT })
    })
    await act()
    await dialog.getByRole('alert').getByText('This is not possible in its present state').waitFor()
    expect(await dialog.getByRole('alert').textContent()).toContain('It is there. conflict request req-4711')
    await expectSoundly(page, `${name}, 409`, '[role=dialog]')
    await act()
    // After a refusal it is another request: to the same key the service would repeat what it said.
    await expect.poll(() => writes.length, WAIT).toBe(2)
    expect(writes[1]).not.toBe(writes[0])
    await page.context().setOffline(true)
    const button = dialog.getByRole('button', { name: send, exact: true })
    await expect.poll(() => button.getAttribute('title'), WAIT).toBe('there is no network')
    expect(await button.getAttribute('aria-disabled')).toBe('true')
    // Neither the button nor Enter in a field sends anything.
    await button.click({ force: true })
    await dialog.getByRole('textbox').first().press('Enter')
    expect([writes.length, await dialog.getByRole('textbox').first().inputValue()]).toEqual([2, kept])
    await page.unroute(REQUESTS)
    await page.keyboard.press('Escape')
    await page.context().setOffline(false)
    await page.getByText('No network.').waitFor({ state: 'detached' })
  })
})

/** Opens a form of the menu *Keep* of a chart and types into it. */
function keep(item: string, field: string) {
  return async (page: Page) => {
    await page.getByRole('button', { name: 'Keep' }).click()
    await page.getByRole('menuitem', { name: item }).click()
    await page.getByRole('dialog').getByLabel(field).fill('My own text')
  }
}
async function post(page: Page) {
  await page.getByRole('button', { name: 'Post a test event' }).click()
  await page.getByRole('dialog').getByLabel(/^Name/).fill('my_own_text')
}

const CONFLICT = { error: { type: 'request', code: 'conflict', message: 'It is there.' } }
const BROKEN = { error: { type: 'internal', code: 'internal_error', message: 'It broke.' } }

/** Walks through all pages so that each is left for each other one. Runs in the page. */
const TOUR = (all: ConsolePage[]) => `(async () => {
  const pages = ${JSON.stringify(all.map(({ path, full }) => ({ path, full })))}
  const visit = async ({ path, full }) => {
    history.pushState(null, '', '/console' + path)
    for (let n = 0; n < 600; n++) {
      await new Promise(drawn => requestAnimationFrame(drawn))
      if (document.querySelector('#content ' + full)) return
    }
    throw new Error(path + ' does not show ' + full)
  }
  for (const [n, one] of pages.entries())
    for (const other of pages.slice(n + 1)) {
      await visit(one)
      await visit(other)
    }
  await visit(pages[0])
})()`
