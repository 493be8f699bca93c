import { type Browser, chromium } from 'playwright-core'
import { browserPath } from './chromium.ts'

/** A browser for the pages of a test. The caller closes it. */
export const startBrowser = async (): Promise<Browser> =>
  chromium.launch({ executablePath: await browserPath(), args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] })
