import { readFileSync } from 'node:fs'

const guide = readFileSync(new URL('../../docs/high-availability.md', import.meta.url), 'utf8')

/** What the guide gives to the user of a service: on a Redis that keeps its queues, and on a sentinel. As rules of ACL. */
const rights = (n: number): string => [...guide.matchAll(/^user perennial on >PASSWORD (.+)$/gm)][n]![1]!
export const [QUEUE_RIGHTS, SENTINEL_RIGHTS] = [rights(0), rights(1)]

/** The login of the service, on servers and on sentinels, with the rights of the guide. */
export const USER = 'perennial'
export const PASSWORD = 'a-password-of-redis'
export const SENTINEL_PASSWORD = 'a-password-of-the-sentinels'

/** Of a server that has that login. The servers of one installation log in to each other, and the tests to each of them, as the default user. */
export const LOGIN_ARGUMENTS = [
  ...['--requirepass', PASSWORD, '--masterauth', PASSWORD],
  ...['--user', USER, 'on', `>${PASSWORD}`, ...QUEUE_RIGHTS.split(' ')],
]
