import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
/** On a new machine the browser is installed first. */
export const INSTALL_MS = 300_000
/** A folder for pictures of the pages, for somebody who looks at them. */
const PICTURES = process.env.TEST_PICTURES

export type Look = { theme?: 'light' | 'dark'; width?: number; script?: boolean }

/** A page with cookies of its own. `faults`: errors of its scripts, and what its policy has refused. */
export async function openedPage(browser: Browser, { theme = 'light', width = 1440, script = true }: Look = {}) {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 900 }, javaScriptEnabled: script })
  const page = await context.newPage()
  if (script) await page.addInitScript({ path: AXE })
  const faults: string[] = []
  page.on('pageerror', error => faults.push(String(error)))
  page.on('console', message => message.type() === 'error' && !/status of 4\d\d/.test(message.text()) && faults.push(message.text()))
  return { page, faults }
}

/** How much on a page is about to change: what fades in, and what is dimmed until it was read again. Its colours are not those that stay. */
const MOVING = `document.querySelectorAll('.stale').length
  + document.getAnimations().filter(({ playState, effect }) => playState === 'running' && effect.getTiming().iterations !== Infinity).length`

/** The page, or the part of it that a selector names, has no fault of access, and nothing is wider than the screen. After a click the caller waits for something of the new page. */
export async function expectSound(page: Page, name: string, part?: string): Promise<void> {
  await page.waitForLoadState()
  await expect.poll(() => page.evaluate(MOVING), { timeout: 10_000 }).toBe(0)
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage: true })
  const violations = await page.evaluate<string[]>(`axe
    .run(${part === undefined ? 'document' : JSON.stringify(part)}, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`)
  expect([name, violations]).toEqual([name, []])
  expect([name, await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')]).toEqual([name, 0])
}
