import { findUsers } from '../../../domain/events/look-up.ts'
import type { Environment, EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { Refusal } from '../../../domain/kernel/refusal.ts'
import { knownLineage } from '../../../domain/purchases/find-lineages.ts'
import { isReportConflict, recordReports } from '../../../domain/purchases/record-reports.ts'
import { inSequence } from '../../../domain/purchases/store-facts/statement.ts'
import { followLineage } from '../../../domain/purchases/store-inbox/follow.ts'
import { nextQuestion } from '../../../domain/purchases/store-inbox/questions.ts'
import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import type { OpenStore } from '../../../domain/purchases/stores/settings.ts'
import { createIdentifiedUsers } from '../../../domain/users/user.ts'
import type { Pool } from '../../../store/connect.ts'
import { classifyFailure } from '../../../store/failures.ts'
import { transaction } from '../../../store/transaction.ts'
import { messageOf } from '../../../workflows/engine/policy.ts'
import { confirmCredible } from '../../../workflows/stores/confirm-credible.ts'
import type { Quota } from '../../../workflows/stores/quota.ts'
import type { ClaimAnswer, StoreClient } from '../../../workflows/stores/store-client.ts'
import { CliError } from '../../failure.ts'
import type { ImportBatch, Rejection } from '../../import/batches.ts'
import type { RowFault } from '../../import/item.ts'
import type { PostedRows } from '../../import/post.ts'
import { STORE_NAME } from '../words.ts'
import { confirmPatiently, type PatienceOptions } from './patience.ts'
import { POINTED_STORE, type Pointer, pointerClaim } from './pointer.ts'

export type Attaching = {
  pool: Pool
  project: number
  environment: Environment
  kind: EnvironmentKind
  platform: StorePlatform
  store: OpenStore
  client: StoreClient
  createUsers: boolean
}

type ImportAccess = { signal: AbortSignal; quota: Quota } & Pick<PatienceOptions, 'onWait'>
type Outcome = { is: 'attached' } | { is: 'known' } | ({ is: 'rejected' } & RowFault)
type ClaimReports = Extract<ClaimAnswer, { is: 'reports' }>

const rejected = (field: string, reason: string): Outcome => ({ is: 'rejected', field, reason })
const NOT_OWN = (owner: string) => rejected('user', `the purchase belongs to another user, ${owner}: "stores transfer" moves it`)

/** As the API takes an identity. */
const IDENTITY = /^(?!\.{1,2}$)[a-zA-Z0-9._-]{1,255}$/

/** The user of a row, by id or by identity; null: there is none. */
function findUser({ pool, environment }: Attaching, given: string): Promise<string | null> {
  return transaction(pool, async tx => {
    const byId = await findUsers(tx, environment, 'id', [given])
    return (byId.get(given) ?? (await findUsers(tx, environment, 'identity_id', [given])).get(given))?.id ?? null
  })
}

async function userOfRow(attaching: Attaching, given: string): Promise<string | RowFault> {
  const found = await findUser(attaching, given)
  if (found !== null) return found
  if (!attaching.createUsers) return { field: 'user', reason: `${given} is no user: --create-users makes one` }
  if (!IDENTITY.test(given))
    return { field: 'user', reason: "a user can be named with at most 255 letters, digits, '.', '_' and '-', and not '.' or '..'" }
  const made = await transaction(attaching.pool, tx =>
    createIdentifiedUsers(tx, attaching.environment, [{ identity: given, history: null, isSeenLive: false }]),
  )
  // Null only if another process has made the user and it was erased since.
  return made.get(given) ?? (await findUser(attaching, given)) ?? { field: 'user', reason: `${given} is no user any more` }
}

/** Records what the store has reported, and gives what nobody owns to the user. Gives the owner and whether it is new. */
function record({ pool, environment }: Attaching, user: string, { reports, lineage, subject }: ClaimReports) {
  return transaction(
    pool,
    async tx => {
      const recorded = await recordReports(tx, environment, reports, {
        isConnected: true,
        triggers: false,
        attachTo: user,
        beforeEmitting: async written => {
          for (const one of written) await followLineage(tx, environment, one.lineage)
        },
      })
      return recorded.find(({ name }) => name === lineage) ?? recorded.find(({ purchases }) => purchases.has(subject))
    },
    isReportConflict,
  )
}

async function attach(attaching: Attaching, { user: given, transaction: id }: Pointer, access: ImportAccess): Promise<Outcome> {
  const { pool, environment, kind, platform, store, client } = attaching
  if (given === undefined) return rejected('user', 'is empty')
  if (id === undefined) return rejected('transaction', 'is empty')
  const known = await knownLineage(pool, environment, POINTED_STORE[platform], id)
  const user = await userOfRow(attaching, given)
  if (typeof user !== 'string') return { is: 'rejected', ...user }
  // Rows of a file that are periods of one subscription cost one question.
  if (known && known.owner !== null) return known.owner === user ? { is: 'known' } : NOT_OWN(known.owner)
  const { quota, signal, onWait } = access
  const fetchContext = { settings: store, environment: kind, signal, quota }
  const name = STORE_NAME[platform]
  const question = await nextQuestion(pool)
  const answer = await confirmPatiently(() => confirmCredible(client, pointerClaim(platform, id), fetchContext), {
    store: name,
    signal,
    onWait,
  })
  switch (answer.is) {
    case 'unknown':
    case 'gone':
      return rejected('transaction', `${name} does not know it${answer.is === 'gone' ? ' any more' : ''}`)
    case 'refused':
      throw new CliError(`${name} does not accept the credentials (${answer.why}): "stores check ${attaching.project}" says what to do`)
    case 'reports': {
      if (answer.environment !== kind) return rejected('transaction', `is of the ${answer.environment} environment`)
      const written = await record(attaching, user, { ...answer, reports: inSequence(answer.reports, question) })
      if (!written || written.owner === null) return rejected('transaction', `${name} says nothing that can be recorded`)
      if (written.owner !== user) return NOT_OWN(written.owner)
      return written.isNewOwner ? { is: 'attached' } : { is: 'known' }
    }
    default:
      return answer satisfies never
  }
}

/** Asks the store about the rows of a batch, one after the other, and attaches what it tells to the users. */
export async function attachBatch(attaching: Attaching, { items, bad }: ImportBatch, access: ImportAccess): Promise<PostedRows> {
  let [created, duplicates] = [0, 0]
  const rejections: Rejection[] = [...bad]
  for (const { row, json } of items) {
    access.signal.throwIfAborted()
    const outcome = await attach(attaching, JSON.parse(json), access).catch((error): Outcome => {
      const isOfRow = !(error instanceof CliError) && !access.signal.aborted && classifyFailure(error) === 'other'
      // A user was erased meanwhile, or the store says something that cannot be recorded: the next rows do not wait for that.
      if (isOfRow) return rejected(error instanceof Refusal ? 'user' : 'transaction', messageOf(error))
      throw error
    })
    if (outcome.is === 'attached') created++
    else if (outcome.is === 'known') duplicates++
    else rejections.push({ row, field: outcome.field, reason: outcome.reason })
  }
  return { created, duplicates, rejections: rejections.sort((a, b) => a.row.n - b.row.n) }
}
