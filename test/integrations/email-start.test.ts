import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { must, sandbox } from '../harness/integrations.ts'
import { type MailHost, mailHost } from '../harness/mail.ts'

let api: TestApi
let call: Client
let host: MailHost
/** What the mail server answers to a recipient. */
let reply: number | undefined
beforeAll(async () => {
  host = await mailHost({ refuse: () => ({ to: () => reply }) })
  api = await startApi()
  call = sandbox(api)
})
afterAll(async () => {
  await api.stop()
  await host.close()
})
beforeEach(() => {
  reply = undefined
  host.received.length = 0
})

const RECIPIENTS = ['ann@example.com']
const settingsOf = (fields: object = {}) => ({
  ...{ host: '127.0.0.1', port: host.port, secure: false, from: 'reports@shop.example', recipients: RECIPIENTS },
  ...fields,
})
async function email(fields: object = {}): Promise<string> {
  const { url } = await must(call, 'POST', '/v4/integrations', { title: 'Mail', integration: 'email', target_platform: 'iOS' })
  await must(call, 'PUT', `${url}/config`, { settings: settingsOf(fields) })
  return url
}
const start = (url: string) => call('POST', `${url}/status`, { body: { status: 1 } })
const activeOf = async (url: string) =>
  (await must(call, 'GET', '/v4/integrations')).data.find((one: { url: string }) => one.url === url).active
const refused = (why: string) => ({
  status: 422,
  body: { error: { code: 'integration_test_failed', message: expect.stringContaining(why) } },
})

test('an e-mail integration starts when its server has taken a test message', async () => {
  const url = await email()
  expect((await start(url)).status).toBe(200)
  expect(host.received).toMatchObject([{ to: RECIPIENTS, mail: { subject: 'Connection test' } }])
})

test('without recipients only the login is tried', async () => {
  expect((await start(await email({ recipients: null }))).status).toBe(200)
  expect(host.received).toEqual([])
})

test('a recipient that is refused, or a server that is not there, keeps it paused', async () => {
  reply = 550
  const url = await email()
  expect(await start(url)).toMatchObject(refused('550'))
  expect(await activeOf(url)).toBe(0)
  expect(await start(await email({ port: 1 }))).toMatchObject(refused('the mail server must take a test message'))
})

test('a server that an active one gets is tried first; other settings are not', async () => {
  const url = await email()
  await start(url)
  expect(await call('PUT', `${url}/config`, { body: { settings: settingsOf({ port: 1 }) } })).toMatchObject(refused('test message'))
  expect((await must(call, 'GET', `${url}/config`)).settings.port).toBe(host.port)
  await must(call, 'PUT', `${url}/config`, { settings: settingsOf(), revenue: 'proceeds' })
  expect(host.received).toHaveLength(1)
})
