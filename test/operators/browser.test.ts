// The pages of signing in, in a browser: in both themes, on a wide and on a narrow screen, with and without script.
import { TOTP } from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstOperatorCode } from '../../domain/operators/links.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { startOpenId } from '../harness/open-id.ts'
import { newOperator, PASSWORD } from '../harness/operators.ts'
import { expectSound, INSTALL_MS, type Look, openedPage } from '../harness/sound-pages.ts'

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

const opened = (look: Look = {}) => openedPage(browser, look)

async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.goto(`${api.url}/sign-in`)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

describe.each([
  ['light', 1440],
  ['light', 390],
  ['dark', 1440],
  ['dark', 390],
] as const)('in the %s theme, %i px wide', (theme, width) => {
  test('every page is sound', async () => {
    await api.pool.query('delete from operator_guesses')
    const { email } = await newOperator(api, { email: `ada.lovelace.${theme}.${width}@analytical-engines.example.org` })
    const { page, faults } = await opened({ theme, width })
    const sound = (name: string) => expectSound(page, `${name}-${theme}-${width}`)
    await signIn(page, email, 'not the password')
    await page.getByRole('alert').waitFor()
    await sound('sign-in-wrong')
    await page.goto(`${api.url}/sign-in`)
    await sound('sign-in')
    await page.goto(`${api.url}/console/first`)
    await sound('first')
    await page.goto(`${api.url}/console/join#${'x'.repeat(43)}`)
    await sound('join')
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByLabel('The same password again').fill('other')
    await page.getByRole('button').click()
    await page.getByRole('alert').waitFor()
    await sound('join-refused')
    await signIn(page, email)
    await page.waitForURL(/account$/)
    await sound('account')
    await page.getByRole('button', { name: 'Set up' }).click()
    await page.locator('.secret code').waitFor()
    await sound('set-up')
    const secret = (await page.locator('.secret code').innerText()).replaceAll(' ', '')
    await page.getByLabel('The code that the app shows').fill(new TOTP({ secret }).generate({ timestamp: Date.now() - 30_000 }))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
    await sound('codes')
    await page.getByRole('link', { name: 'I have kept them' }).click()
    await page.getByRole('button', { name: 'Turn off' }).waitFor()
    await sound('account-with-factor')
    await page.goto(`${api.url}/sign-in/again`)
    await sound('again')
    await page.goto(`${api.url}/console/account`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()
    await sound('signed-out')
    await signIn(page, email)
    await page.waitForURL(/code/)
    await sound('code')
    expect(faults).toEqual([])
    await page.context().close()
  })
})

test('a link puts its code into the form and leaves the address bar', async () => {
  await api.pool.query('delete from operator_sessions')
  await api.pool.query('delete from operator_recovery_codes')
  await api.pool.query('delete from operators')
  const code = await firstOperatorCode(api.pool, api.secrets)
  const { page, faults } = await opened()
  await page.goto(`${api.url}/console/first#${code}`)
  expect(page.url()).toBe(`${api.url}/console/first`)
  await page.getByLabel('E-mail address').fill('first@example.org')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByLabel('The same password again').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL(/account$/)
  await page.getByText('owner of this installation').waitFor()
  const [cookie] = (await page.context().cookies()).filter(({ name }) => name === 'perennial')
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/', expires: -1 })
  expect(faults).toEqual([])
  await page.context().close()
})

test('without script a person signs in, changes the password and signs out, by the keyboard', async () => {
  const { email } = await newOperator(api)
  const { page } = await opened({ script: false })
  await page.goto(`${api.url}/console/account`)
  await page.keyboard.type(email)
  await page.keyboard.press('Tab')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL(/account$/)
  await page.getByLabel('Your password now').fill(PASSWORD)
  await page.getByLabel('New password').fill('over the hills at noon')
  await page.getByLabel('The new one again').fill('over the hills at noon')
  await page.keyboard.press('Enter')
  await page.getByText('Your password is changed.').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('You are signed out.').waitFor()
  await page.context().close()
})

describe.each([false, true])('single sign-on, as the only way in: %s', isRequired => {
  test('leads to the provider and back, and every page is sound', async () => {
    const provider = await startOpenId()
    const service = await startApi({ openId: { ...provider.options, name: 'Analytical Engines', isRequired } })
    provider.serve(service.url)
    const { id, email } = await newOperator(service, { email: 'ada.lovelace@analytical-engines.example.org' })
    provider.people.set('ada', { email, email_verified: true })
    for (const theme of ['light', 'dark'] as const)
      for (const width of [1440, 390]) {
        const { page, faults } = await opened({ theme, width })
        const sound = (name: string) => expectSound(page, `sso-${isRequired ? 'only-' : ''}${name}-${theme}-${width}`)
        const press = (name: string) => page.getByRole('link', { name: `${name} with Analytical Engines` }).click()
        await page.setExtraHTTPHeaders({ 'X-Person': 'nobody' })
        await page.goto(`${service.url}/console/account`)
        await sound('sign-in')
        await press('Sign in')
        await page.getByRole('alert').waitFor()
        await sound('refused')
        await page.context().clearCookies()
        await page.setExtraHTTPHeaders({ 'X-Person': 'ada' })
        await press('Sign in')
        await page.waitForURL(/account$/)
        await sound('account')
        await service.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '1 hour'`)
        await page.goto(`${service.url}/sign-in/again`)
        await sound('again')
        await press('Continue')
        await page.waitForURL(/account$/)
        expect(faults).toEqual([])
        await service.pool.query('delete from operator_identities where operator = $1', [id])
        await page.goto(`${service.url}/console/account`)
        await sound('account-not-connected')
        await press('Connect')
        await page.waitForURL(/done=linked$/)
        await page.context().close()
      }
    await service.stop()
    await provider.stop()
  })
})
