import type { Locator, Page } from 'playwright-core'

/** For so long somebody holds a button of the mouse down. The page may use the time; what is measured begins when the button is let go. */
const PRESS_MS = 70

/**
 * ms from the beginning until the picture is painted, and its parts: until it is asked for (negative: before the beginning), the answer, reading its
 * JSON, drawing.
 */
export type ChartTime = { total: number; asked: number; answer: number; parse: number; draw: number }
type Seen = { from: number; parse: number; parsedAt: number; drawnAt: number; framedAt: number }
type Answer = { asked: number; answer: number }

async function chartTime(page: Page): Promise<ChartTime> {
  const { from, parse, parsedAt, drawnAt } = (await page.evaluate("window.bench.when('drawnAt')")) as Seen
  const { asked, answer } = (await page.evaluate('window.bench.answer()')) as Answer
  return { total: drawnAt - from, asked: asked - from, answer, parse, draw: drawnAt - Math.max(parsedAt, from) }
}

/** From the beginning of a navigation. The browser has the files of the console. */
export async function navigate(page: Page, url: string): Promise<ChartTime> {
  await page.goto(url, { waitUntil: 'commit' })
  return chartTime(page)
}

/** From a click on what changes the chart. */
export async function change(page: Page, control: Locator): Promise<ChartTime> {
  await page.evaluate('window.bench.look()')
  await control.click({ delay: PRESS_MS })
  return chartTime(page)
}

/** ms from a click in the navigation until the next page is painted; what it asks for comes later. */
export async function turnTo(page: Page, title: string): Promise<number> {
  const link = page.locator('nav').getByRole('link', { name: title, exact: true }).first()
  await page.evaluate(`window.bench.look('${title}')`)
  await link.click({ delay: PRESS_MS })
  const { from, framedAt } = (await page.evaluate("window.bench.when('framedAt')")) as Seen
  return framedAt - from
}

/** The tasks of the page over 50 ms, in ms, since they were asked for last. */
export const longTasks = (page: Page) => page.evaluate('window.bench.longTasks()') as Promise<number[]>
