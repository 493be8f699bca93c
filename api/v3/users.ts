import type { AppUser } from '../../domain/customers/app-user.ts'
import type { EnvironmentKind } from '../../domain/environment.ts'
import { claimNamed } from '../../domain/purchases/claim-named.ts'
import { isReportConflict } from '../../domain/purchases/record-reports.ts'
import { createChosenUser, type User } from '../../domain/users/user.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { unixSeconds } from '../time.ts'
import { ENVIRONMENT_WORD } from '../words.ts'
import { V3Problem } from './errors.ts'
import { atKey, environmentsOf, onUser } from './operation.ts'

const user = ({ id, created_at, identity_id }: User | AppUser, kind: EnvironmentKind) => ({
  id,
  ...(identity_id !== null && { identity_id }),
  created: unixSeconds(created_at),
  environment: ENVIRONMENT_WORD[kind],
})

export const v3GetUser = onUser('v3GetUser', async call => user(call.user, call.environmentKind))

const KIND = { prod: 'production', sandbox: 'sandbox' } as const

export const v3CreateUser = atKey('v3CreateUser', async ({ path: { id }, body, owner, db }) => {
  const kind = body?.environment ? KIND[body.environment] : owner.environmentKind
  const environments = environmentsOf(owner)
  const chosen = { project: owner.project, environment: environments[kind], among: Object.values(environments), id }
  const create = async (tx: Tx) => {
    const made = await createChosenUser(tx, chosen)
    if (made) await claimNamed(tx, chosen.environment, [{ id, identity: null }])
    return made
  }
  const made = await transaction(db, create, isReportConflict)
  if (!made) throw new V3Problem('already_exists', 'User with given uid already exists')
  return user(made, kind)
})
