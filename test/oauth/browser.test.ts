// An operator allows an assistant in a browser: signs in on the way, looks at the page, chooses, and comes back to the program.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SCOPES } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { startBrowser } from '../harness/browser.ts'
import { call, connected } from '../harness/mcp.ts'
import { authorizePath, pkce, post, REDIRECT, register, takeOf } from '../harness/oauth.ts'
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

/** The program that waits on this machine for the browser. */
async function waitingProgram() {
  const server = createServer((_request, answer) => answer.setHeader('Content-Type', 'text/html').end('<title>Connected</title>'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { address: REDIRECT.replace(/:\d+/, `:${port}`), close: () => server.close() }
}

async function operatorOf(role: string) {
  const operator = await newOperator(api)
  await api.pool.query('insert into operator_roles (operator, project, role) values ($1, $2, $3)', [operator.id, api.project.id, role])
  return operator
}

test('signs in, chooses what is allowed, and the program gets just that', async () => {
  const program = await waitingProgram()
  const operator = await operatorOf('editor')
  const clientId = (await register(api.url)).body.client_id as string
  const { verifier, challenge } = pkce()
  const { page, faults } = await openedPage(browser)
  const asked = { redirect_uri: program.address, scope: 'entitlements:read entitlements:write events:read project_settings:write' }
  await page.goto(api.url + authorizePath(clientId, challenge, asked))
  await page.getByLabel('E-mail address').fill(operator.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Connect an assistant' }).waitFor()
  await expectSound(page, 'consent')

  const group = (name: string) => page.getByRole('group', { name, exact: true })
  expect(await group('Environment').getByLabel('Sandbox').isChecked()).toBe(true)
  expect(await group('Project settings').getByLabel('change').isDisabled()).toBe(true)
  // What changes something is not ticked by itself.
  await group('Entitlements').getByLabel('change').check()
  await group('Events').getByLabel('read').uncheck()
  await group('Environment').getByLabel('Production').check()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(`${program.address}?**`)
  expect(await page.title()).toBe('Connected')
  const back = new URL(page.url()).searchParams
  expect([back.get('state'), back.get('iss')]).toEqual(['state of the client', api.url])

  const take = { ...takeOf(back, clientId, verifier), redirect_uri: program.address }
  const taken = await post(api.url, '/oauth/token', take)
  expect(taken.body).toMatchObject({ scope: 'entitlements:read entitlements:write' })
  const client = await connected(api.url, taken.body.access_token)
  expect(client.getInstructions()).toContain('production')
  expect(await call(client, 'list_entitlements')).toMatchObject({ isError: false, content: { status: 200 } })
  expect(faults).toEqual([])
  await page.context().close()
  program.close()
})

const LOOKS: Required<Look>[] = [
  { theme: 'dark', width: 1440, script: true },
  { theme: 'light', width: 390, script: true },
  { theme: 'dark', width: 390, script: true },
]
test.each(LOOKS)('the page of all scopes is sound in the $theme theme, $width px wide', async look => {
  const operator = await operatorOf('viewer')
  const clientId = (await register(api.url)).body.client_id as string
  const { page, faults } = await openedPage(browser, look)
  await page.goto(api.url + authorizePath(clientId, pkce().challenge, { scope: SCOPES.join(' ') }))
  await page.getByLabel('E-mail address').fill(operator.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Connect an assistant' }).waitFor()
  await expectSound(page, `consent-${look.theme}-${look.width}`)
  expect(faults).toEqual([])
  await page.context().close()
})

test('without script and by the keyboard, an operator denies', async () => {
  const program = await waitingProgram()
  const operator = await operatorOf('admin')
  const clientId = (await register(api.url)).body.client_id as string
  const { page } = await openedPage(browser, { script: false })
  await page.goto(api.url + authorizePath(clientId, pkce().challenge, { redirect_uri: program.address }))
  await page.getByLabel('E-mail address').fill(operator.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Deny' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(`${program.address}?**`)
  expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied')
  await page.context().close()
  program.close()
})
