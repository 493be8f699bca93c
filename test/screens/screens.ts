import type { Page } from 'playwright-core'

/** What the pages show. */
export type Seeded = { user: string; automation: string }

/** `until`: what is there when the page is drawn. `then`: what is done before the picture is taken. */
export type Screen = {
  name: string
  path: (of: Seeded) => string
  until: string
  width?: number
  theme?: 'dark'
  then?: (page: Page) => Promise<unknown>
}

const focusChart = async (page: Page) => {
  await page.locator('.chart').first().focus()
  for (let n = 0; n < 8; n++) await page.keyboard.press('ArrowLeft')
}

const openFacts = async (page: Page) => {
  await page.locator('tbody tr').nth(3).click()
  await page.locator('.facts-sum b').waitFor()
}

export const SCREENS: readonly Screen[] = [
  { name: 'overview', path: () => '/', until: 'a.tile .tile-value .figure' },
  { name: 'overview-narrow', path: () => '/', until: 'a.tile .tile-value .figure', width: 390 },
  {
    name: 'chart',
    path: () => '/charts/mrr?range=365d&unit=month&split=target_platform&compare=no',
    until: '.chart-canvas svg',
    theme: 'dark',
    then: focusChart,
  },
  {
    name: 'facts',
    path: () => '/charts/sales?range=28d&type=column',
    until: '.chart-canvas svg',
    then: openFacts,
  },
  { name: 'cohorts', path: () => '/cohorts', until: 'tbody tr' },
  { name: 'customer', path: ({ user }) => `/customers/${user}`, until: '.timeline li, .line li' },
  { name: 'automation', path: ({ automation }) => `/automations/${automation}`, until: '.react-flow .box' },
  { name: 'promises', path: () => '/promises', until: '.health tbody tr' },
  { name: 'events', path: () => '/events', until: 'main' },
]
