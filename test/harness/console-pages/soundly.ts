import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectSound } from '../sound-pages.ts'

/** The page before stays until the next one's code is there, and may have the same parts. */
const ARRIVED = `(() => {
  const { state, latestLocation } = __TSR_ROUTER__
  return state.status === 'idle' && state.resolvedLocation?.href === latestLocation.href
})()`

/** Goes to an address within the pages, as a link does, and waits for a part of the page: what was loaded stays loaded. */
export async function go(page: Page, path: string, wait: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console${path}`)})`)
  await expect.poll(() => page.evaluate(ARRIVED), { message: `the page of ${path} is there`, timeout: 15_000 }).toBe(true)
  await page
    .locator(wait)
    .first()
    .waitFor({ timeout: 15_000 })
    .catch(async error => {
      const text = await page.locator('main').innerText()
      throw new Error(`${path} has no ${wait}: ${text.slice(0, 400)}`, { cause: error })
    })
}

export const withSearch = (path: string, more: string): string =>
  path.includes(more) ? path : `${path}${path.includes('?') ? '&' : '?'}${more}`

/** Whatever a page may not do in any state: faults of access, style elements, more width than the screen, text that is cut and not told, text turned round. */
export async function expectSoundly(page: Page, name: string, part?: string): Promise<void> {
  // What is about to be replaced is dimmed.
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  await expectSound(page, name, part)
  expect([name, await page.evaluate(FAULTS)]).toEqual([name, []])
  await page.setViewportSize({ width: 390, height: 900 })
  await page.evaluate(DRAWN)
  expect([name, await page.evaluate(TOO_WIDE)]).toEqual([name, []])
  await page.setViewportSize({ width: 1440, height: 900 })
}

/** A drawing takes a new size in the frame after. */
const DRAWN = 'new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))'

/** What reaches over the right edge and does not scroll in itself. */
const TOO_WIDE = `(() => {
  const root = document.documentElement
  if (root.scrollWidth <= root.clientWidth) return []
  return [...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > root.clientWidth + 1)
    .map(one => one.tagName + '.' + one.className).slice(0, 8)
})()`

const FAULTS = `(() => {
  const found = []
  if (document.querySelector('style')) found.push('a style element')
  if (document.title.includes('stolen')) found.push('a script of data ran')
  if (Object.hasOwn(Object.prototype, 'polluted')) found.push('a prototype was changed')
  const isText = one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '')
  for (const one of document.querySelectorAll('body *')) {
    if (one.scrollWidth <= one.clientWidth + 1 || one.clientWidth === 0 || !isText(one)) continue
    const { overflowX, textOverflow } = getComputedStyle(one)
    if (overflowX === 'visible' || overflowX === 'auto' || overflowX === 'scroll' || one.matches('.unseen, input, textarea')) continue
    if (textOverflow !== 'ellipsis' || !one.closest('[title], [aria-label]')) found.push('cut: ' + one.tagName + '.' + one.className + ' ' + one.textContent.slice(0, 30))
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.data.includes('\\u202E') || node.parentElement.closest('svg, .unseen')) continue
    let whole = node.parentElement
    const isApart = one => { const { display, unicodeBidi } = getComputedStyle(one); return display !== 'inline' || /isolate|plaintext/.test(unicodeBidi) }
    while (!isApart(whole)) whole = whole.parentElement
    const after = document.createRange()
    after.setStart(node, node.data.indexOf('\\u202E') + 8)
    after.setEnd(whole, whole.childNodes.length)
    const behind = after.cloneContents()
    for (const other of behind.querySelectorAll('svg, button')) other.remove()
    // Where lines are kept, it ends with its line; what closes it in JSON may stand on either side.
    const kept = getComputedStyle(whole).whiteSpace.startsWith('pre') ? behind.textContent.split('\\n')[0] : behind.textContent
    if (/[^\\s",}\\]]/.test(kept)) found.push('turned round: ' + kept.slice(0, 30) + ' in ' + whole.tagName + '.' + whole.className)
  }
  return [...new Set(found)].slice(0, 12)
})()`
