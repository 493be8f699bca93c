import { hash, verify } from '@node-rs/argon2'
import { invalidField, Refusal } from '../kernel/refusal.ts'
import { isCommonPassword } from './common-passwords.ts'

const LEAST = 12
const MOST = 256
/** Fewer different characters are a pattern, such as `aaaaaaaaaaaa`. */
const LEAST_DIFFERENT = 5
/** With digits and signs around them, or repeated, these make the passwords that are tried first. */
const OBVIOUS =
  /^[^a-z]*(?:pass(?:word|wort|phrase)|qwert[yz]|letmein|welcome|willkommen|administrator|admin|iloveyou|perennial|changeme|secret)+[^a-z]*$/

/** Recommended by OWASP: 19 MiB, two passes, one lane. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
const FORM = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$`
/** Of a password that nobody knows, with the same parameters: an account that does not exist costs the same time. */
const NOBODYS = `${FORM}Y2hvc2VuIGF0IHJhbmRvbQ$RdescudvJCsgt3ub+b3dWRWJTmaaJObGQ4NmuPqVRyA`

/** Each one needs 19 MiB and a thread of the pool that reads files as well. */
const AT_ONCE = 2
/** Some three seconds of work; whoever comes later is refused. */
const WAITING = 100

let running = 0
const waiting: (() => void)[] = []

/** The limit belongs to the process, whose memory it protects. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running < AT_ONCE) running++
  else if (waiting.length >= WAITING) throw new Refusal('not_available', 'too many people sign in at this moment: try again')
  else await new Promise<void>(resolve => waiting.push(resolve))
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

/** One text for one password, however a keyboard composes its letters. */
const normalised = (password: string) => password.normalize('NFKC')

/** Throws `invalid_data` for a password that may not be chosen. `own`: what is known of the person, such as the e-mail address. */
export function assertChoosable(password: string, own: readonly string[]): void {
  const text = normalised(password)
  const lowered = text.toLowerCase()
  const length = [...text].length
  if (length < LEAST) throw invalidField('password', `must have at least ${LEAST} characters`)
  if (length > MOST) throw invalidField('password', `must have at most ${MOST} characters`)
  if (new Set(lowered).size < LEAST_DIFFERENT) throw invalidField('password', `must have at least ${LEAST_DIFFERENT} different characters`)
  if (isCommonPassword(lowered) || OBVIOUS.test(lowered)) throw invalidField('password', 'is one of those that are tried first')
  if (own.some(word => word.toLowerCase() === lowered)) throw invalidField('password', 'must not be your e-mail address or name')
}

export const hashPassword = (password: string): Promise<string> => inTurn(() => hash(normalised(password), PARAMETERS))

/** `stored`: null for an account without a password, and for none at all. The time is the same. */
export async function isPassword(stored: string | null, password: string): Promise<boolean> {
  const isRight = await inTurn(() => verify(stored ?? NOBODYS, normalised(password)))
  return isRight && stored !== null
}

/** Whether a hash was made with other parameters than those of today. */
export const isOutdated = (stored: string): boolean => !stored.startsWith(FORM)
