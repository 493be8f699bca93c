// Every page of the console in every state: full of hostile texts, empty, slow, refused, failed, offline.
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { builtConsole } from '../harness/built-console.ts'
import { type ConsolePage, consolePages, expectSoundly, go, HOSTILE, tellHostile, withSearch } from '../harness/console-pages.ts'
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
  ;({ page, faults } = await signedIn('admin'))
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})
afterEach(() => expect(faults.splice(0).filter(fault => !/^Failed to load resource/.test(fault))).toEqual([]))

/** A page that says in its console what its policy has refused. */
async function signedIn(role: 'viewer' | 'admin') {
  const { id, email } = await newOperator(api)
  await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const visit = visitor(api.url)
  await visit.signIn(email)
  const opened = await openedPage(browser)
  const cookies = [...visit.cookies].map(([name, value]) => ({ name, value, url: api.url }))
  await opened.page.context().addCookies(cookies)
  await opened.page.addInitScript(`addEventListener('securitypolicyviolation', event => console.error('refused: ' + event.violatedDirective + ' ' + event.sample))`)
  opened.page.on('dialog', dialog => (opened.faults.push(`a dialog: ${dialog.message()}`), dialog.dismiss()))
  await opened.page.goto(`${api.url}/console`)
  await opened.page.locator('#page-title').waitFor()
  return opened
}

/** The reads of a page; not the stream of changes. */
const READS = /\/console\/api\/(\d+\/\w+\/v4|status)/

describe('full', () => {
  test('every page has hostile texts as texts', async () => {
    for (const { name, path, full } of pages) {
      await go(page, path, full)
      await expectSoundly(page, name)
    }
  })
})
