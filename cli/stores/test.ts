import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, readConfig } from '../../app/config.ts'
import { databaseTime, hasTestArrived, type TestedStore } from '../../domain/purchases/store-inbox/tests.ts'
import { missingParts } from '../../domain/purchases/stores/config.ts'
import { type OpenStore, openStore } from '../../domain/purchases/stores/settings.ts'
import type { AppStore } from '../../workflows/stores/apple/client.ts'
import { quotaOf } from '../../workflows/stores/quota.ts'
import type { FetchContext } from '../../workflows/stores/store-client.ts'
import { PROJECT, projectId } from '../arguments.ts'
import type { CommandContext } from '../command.ts'
import { action, type CommandInput } from '../definition.ts'
import { CliError, UsageError } from '../failure.ts'
import { type OpenProject, withProject, withStoreClients } from './open.ts'
import { pushAddress } from './words.ts'

/** Apple posts a test within seconds. */
const WAIT_SECONDS = 60
const LONGEST_SECONDS = 600
const BETWEEN_MS = 1_000

/** What Apple says of an attempt, and what it means. */
const RESULTS: Record<string, string> = {
  TIMED_OUT: 'no answer in time',
  NO_RESPONSE: 'no answer',
  TLS_ISSUE: 'no TLS that Apple accepts',
  SOCKET_ISSUE: 'no connection',
  CIRCULAR_REDIRECT: 'a redirect in a circle',
  PREMATURE_CLOSE: 'the connection was closed before the answer',
  UNSUPPORTED_CHARSET: 'an answer that Apple cannot read',
  INVALID_RESPONSE: 'an answer that Apple cannot read',
  UNSUCCESSFUL_HTTP_RESPONSE_CODE: "an answer other than 200: the log of the service has it, and the stores' metrics count it by reason",
}

type Testing = {
  open: OpenProject
  config: Config
  apple: AppStore
  fetchContext: FetchContext
  tested: TestedStore
  context: CommandContext
}

async function storeOf({ pool, secrets, project }: OpenProject): Promise<OpenStore> {
  const store = await openStore(pool, secrets, project, 'apple')
  if (store === null) throw new CliError(`project ${project} has not set up Apple: see docs/stores.md`)
  if (!store.enabled) throw new CliError('Apple is switched off in this project: what it sends is answered 503')
  const missing = missingParts('apple', 'production', store.value)
  if (missing.length > 0) throw new CliError(`Apple cannot be asked for a test: ${missing.join(', ')} is not stored`)
  return store
}

/** Asks Apple for the notification; gives Apple's token of it. */
async function request({ open: { project }, config, apple, fetchContext }: Testing): Promise<string> {
  const answer = await apple.requestTest(fetchContext)
  switch (answer.is) {
    case 'answer':
      return answer.value
    case 'unknown':
    case 'gone':
      throw new CliError(
        `Apple knows no address for ${fetchContext.environment}: enter ${pushAddress(config, 'apple', project)} in App Store Connect, App Information, App Store Server Notifications`,
      )
    case 'refused':
      throw new CliError(`Apple does not accept the credentials (${answer.why}): "stores check ${project}" says what to do`)
    case 'later':
      throw new CliError(`Apple gave no answer (${answer.why}): the notification was not requested`)
    default:
      return answer satisfies never
  }
}

type Stop = { is: 'arrived' } | { is: 'stopped'; where: string } | { is: 'waiting' }

/** Looks once at what has arrived, and at what Apple says of its attempts. */
async function look({ open, config, apple, fetchContext, tested }: Testing, token: string, sinceMs: number): Promise<Stop> {
  const attempts = await apple.testAttempts(token, fetchContext)
  // After Apple's word: the service records a notification before it answers.
  if (await hasTestArrived(open.pool, tested, sinceMs)) return { is: 'arrived' }
  if (attempts.is !== 'answer' || attempts.value.length === 0) return { is: 'waiting' }
  const address = pushAddress(config, 'apple', open.project)
  if (attempts.value.includes('SUCCESS'))
    return { is: 'stopped', where: `Apple has posted it, but not here: the address in App Store Connect must be ${address}` }
  const last = attempts.value.at(-1)!
  return { is: 'stopped', where: `Apple has posted it and got ${RESULTS[last] ?? last} (${last}): is ${address} reached from outside?` }
}

async function follow(testing: Testing, token: string, sinceMs: number, seconds: number): Promise<number> {
  const { out, note, signal } = testing.context
  const until = performance.now() + seconds * 1000
  for (;;) {
    const stop = await look(testing, token, sinceMs)
    if (stop.is === 'arrived') {
      out('The test notification has arrived: address, signature and app are right.')
      return 0
    }
    if (stop.is === 'stopped') {
      note(stop.where)
      return 1
    }
    if (performance.now() >= until) {
      note(`Apple has accepted the request, but has not posted the notification within ${seconds} s: try again later.`)
      return 1
    }
    await sleep(BETWEEN_MS, undefined, { signal }).catch(() => {
      throw new CliError('stopped while waiting for the test notification')
    })
  }
}

const OPTIONS = {
  sandbox: { says: 'a notification of the sandbox' },
  wait: { value: 'SECONDS', default: String(WAIT_SECONDS), says: 'how long to wait for it' },
}

/** Asks Apple for a test notification and tells how far it has come. Exit code 1: it has not arrived. */
async function test({ args: [given], values }: CommandInput<typeof OPTIONS>, context: CommandContext): Promise<number> {
  const project = projectId(given)
  const seconds = /^\d{1,3}$/.test(values.wait) ? Number(values.wait) : Number.NaN
  if (!(seconds <= LONGEST_SECONDS)) throw new UsageError(`--wait must be a whole number of seconds from 0 to ${LONGEST_SECONDS}`)
  const environment = values.sandbox ? 'sandbox' : 'production'
  const config = readConfig(context.env)
  return withProject(context, project, async open => {
    const settings = await storeOf(open)
    const tested: TestedStore = { project, platform: 'apple', environment }
    return withStoreClients(config, async ({ apple }) => {
      const { signal } = context
      const fetchContext: FetchContext = { settings, environment, signal, quota: quotaOf(open.pool, tested, 'claim', signal) }
      const testing: Testing = { open, config, apple, fetchContext, tested, context }
      const sinceMs = await databaseTime(open.pool)
      const token = await request(testing)
      context.note(`Apple was asked for a test notification of ${environment}.`)
      return follow(testing, token, sinceMs, seconds)
    })
  })
}

export const storesTest = action({
  name: 'test',
  summary: 'let Apple post a test notification, and tell where it stopped',
  arguments: [PROJECT],
  options: OPTIONS,
  exits: '0 it has arrived, 1 it has not',
  examples: ['stores test 1', 'stores test 1 --sandbox --wait 120'],
  run: test,
})
