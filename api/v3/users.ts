import type { AppUser } from '../../domain/audience/customers/app-user.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { createNamedUser } from '../../domain/purchases/claim-named.ts'
import { isReportConflict } from '../../domain/purchases/record-reports.ts'
import { transaction } from '../../store/transaction.ts'
import { ENVIRONMENT_WORD } from '../entitlement-values.ts'
import { unixSeconds } from '../time.ts'
import { V3Problem } from './errors.ts'
import { atKey, environmentsOf, onUser } from './operation.ts'

type Shown = Pick<AppUser, 'id' | 'identity_id'> & { created: number }

const user = ({ id, created, identity_id }: Shown, kind: EnvironmentKind) => ({
  id,
  ...(identity_id !== null && { identity_id }),
  created,
  environment: ENVIRONMENT_WORD[kind],
})

export const v3GetUser = onUser('v3GetUser', async call => {
  const { created_at, ...found } = call.user
  return user({ ...found, created: Math.floor(created_at! / 1_000_000) }, call.environmentKind)
})

const KIND = { prod: 'production', sandbox: 'sandbox' } as const

export const v3CreateUser = atKey('v3CreateUser', async ({ path: { id }, body, owner, db }) => {
  const kind = body?.environment ? KIND[body.environment] : owner.environmentKind
  const environments = environmentsOf(owner)
  const chosen = { project: owner.project, environment: environments[kind], among: Object.values(environments), id }
  const made = await transaction(db, tx => createNamedUser(tx, chosen), isReportConflict)
  if (!made) throw new V3Problem('already_exists', 'User with given uid already exists')
  return user({ ...made, created: unixSeconds(made.created_at) }, kind)
})
