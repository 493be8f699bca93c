// The second factor: codes and recovery codes open once, guesses at them count, and what is sensitive asks again.
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demandSecondFactor, resetOperator } from '../../domain/operators/accounts.ts'
import { changePassword } from '../../domain/operators/change-password.ts'
import { readPending, readSession } from '../../domain/operators/session.ts'
import { authenticateAgain, confirmSetUp } from '../../domain/operators/sign-in.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newOperator, PASSWORD, type Seen, type Visitor, visitor } from '../harness/operators.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ trustedProxies: 1 })
})
afterAll(() => api.stop())

let hosts = 0
const from = () => visitor(api.url, { 'X-Forwarded-For': `203.0.113.${++hosts}` })
const ACCOUNT = '/console/account'
const secretIn = ({ text }: Seen) => /<code>([A-Z2-7 ]+)<\/code>/.exec(text)![1]!.replaceAll(' ', '')
const codesIn = ({ text }: Seen) => [...text.matchAll(/<code>([\w-]{19})<\/code>/g)].map(([, code]) => code!)
/** `steps`: of 30 s from now. */
const codeOf = (secret: string, steps = 0) => new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 })
const wrongCode = (secret: string) =>
  ['000000', '111111', '222222', '333333'].find(code => ![-1, 0, 1].some(step => codeOf(secret, step) === code))!

/** Signs in and sets the second factor up. A code of the next step is accepted already, and the one of this step no more. */
async function withFactor(): Promise<{ browser: Visitor; id: string; email: string; secret: string; codes: string[] }> {
  const { id, email } = await newOperator(api)
  const browser = from()
  await browser.signIn(email)
  await browser.open(ACCOUNT)
  expect((await browser.send(`${ACCOUNT}/second-factor`, { step: 'begin' })).location).toBe(`${ACCOUNT}/second-factor`)
  const secret = secretIn(await browser.open(`${ACCOUNT}/second-factor`))
  expect((await browser.send(`${ACCOUNT}/second-factor`, { step: 'confirm', code: wrongCode(secret) })).status).toBe(422)
  const shown = await browser.send(`${ACCOUNT}/second-factor`, { step: 'confirm', code: codeOf(secret, -1) })
  expect([shown.status, codesIn(shown).length]).toEqual([200, 10])
  return { browser, id, email, secret, codes: codesIn(shown) }
}

const enter = async (email: string, code: string) => {
  const browser = from()
  expect((await browser.signIn(email, PASSWORD, { next: '/docs' })).location).toBe('/sign-in/code?next=%2Fdocs')
  await browser.open('/sign-in/code?next=%2Fdocs')
  return { browser, answer: await browser.send('/sign-in/code', { code, next: '/docs' }) }
}

describe('a code of the app', () => {
  test('is asked for after the password, which alone opens nothing', async () => {
    const { email, secret } = await withFactor()
    const browser = from()
    await browser.signIn(email)
    const token = browser.cookies.get('perennial')!
    expect([await readSession(api.pool, token), (await readPending(api.pool, token))?.awaits]).toEqual([null, 'code'])
    expect((await browser.open(ACCOUNT)).location).toBe('/sign-in?next=%2Fconsole%2Faccount')
    await browser.open('/sign-in/code')
    const answer = await browser.send('/sign-in/code', { code: ` ${codeOf(secret).replace(/^.../, '$& ')}`, next: '/docs' })
    expect([answer.status, answer.location]).toEqual([303, '/docs'])
    const after = browser.cookies.get('perennial')!
    expect([after === token, await readPending(api.pool, token)]).toEqual([false, null])
    expect(await readSession(api.pool, after)).toMatchObject({ operator: { email } })
  })

  test('opens once, also of two requests at the same time', async () => {
    const { email, secret } = await withFactor()
    const code = codeOf(secret, 1)
    const browsers = await Promise.all(
      [1, 2, 3].map(async () => {
        const browser = from()
        await browser.signIn(email)
        await browser.open('/sign-in/code')
        return browser
      }),
    )
    const answers = await Promise.all(browsers.map(browser => browser.send('/sign-in/code', { code })))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 401, 401])
    // Nor does an earlier one, which nobody has used.
    expect((await enter(email, codeOf(secret, 0))).answer.status).toBe(401)
  })

  test('is guessed five times at most, and the right password in between does not help', async () => {
    const { email, secret } = await withFactor()
    for (let n = 0; n < 4; n++) expect((await enter(email, wrongCode(secret))).answer.status).toBe(401)
    const { browser, answer } = await enter(email, wrongCode(secret))
    expect(answer.status).toBe(401)
    expect((await browser.send('/sign-in/code', { code: codeOf(secret) })).status).toBe(429)
    expect((await from().signIn(email)).status).toBe(429)
  })

  test('is stored sealed', async () => {
    const { id, secret, codes } = await withFactor()
    const { rows } = await api.pool.query(
      'select o.*, c.* from operators o join operator_recovery_codes c on c.operator = o.id where o.id = $1',
      [id],
    )
    const stored = JSON.stringify(rows) + rows.map(row => row.totp_secret.toString('latin1')).join()
    for (const text of [secret, ...codes]) expect(stored).not.toContain(text)
  })
})

