import { expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'

test('the installation’s own mail server is off unless it is set up', () => expect(readConfig({}).mail).toBeUndefined())

test('the installation’s own mail server has an address and somebody whom its mails are from', () => {
  const { mail } = readConfig({ SMTP_URL: 'smtps://a:b@mail.example.com', SMTP_FROM: 'Shop <shop@example.com>' })
  const server = { host: 'mail.example.com', port: 465, secure: true, requireTls: false, login: { user: 'a', pass: 'b' } }
  expect(mail).toEqual({ server, from: 'Shop <shop@example.com>' })
})

test.each([
  [{ SMTP_URL: 'smtp://mail' }, /SMTP_FROM/],
  [{ SMTP_URL: 'smtp://mail', SMTP_FROM: 'nobody' }, /SMTP_FROM/],
  [{ SMTP_URL: 'http://mail', SMTP_FROM: 'a@b.c' }, /SMTP_URL must be/],
])('%j is refused in one line', (env, message) => expect(() => readConfig(env)).toThrow(message))
