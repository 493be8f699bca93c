import { Paddle } from '@paddle/paddle-node-sdk'
import { expect, test } from 'vitest'
import { isSignedByPaddle } from '../../../../workflows/stores/paddle/signature.ts'
import { paddleSignature } from '../../../harness/stores/paddle.ts'

const NOW = Math.floor(Date.now() / 1000) * 1000
const SECRET = 'pdl_ntfset_01'
const BODY = Buffer.from('{"event_id":"evt_1", "data": {"name":"Zoë","n":1.0}}')
const isSigned = (header: string | undefined, body: Uint8Array = BODY, now = NOW) => isSignedByPaddle(header, body, SECRET, now)
const header = paddleSignature(BODY, SECRET, NOW)
const [ts, h1] = header.split(';') as [string, string]

test('our HMAC is that of the SDK', async () => {
  const own = paddleSignature(BODY, SECRET, Date.now())
  expect(isSignedByPaddle(own, BODY, SECRET, Date.now())).toBe(true)
  const { webhooks } = new Paddle('pdl_sdbx_apikey_1')
  expect(await webhooks.isSignatureValid(BODY.toString(), SECRET, own)).toBe(true)
  expect(await webhooks.isSignatureValid(BODY.toString(), 'pdl_ntfset_02', own)).toBe(false)
})

test('a right signature, and everything that is changed', () => {
  expect(isSigned(header)).toBe(true)
  for (let i = 0; i < BODY.length; i++) {
    const changed = Buffer.from(BODY)
    changed[i]! ^= 1
    expect(isSigned(header, changed)).toBe(false)
  }
  expect(isSigned(header, Buffer.concat([BODY, Buffer.from('\n')]))).toBe(false)
  expect(isSigned(header, Buffer.from(JSON.stringify(JSON.parse(BODY.toString()))))).toBe(false)
  expect(isSigned(header.replace(ts, `ts=${NOW / 1000 + 1}`))).toBe(false)
  expect(isSigned(paddleSignature(BODY, 'pdl_ntfset_02', NOW))).toBe(false)
})

test.each([
  [299, true],
  [300, true],
  [301, false],
])('%i s away from our time', (seconds, isIn) => {
  expect(isSigned(header, BODY, NOW + seconds * 1000)).toBe(isIn)
  expect(isSigned(header, BODY, NOW - seconds * 1000)).toBe(isIn)
})

test('of several signatures one has to be right, wherever it stands', () => {
  expect(isSigned(paddleSignature(BODY, ['pdl_old', SECRET], NOW))).toBe(true)
  expect(isSigned(paddleSignature(BODY, [SECRET, 'pdl_new'], NOW))).toBe(true)
  expect(isSigned(paddleSignature(BODY, ['pdl_old', 'pdl_new'], NOW))).toBe(false)
  expect(isSigned(`${ts};h1=zz;${h1}`)).toBe(true)
})

test('spaces and capitals are no fault', () =>
  expect(isSigned(`${ts}; ${h1.replace(/[a-f]/g, letter => letter.toUpperCase())}`)).toBe(true))

test.each([
  ['none', undefined],
  ['an empty one', ''],
  ['no time', h1],
  ['no signature', ts],
  ['an empty signature', `${ts};h1=`],
  ['half a signature', header.slice(0, -2)],
  ['a longer one', `${header}00`],
  ['two times', `${ts};${ts};${h1}`],
  ['a time that is none', `ts=1e9;${h1}`],
  ['a time with a sign', `ts=-${NOW / 1000};${h1}`],
  ['another version only', `${ts};h2=${h1.slice(3)}`],
  ['a text with commas', header.replaceAll(';', ',')],
])('refused: %s', (_, other) => expect(isSigned(other)).toBe(false))