describe('a recovery code', () => {
  test('opens once, however it is written', async () => {
    const { email, codes } = await withFactor()
    const written = ` ${codes[0]!.toUpperCase().replaceAll('-', ' ')}`
    expect((await enter(email, written)).answer.status).toBe(303)
    expect((await enter(email, codes[0]!)).answer.status).toBe(401)
    const { browser } = await enter(email, codes[1]!)
    expect((await browser.open(ACCOUNT)).text).toContain('8 recovery codes are left')
  })

  test('ends when new ones are made', async () => {
    const { browser, email, codes } = await withFactor()
    await browser.open(ACCOUNT)
    const fresh = codesIn(await browser.send(`${ACCOUNT}/recovery-codes`, {}))
    expect(fresh).toHaveLength(10)
    expect([(await enter(email, codes[0]!)).answer.status, (await enter(email, fresh[0]!)).answer.status]).toEqual([401, 303])
  })

  test('of somebody else opens nothing', async () => {
    const [one, other] = [await withFactor(), await withFactor()]
    expect((await enter(one.email, other.codes[0]!)).answer.status).toBe(401)
  })
})

describe('a second factor that is demanded', () => {
  test('is set up before anything else, and cannot be turned off', async () => {
    const { id, email } = await newOperator(api)
    const before = from()
    await before.signIn(email)
    await transaction(api.pool, tx => demandSecondFactor(tx, id, true))
    expect((await before.open(ACCOUNT)).status).toBe(303)
    const browser = from()
    expect((await browser.signIn(email, PASSWORD, { next: '/docs' })).location).toBe('/sign-in/second-factor?next=%2Fdocs')
    const page = await browser.open('/sign-in/second-factor?next=%2Fdocs')
    expect((await browser.open(ACCOUNT)).status).toBe(303)
    await browser.open('/sign-in/second-factor?next=%2Fdocs')
    expect((await browser.send('/sign-in/second-factor', { code: wrongCode(secretIn(page)) })).status).toBe(422)
    const shown = await browser.send('/sign-in/second-factor', { code: codeOf(secretIn(page)), next: '/docs' })
    expect([codesIn(shown).length, shown.text.includes('href="/docs"')]).toEqual([10, true])
    const account = await browser.open(ACCOUNT)
    expect([account.status, account.text.includes('Turn off')]).toEqual([200, false])
    await browser.send(`${ACCOUNT}/second-factor`, { step: 'remove' })
    expect((await from().signIn(email)).location).toContain('/sign-in/code')
  })

  test('closes a session without one that began at the same moment', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    await browser.signIn(email)
    const token = browser.cookies.get('perennial')!
    await api.pool.query('update operators set needs_second_factor = true where id = $1', [id])
    expect(await readSession(api.pool, token)).toBeNull()
    await api.pool.query('update operators set needs_second_factor = false where id = $1', [id])
    expect(await readSession(api.pool, token)).not.toBeNull()
  })

  test('is set up by whoever has begun last, and everything else that is open ends', async () => {
    const { id, email } = await newOperator(api)
    await api.pool.query('update operators set needs_second_factor = true where id = $1', [id])
    const [stranger, browser, waiting] = [from(), from(), from()]
    await stranger.signIn(email)
    const seen = secretIn(await stranger.open('/sign-in/second-factor'))
    await browser.signIn(email)
    expect((await stranger.open('/sign-in/second-factor')).location).toContain('/sign-in?')
    const secret = secretIn(await browser.open('/sign-in/second-factor'))
    expect(secret).not.toBe(seen)
    await waiting.signIn(email)
    await browser.signIn(email)
    const own = secretIn(await browser.open('/sign-in/second-factor'))
    expect((await browser.send('/sign-in/second-factor', { code: codeOf(own) })).status).toBe(200)
    expect((await api.pool.query('select awaits from operator_sessions where operator = $1', [id])).rows).toEqual([{ awaits: null }])
  })

  test('is not set up by a session that was ended meanwhile, nor shown to one that waits for it', async () => {
    const { id, email } = await newOperator(api)
    const [owner, stranger] = [from(), from()]
    await owner.signIn(email)
    await owner.open(ACCOUNT)
    await api.pool.query('update operators set needs_second_factor = true where id = $1', [id])
    await stranger.signIn(email)
    const pending = (await readPending(api.pool, stranger.cookies.get('perennial')!))!
    const secret = secretIn(await stranger.open('/sign-in/second-factor'))
    await api.pool.query(`delete from operator_sessions where operator = $1 and awaits = 'set_up'`, [id])
    const device = { address: null, userAgent: null }
    expect(await confirmSetUp({ pool: api.pool, secrets: api.secrets }, pending, codeOf(secret), device)).toBeNull()
    expect((await api.pool.query('select totp_secret from operators where id = $1', [id])).rows).toEqual([{ totp_secret: null }])
    await stranger.signIn(email)
    await api.pool.query('update operators set needs_second_factor = false where id = $1', [id])
    expect((await owner.send(`${ACCOUNT}/second-factor`, { step: 'begin' })).location).toBe(`${ACCOUNT}/second-factor`)
    expect((await stranger.open('/sign-in/second-factor')).location).toContain('/sign-in?')
  })
})

