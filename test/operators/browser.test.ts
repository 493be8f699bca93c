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
/** Browsers have no passkeys for a bare network address. */
let site: string
let browser: Browser
beforeAll(async () => {
  api = await startApi({ publicUrl: 'localhost' })
  site = api.url.replace('127.0.0.1', 'localhost')
  browser = await startBrowser()
}, INSTALL_MS)
afterAll(async () => {
  await browser?.close()
  await api?.stop()
})

const opened = (look: Look = {}) => openedPage(browser, look)

/** A device with a screen lock, whose owner is always recognised. */
async function withDevice(page: Page) {
  const devices = await page.context().newCDPSession(page)
  await devices.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  } as const
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', { options })
  return async () => (await devices.send('WebAuthn.getCredentials', { authenticatorId })).credentials
}

/** The browser offers passkeys in the field only where the page has said so: this device takes every offer at once. */
const BUTTON_ONLY = `if (!sessionStorage.getItem('field')) PublicKeyCredential.isConditionalMediationAvailable = async () => false`

/** One in use, and one of a device that may have been copied. */
async function addPasskeys(page: Page, email: string): Promise<void> {
  await page.getByLabel('Name').fill('Telephone of Ada')
  await page.getByRole('button', { name: 'Create the passkey' }).click()
  await page.getByText('The passkey is added.').waitFor()
  await api.pool.query(
    `insert into operator_passkeys (id, operator, credential_id, public_key, counter, transports, name, last_used_at, ended_at)
     select 'psk_' || id, id, convert_to(id, 'utf8'), '', 0, '{}', 'Key on the ring', clock_timestamp(), clock_timestamp() from operators where email = $1`,
    [email],
  )
  await page.reload()
}

async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.goto(`${site}/sign-in`)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
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
    await page.goto(`${site}/sign-in`)
    await sound('sign-in')
    await page.goto(`${site}/console/first`)
    await sound('first')
    await page.goto(`${site}/console/join#${'x'.repeat(43)}`)
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
    await page.getByLabel('The code that the app shows').fill(new TOTP({ secret }).generate())
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
    await sound('codes')
    await page.getByRole('link', { name: 'I have kept them' }).click()
    await page.getByRole('button', { name: 'Turn off' }).waitFor()
    await sound('account-with-factor')
    await withDevice(page)
    await page.addInitScript(BUTTON_ONLY)
    await page.getByRole('link', { name: 'Add a passkey' }).click()
    await page.getByRole('button', { name: 'Create the passkey' }).waitFor()
    await sound('passkey')
    await addPasskeys(page, email)
    await sound('account-with-passkey')
    await page.goto(`${site}/sign-in/again`)
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor()
    await sound('again')
    await page.goto(`${site}/console/account`)
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
  await api.pool.query('delete from operator_passkeys')
  await api.pool.query('delete from operators')
  const code = await firstOperatorCode(api.pool, api.secrets)
  const { page, faults } = await opened()
  await page.goto(`${site}/console/first#${code}`)
  expect(page.url()).toBe(`${site}/console/first`)
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
  await page.goto(`${site}/console/account`)
  expect(await page.getByRole('button').allInnerTexts()).toEqual(['Sign in'])
  await page.keyboard.type(email)
  await page.keyboard.press('Tab')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL(/account$/)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await page.getByText('This browser makes no passkeys here').waitFor()
  expect(await page.getByRole('button').count()).toBe(0)
  await page.getByRole('link', { name: 'Not now' }).click()
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

test('a passkey is made on the account page, signs in by the button and in the field, and no longer when it is removed', async () => {
  const { email } = await newOperator(api)
  const { page, faults } = await opened()
  const keys = await withDevice(page)
  await page.addInitScript(BUTTON_ONLY)
  const sessionOf = async () => (await page.context().cookies()).find(({ name }) => name === 'perennial')!
  const press = (name: string) => page.getByRole('button', { name }).click()
  await signIn(page, email)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  expect(await page.getByLabel('Name').inputValue()).toBe('Chrome on Linux')
  await page.getByLabel('Name').fill('My laptop')
  await press('Create the passkey')
  await page.getByText('The passkey is added.').waitFor()
  expect(await keys()).toEqual([expect.objectContaining({ isResidentCredential: true, rpId: 'localhost', userName: email })])
  // The same device a second time.
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await press('Create the passkey')
  await page.getByText('This device has a passkey for your account already.').waitFor()
  await page.getByRole('link', { name: 'Not now' }).click()

  const before = await sessionOf()
  await press('Sign out')
  await page.getByText('You are signed out.').waitFor()
  await press('Sign in with a passkey')
  await page.getByText(/^created .*, last used/).waitFor()
  const after = await sessionOf()
  expect([after.value === before.value, after.httpOnly, after.sameSite]).toEqual([false, true, 'Lax'])

  await page.evaluate(`sessionStorage.setItem('field', 'yes')`)
  await press('Sign out')
  await page.getByRole('button', { name: 'Remove the passkey My laptop' }).waitFor()
  await page.evaluate('sessionStorage.clear()')
  expect((await sessionOf()).value).not.toBe(after.value)

  // A challenge is good for five minutes: a page that is older comes anew and asks at once.
  await press('Sign out')
  await page.getByText('You are signed out.').waitFor()
  await page.clock.setFixedTime(Date.now() + 270_000)
  const anew = page.waitForRequest(/\/sign-in\?.*with=passkey/)
  await press('Sign in with a passkey')
  await anew
  await page.getByText(/^created .*, last used/).waitFor()

  await press('Remove the passkey My laptop')
  await page.getByText('The passkey is removed').waitFor()
  await press('Sign out')
  await page.getByText('You are signed out.').waitFor()
  await press('Sign in with a passkey')
  await page.getByText('This passkey is not known here').waitFor()
  expect(faults).toEqual([])
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
