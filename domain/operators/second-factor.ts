import { Secret, TOTP } from 'otpauth'
import type { Db, Tx } from '../../store/connect.ts'
import { recoveryCode } from '../../store/ids.ts'
import { conflict } from '../kernel/refusal.ts'
import { hashKey, type Secrets } from '../projects/secrets.ts'

const CODES = 10
const PERIOD_SECONDS = 30
/** A clock may be off by one step, and a code may be typed slowly. */
const STEPS_AROUND = 1

const totpOf = (secret: Secret, label = '') => new TOTP({ issuer: 'Perennial', label, secret, period: PERIOD_SECONDS })
const contextOf = (operator: string) => `operator ${operator} totp`

/** The time step whose code was given; null for none. */
function stepOf(secret: Secret, code: string): number | null {
  const now = Date.now()
  const delta = totpOf(secret).validate({ token: code, timestamp: now, window: STEPS_AROUND })
  return delta === null ? null : Math.floor(now / 1000 / PERIOD_SECONDS) + delta
}

const digitsIn = (given: string): string => given.replaceAll(/[\s-]/g, '')
const recoveryIn = (given: string): string => given.toLowerCase().replaceAll(/[^0-9a-z]/g, '')
const hashOf = (code: string): Buffer => hashKey(`recovery ${recoveryIn(code)}`)

/** Takes a code of the app, or a recovery code; each opens once. */
export async function takeCode(tx: Tx, secrets: Secrets, operator: string, given: string): Promise<boolean> {
  const code = digitsIn(given)
  return /^\d{6}$/.test(code) ? takeStep(tx, secrets, operator, code) : takeRecoveryCode(tx, operator, given)
}

async function takeStep(tx: Tx, secrets: Secrets, operator: string, code: string): Promise<boolean> {
  const { rows } = await tx.query<{ totp_secret: Buffer | null }>('select totp_secret from operators where id = $1', [operator])
  const sealed = rows[0]?.totp_secret
  if (!sealed) return false
  const step = stepOf(Secret.fromBase32(secrets.open(sealed, contextOf(operator))), code)
  if (step === null) return false
  // The statement decides: of two requests with one code one finds an earlier step.
  const { rowCount } = await tx.query(
    'update operators set totp_last_step = $2 where id = $1 and totp_last_step < $2 and totp_secret = $3 and closed_at is null',
    [operator, step, sealed],
  )
  return rowCount === 1
}

async function takeRecoveryCode(tx: Tx, operator: string, given: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from operator_recovery_codes where operator = $1 and hash = $2', [operator, hashOf(given)])
  return rowCount === 1
}

/** Makes a secret, which is not in use until a code of it is given. False: there is a second factor already. */
export async function beginSecondFactor(db: Db, secrets: Secrets, operator: string): Promise<boolean> {
  const sealed = secrets.seal(new Secret({ size: 20 }).base32, contextOf(operator))
  const { rowCount } = await db.query(
    'update operators set totp_next_secret = $2 where id = $1 and totp_secret is null and closed_at is null',
    [operator, sealed],
  )
  return rowCount === 1
}

/** What an app needs: the address for the picture, and the secret for typing. Null: nothing is being set up. */
export async function secondFactorInSetUp(db: Db, secrets: Secrets, operator: string): Promise<{ uri: string; secret: string } | null> {
  const { rows } = await db.query<{ totp_next_secret: Buffer | null; email: string }>(
    'select totp_next_secret, email from operators where id = $1',
    [operator],
  )
  const row = rows[0]
  if (!row?.totp_next_secret) return null
  const secret = Secret.fromBase32(secrets.open(row.totp_next_secret, contextOf(operator)))
  return { uri: totpOf(secret, row.email).toString(), secret: secret.base32 }
}

/** The secret that was set up is in use from now on. Returns the recovery codes; null for a wrong code. The caller has the operator locked. */
export async function confirmSecondFactor(tx: Tx, secrets: Secrets, operator: string, given: string): Promise<string[] | null> {
  const { rows } = await tx.query<{ totp_next_secret: Buffer | null }>('select totp_next_secret from operators where id = $1', [operator])
  const sealed = rows[0]?.totp_next_secret
  if (!sealed) throw conflict('nothing is being set up: begin again')
  const step = stepOf(Secret.fromBase32(secrets.open(sealed, contextOf(operator))), digitsIn(given))
  if (step === null) return null
  const { rowCount } = await tx.query(
    `update operators set totp_secret = totp_next_secret, totp_next_secret = null, totp_last_step = $2
     where id = $1 and totp_next_secret = $3 and totp_secret is null and closed_at is null`,
    [operator, step, sealed],
  )
  return rowCount === 1 ? newRecoveryCodes(tx, operator) : null
}

/** Ten codes in the place of all earlier ones; nothing shows them again. */
export async function newRecoveryCodes(tx: Tx, operator: string): Promise<string[]> {
  const codes = Array.from({ length: CODES }, recoveryCode)
  await tx.query('delete from operator_recovery_codes where operator = $1', [operator])
  await tx.query('insert into operator_recovery_codes (operator, hash) select $1, unnest($2::bytea[])', [operator, codes.map(hashOf)])
  return codes
}

/** `isOn`: of codes; `passkeys`: how many sign in. */
export type SecondFactor = { isOn: boolean; isNeeded: boolean; codesLeft: number; passkeys: number }

export async function secondFactorOf(db: Db, operator: string): Promise<SecondFactor> {
  const { rows } = await db.query<SecondFactor>(
    `select o.totp_secret is not null as "isOn", o.needs_second_factor or p.needs_second_factor as "isNeeded",
       (select count(*) from operator_recovery_codes where operator = o.id)::int as "codesLeft",
       (select count(*) from operator_passkeys where operator = o.id and ended_at is null)::int as passkeys
     from operators o, operator_policy p where o.id = $1`,
    [operator],
  )
  return rows[0] ?? { isOn: false, isNeeded: false, codesLeft: 0, passkeys: 0 }
}

/** Whether the password alone shows that somebody is still there: not where codes are on, or where a second factor is demanded and a passkey is one. */
export const isPasswordEnough = ({ isOn, isNeeded, passkeys }: SecondFactor): boolean => !isOn && !(isNeeded && passkeys > 0)

/** Throws `conflict` where a second factor is demanded. */
export async function removeSecondFactor(tx: Tx, operator: string): Promise<void> {
  if ((await secondFactorOf(tx, operator)).isNeeded) throw conflict('a second factor is demanded of this account')
  await clearSecondFactor(tx, operator)
}

export async function clearSecondFactor(tx: Tx, operator: string): Promise<void> {
  await tx.query('update operators set totp_secret = null, totp_next_secret = null where id = $1', [operator])
  await tx.query('delete from operator_recovery_codes where operator = $1', [operator])
}