describe('what is sensitive', () => {
  const later = (id: string) =>
    api.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '11 minutes' where operator = $1`, [id])

  test('asks for the code again after ten minutes', async () => {
    const { browser, id, email, secret } = await withFactor()
    await later(id)
    await browser.open(ACCOUNT)
    for (const [path, fields] of [
      [`${ACCOUNT}/second-factor`, { step: 'remove' }],
      [`${ACCOUNT}/recovery-codes`, {}],
    ] as const)
      expect((await browser.send(path, fields)).location).toBe('/sign-in/again?next=%2Fconsole%2Faccount')
    await browser.open('/sign-in/again?next=%2Fconsole%2Faccount')
    expect((await browser.send('/sign-in/again', { password: PASSWORD, code: '' })).status).toBe(401)
    expect((await browser.send('/sign-in/again', { code: codeOf(secret), next: ACCOUNT })).location).toBe(ACCOUNT)
    await browser.open(ACCOUNT)
    expect((await browser.send(`${ACCOUNT}/second-factor`, { step: 'remove' })).location).toBe(`${ACCOUNT}?done=removed`)
    expect((await from().signIn(email)).location).toBe(ACCOUNT)
  })

  test('asks for the password where there is no second factor, and counts the guesses', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    await browser.signIn(email)
    await later(id)
    await browser.open('/sign-in/again?next=/docs')
    for (let n = 0; n < 5; n++) expect((await browser.send('/sign-in/again', { password: 'wrong', next: '/docs' })).status).toBe(401)
    expect((await browser.send('/sign-in/again', { password: PASSWORD, next: '/docs' })).status).toBe(429)
    await api.pool.query('delete from operator_guesses')
    expect((await browser.send('/sign-in/again', { password: PASSWORD, next: '//evil.example' })).location).toBe(ACCOUNT)
    expect(await readSession(api.pool, browser.cookies.get('perennial')!)).toMatchObject({ isRecent: true })
  })
})

describe('the password where a second factor is on', () => {
  test('is no second factor: it renews no session and forgives no guess at a code', async () => {
    const { browser, id, email, secret } = await withFactor()
    await api.pool.query(`update operator_sessions set authenticated_at = authenticated_at - interval '11 minutes' where operator = $1`, [
      id,
    ])
    expect((await enter(email, wrongCode(secret))).answer.status).toBe(401)
    const guesses = async () => (await api.pool.query('select 1 from operator_guesses')).rowCount
    const before = await guesses()
    const token = browser.cookies.get('perennial')!
    const who = (await readSession(api.pool, token))!
    const { is } = await authenticateAgain(api, who, { password: PASSWORD }, '192.0.2.1')
    expect([is, await guesses()]).toEqual(['wrong', before])
    await browser.open(ACCOUNT)
    const short = { current: PASSWORD, code: '', password: 'short', repeated: 'short' }
    expect([(await browser.send(`${ACCOUNT}/password`, short)).status, await guesses()]).toEqual([422, before])
    const password = 'seven lanterns over Brno'
    const sent = { current: PASSWORD, code: wrongCode(secret), password, repeated: password }
    const refused = await browser.send(`${ACCOUNT}/password`, sent)
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('This code is wrong')])
    expect(await readSession(api.pool, token)).toMatchObject({ isRecent: false })
    expect((await browser.send(`${ACCOUNT}/password`, { ...sent, code: codeOf(secret) })).location).toBe(`${ACCOUNT}?done=password`)
    expect((await from().signIn(email, password)).location).toContain('/sign-in/code')
  })
})

describe('a reset', () => {
  test('wins against a change of the password at the same time', async () => {
    const { id, email } = await newOperator(api)
    const browser = from()
    await browser.signIn(email)
    const who = (await readSession(api.pool, browser.cookies.get('perennial')!))!
    const device = { address: null, userAgent: null }
    const change = { current: PASSWORD, code: '', password: 'seven lanterns over Brno' }
    const changing = await transaction(api.pool, async tx => {
      await resetOperator(tx, id)
      const started = changePassword(api, who, change, { network: '192.0.2.2', device })
      // The password that was right a moment ago is checked, and the change waits for the lock.
      await expect
        .poll(async () => (await api.pool.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock'`)).rowCount, {
          timeout: 5_000,
        })
        .toBeGreaterThan(0)
      return { started }
    })
    expect(await changing.started).toEqual({ is: 'ended' })
    const { rows } = await api.pool.query('select password_hash from operators where id = $1', [id])
    expect(rows).toEqual([{ password_hash: null }])
    expect(await readSession(api.pool, browser.cookies.get('perennial')!)).toBeNull()
  })
})

describe('the account page', () => {
  test('changes the password, which ends the other sessions and renews this one', async () => {
    const { email } = await newOperator(api)
    const [browser, other] = [from(), from()]
    await browser.signIn(email)
    await other.signIn(email)
    const token = browser.cookies.get('perennial')!
    const change = async (current: string, password: string, repeated = password) => {
      await browser.open(ACCOUNT)
      return browser.send(`${ACCOUNT}/password`, { current, password, repeated })
    }
    const NEXT = 'seven lanterns over Brno'
    expect((await change('wrong', NEXT)).status).toBe(401)
    for (const [password, repeated, says] of [
      [NEXT, `${NEXT}!`, 'The two passwords differ'],
      ['too short', 'too short', 'at least 12 characters'],
      ['Password1234!', 'Password1234!', 'tried first'],
      ['qwertyuiop123', 'qwertyuiop123', 'tried first'],
      ['aaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaa', 'different characters'],
      [email, email, 'your e-mail address'],
    ] as const) {
      const refused = await change(PASSWORD, password, repeated)
      expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(says)])
      expect(refused.text).not.toContain(`value="${password}"`)
    }
    const done = await change(PASSWORD, NEXT)
    expect([done.status, browser.cookies.get('perennial') === token]).toEqual([303, false])
    expect([await readSession(api.pool, token), (await other.open(ACCOUNT)).status]).toEqual([null, 303])
    expect([(await from().signIn(email)).status, (await from().signIn(email, NEXT)).status]).toEqual([401, 303])
    // However a keyboard composes its letters.
    await change(NEXT, 'caf\u00e9 au lait et \ufb01n')
    expect((await from().signIn(email, 'cafe\u0301 au lait et fin')).status).toBe(303)
  })

  test('lists the sessions and ends them, and none of somebody else', async () => {
    const [{ email, id }, stranger] = [await newOperator(api), await newOperator(api)]
    const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 <script>'
    const [browser, other, third, theirs] = [from(), visitor(api.url, { 'User-Agent': agent }), from(), from()]
    for (const one of [browser, other, third]) await one.signIn(email)
    await theirs.signIn(stranger.email)
    const page = await browser.open(ACCOUNT)
    expect([page.text.includes('Chrome on Linux'), page.text.includes('<script>'), page.text.includes('this browser')]).toEqual([
      true,
      false,
      true,
    ])
    const idOf = async (one: Visitor) => (await readSession(api.pool, one.cookies.get('perennial')!))!.session
    await browser.send(`${ACCOUNT}/sessions`, { session: await idOf(theirs) })
    await browser.send(`${ACCOUNT}/sessions`, { session: '\0' })
    await browser.send(`${ACCOUNT}/sessions`, { session: await idOf(other) })
    const status = async (one: Visitor) => (await one.open(ACCOUNT)).status
    expect([await status(theirs), await status(other), await status(third)]).toEqual([200, 303, 200])
    await browser.open(ACCOUNT)
    await browser.send(`${ACCOUNT}/sessions`, { session: 'others' })
    expect([await status(third), await status(browser)]).toEqual([303, 200])
    expect((await api.pool.query('select 1 from operator_sessions where operator = $1', [id])).rowCount).toBe(1)
  })
})
